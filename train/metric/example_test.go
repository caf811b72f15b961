package metric_test

import (
	"fmt"
	"log"

	"hgld/train/metric"
)

// A ranking of four items with two levels of labels. The first item shares both levels with the
// query, and the third only the coarser one. AP at level 1 is therefore (1/1 + 2/3) / 2.
func ExampleSet_Measure() {
	set, err := metric.ParseSet([]string{"AP", "R@1", "H-AP"})
	if err != nil {
		log.Fatal(err)
	}
	l := metric.NewList(2, metric.ScoreThenRow)
	l.Reset([]byte{2, 0, 1, 0})
	keys := set.Keys(2)
	values := make([]float64, len(keys))
	set.Measure(values, l)
	for i, key := range keys {
		fmt.Printf("%s = %.4f\n", key, values[i])
	}
	// Output:
	// AP_level0 = 1.0000
	// R@1_level0 = 1.0000
	// AP_level1 = 0.8333
	// R@1_level1 = 1.0000
	// H-AP = 0.8889
}
