package stats_test

import (
	"fmt"

	"hgld/train/stats"
)

// Two losses were trained with the same four seeds. The differences between their results, in
// percent, show whether one is better.
func ExamplePaired() {
	s := stats.Paired([]float64{1.2, 0.8, 1.5, 0.9}, 0.95)
	fmt.Printf("%.2f, from %.2f to %.2f, p = %.4f\n", s.Mean, s.Interval.Low, s.Interval.High, s.P)
	// Output:
	// 1.10, from 0.60 to 1.60, p = 0.0061
}

// A confidence interval of the mean average precision over five queries.
func ExampleBootstrap() {
	t := stats.ByQuery([][]float64{{1, 0.5, 0.75, 0.25, 1}})
	b := stats.Bootstrap{Confidence: 0.95, Resamples: 1000, Seed: 1}
	interval := b.Intervals(t)[0]
	fmt.Printf("%.2f, from %.2f to %.2f\n", t.Estimates()[0], interval.Low, interval.High)
	// Output:
	// 0.70, from 0.45 to 0.95
}
