package cpu

import "testing"

// Where the processor has AVX2, the vector loops run, and they match the reference.
func TestRankLossWithVectorsMatchesTheDefinition(t *testing.T) {
	if !vectors {
		t.Skip("this processor has no AVX2 or no FMA")
	}
	c := sums{x: []float32{1}, y: []float32{0}, w: []float64{1}, near: []float64{1}, out: make([]float64, 2),
		first: []int32{0}, stop: []int32{1}}
	u, slope := upper{}, []float64{0}
	_, _, gathers := u.gatherFast(c.x, 0)
	if !gathers || !u.spreadFast(slope, 0, 1, c.y) || expNegsFast(make([]float64, 4)) != 4 ||
		!c.sweepFast(1, []float64{0, 0}) {
		t.Error("a loop in Go runs instead of the vector loop")
	}
	rowsMatchTheDefinition(t, false)
}
