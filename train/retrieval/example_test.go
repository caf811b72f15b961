package retrieval_test

import (
	"context"
	"fmt"
	"log"

	"hgld/labels"
	"hgld/train/device/cpu"
	"hgld/train/metric"
	"hgld/train/retrieval"
)

// Each of four vectors is a query, and the other three are its gallery. The third has no positive at
// level 0, so it is skipped there.
func ExampleEvaluate() {
	backend := cpu.New(1)
	vectors := &retrieval.Matrix{Cols: 2, Values: []float32{1, 0, 0.9, 0.1, 0.5, 0.6, 0, 1}}
	side, err := retrieval.SideOf(backend, vectors, true)
	if err != nil {
		log.Fatal(err)
	}
	side.Labels = []labels.Path{{0, 0}, {0, 0}, {1, 0}, {0, 0}}
	metrics, err := metric.ParseSet([]string{"R@1", "AP"})
	if err != nil {
		log.Fatal(err)
	}
	result, err := retrieval.Evaluate(context.Background(), backend, &retrieval.Evaluation{
		Query: side, Gallery: side, Self: []int32{0, 1, 2, 3},
		Levels: []string{"supercategory", "kind"}, Metrics: metrics,
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, v := range result.Values {
		fmt.Printf("%s %.3f, skipped %d\n", v.Key, v.Mean, v.Skipped)
	}
	// Output:
	// R@1_level0 0.667, skipped 1
	// AP_level0 0.750, skipped 1
	// R@1_level1 1.000, skipped 0
	// AP_level1 1.000, skipped 0
}
