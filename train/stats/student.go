package stats

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Student is Student's t-test for the mean of a few differences, for example between two losses
// trained with the same seeds.
type Student struct {
	Mean     float64  // of the differences
	Interval Interval // ±∞ for a single difference, or for equal ones
	P        float64  // two-sided, for a mean of 0; NaN for a single difference
	Count    int      // number of differences
}

// Paired computes the interval of the mean of the differences at a confidence such as 0.95. It
// assumes independent draws from a normal distribution. Differences that are all equal say nothing about their
// spread: there is no interval, and P is that of the exact sign test, 2·2^−n, or 1 if they are all 0. Without
// differences the mean is NaN.
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
	const rounding = 1e-9 // of figures that are equal but for the rounding of their differences
	switch e := deviation / math.Sqrt(float64(n)); {
	case e > rounding*math.Abs(mean):
		t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(n - 1)}
		half := t.Quantile((1+confidence)/2) * e
		s.Interval = Interval{mean - half, mean + half}
		s.P = 2 * t.CDF(-math.Abs(mean)/e)
	case mean == 0:
		s.P = 1
	default:
		s.P = math.Pow(2, float64(1-n))
	}
	return s
}
