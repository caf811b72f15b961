package metric

import "strings"

// Overall is the overall accuracy of the DyML protocol (Sun et al., CVPR 2021). For each binary
// metric it is the unweighted mean over the levels of a benchmark (Product), or over benchmarks
// of one level each (Animal, Vehicle), whose keys and means are then concatenated. Graded metrics
// are excluded; the released code includes the graded ASI as a further term.
func Overall(keys []string, means []float64) map[string]float64 {
	overall, count := map[string]float64{}, map[string]float64{}
	for i, key := range keys {
		if name, _, binary := strings.Cut(key, "_level"); binary {
			count[name]++
			overall[name] += (means[i] - overall[name]) / count[name]
		}
	}
	return overall
}
