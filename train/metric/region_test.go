package metric

import (
	"math"
	"slices"
	"testing"
)

// Where a sigmoid of temperature 0.01 has a slope of 0.005 was computed by hand.
func TestOperatingRegionEndsAtTheLeastSlope(t *testing.T) {
	if r := OperatingRegion(0.01, 0.005); math.Abs(r-0.0990339) > 1e-7 || OperatingRegion(1, 0.3) != 0 {
		t.Errorf("the operating region is %v, want 0.0990339", r)
	}
}

// Scores of 0° against 10°, 25°, 45°: 0.985, 0.906, 0.707. All pairs of one query are 0.079, 0.199, 0.278.
func TestClosePairs(t *testing.T) {
	s := []float64{0.707, 0.985, 0.906}
	for reach, want := range map[float64]int{0.01: 0, 0.08: 1, 0.2: 2, 0.3: 3} {
		if got := ClosePairs(slices.Clone(s), reach); got != want {
			t.Errorf("%d pairs closer than %v, want %d", got, reach, want)
		}
	}
}
