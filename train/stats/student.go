package stats

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Student is what a few differences say of their mean by Student's t: for runs with the
// same seeds, the differences between two losses seed by seed.
type Student struct {
	Mean     float64  // of the differences
	Interval Interval // ±∞ of a single difference
	P        float64  // two-sided, of a mean of 0; NaN of a single difference
	Count    int      // of differences
}

// Paired computes the interval of the given confidence, such as 0.95, for the mean of the
// differences. It takes them for independent draws of a normal distribution.
// Differences that are all equal have an interval of no width and P 0, or 1 if they are
// all 0. The mean of no difference is NaN.
func Paired(differences []float64, confidence float64) Student {
	n := len(differences)
	s := Student{Mean: math.NaN(), Interval: Interval{math.Inf(-1), math.Inf(1)}, P: math.NaN(), Count: n}
	if n == 0 {
		return s
	}
	mean, deviation := stat.MeanStdDev(differences, nil)
	s.Mean = mean
	if n == 1 {
		return s
	}
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(n - 1)}
	e := deviation / math.Sqrt(float64(n))
	half := t.Quantile((1+confidence)/2) * e
	s.Interval = Interval{mean - half, mean + half}
	switch {
	case e > 0:
		s.P = 2 * t.CDF(-math.Abs(mean)/e)
	case mean == 0:
		s.P = 1
	default:
		s.P = 0
	}
	return s
}
