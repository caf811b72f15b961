package report

import (
	"math"

	"hgld/train/retrieval"
	"hgld/train/stats"
)

// Sample summarises a metric over several runs.
type Sample struct {
	Mean retrieval.Number `json:"mean"` // the mean of the defined values, or NaN if there are none

	// Deviation is the sample standard deviation, with n−1 in the denominator. It is NaN for
	// fewer than two values.
	Deviation retrieval.Number `json:"deviation"`

	// Low and High are the ends of Student's 95 % interval for the mean, clipped to 0 to 100 %. They
	// are NaN for fewer than two values.
	Low   retrieval.Number `json:"low"`
	High  retrieval.Number `json:"high"`  // see Low
	Count int              `json:"count"` // the number of defined values
}

// SampleOf summarises values in percent. It skips NaN.
func SampleOf(values []retrieval.Number) Sample {
	var defined []float64
	for _, v := range values {
		if !math.IsNaN(float64(v)) {
			defined = append(defined, float64(v))
		}
	}
	return sampleOf(defined, 0, 100)
}

// sampleOf summarises values, with an interval that ends at low and high.
func sampleOf(values []float64, low, high float64) Sample {
	nan := retrieval.Number(math.NaN())
	s := Sample{Mean: nan, Deviation: nan, Low: nan, High: nan, Count: len(values)}
	mean, square := 0.0, 0.0
	for i, v := range values {
		d := v - mean
		mean += d / float64(i+1)
		square += d * (v - mean)
	}
	if s.Count > 0 {
		s.Mean = retrieval.Number(mean)
	}
	if s.Count > 1 {
		s.Deviation = retrieval.Number(math.Sqrt(square / float64(s.Count-1)))
		if ends := stats.Paired(values, seedConfidence).Interval; !math.IsInf(ends.High, 1) {
			ends = ends.Clip(low, high)
			s.Low, s.High = retrieval.Number(ends.Low), retrieval.Number(ends.High)
		}
	}
	return s
}
