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
	Interval Interval // ±∞ for a single difference
	P        float64  // two-sided, for a mean of 0; NaN for a single difference
	Count    int      // number of differences
}

// Paired computes the interval of the mean of the differences at a confidence such as 0.95. It
// assumes independent draws from a normal distribution. If all differences are equal, the
// interval has zero width and P is 0, or 1 if they are all 0. Without differences the mean is
// NaN.
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
