package train

import (
	"testing"

	"hgld/train/metric"
)

// hierarchical returns H-AP, a metric of all levels.
func hierarchical(t *testing.T) metric.Set {
	t.Helper()
	set, err := metric.ParseSet([]string{"H-AP"})
	if err != nil {
		t.Fatal(err)
	}
	return set
}
