package metric

import (
	"math"
	"slices"
)

// LeastSlope is the slope above which S7 of the supplement of Smooth-AP counts a difference of scores as in the
// operating region of a sigmoid.
const LeastSlope = 0.005

// OperatingRegion returns the half width of a sigmoid's operating region: σ(t/tau) has a slope above least for
// |t| below it. It is 0 if the slope is nowhere above.
func OperatingRegion(tau, least float64) float64 {
	c := least * tau // σ(1 − σ) at the end of the region
	if c >= 0.25 {
		return 0
	}
	y := (1 + math.Sqrt(1-4*c)) / 2
	return tau * math.Log(y/(1-y))
}

// ClosePairs counts the pairs of numbers that are less than reach apart. It sorts s.
func ClosePairs(s []float64, reach float64) (n int) {
	slices.Sort(s)
	first := 0
	for i, v := range s {
		for v-s[first] >= reach {
			if first++; first == i {
				break
			}
		}
		n += i - first
	}
	return n
}
