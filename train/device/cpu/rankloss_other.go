//go:build !amd64

package cpu

// Without vector loops, the Go loops process everything.

// fewPositives is the number of positives up to which the plain sum over pairs is faster than
// sorting the row, as measured.
func fewPositives() int { return 4 }

func (u *upper) gatherFast([]float32, float32) (value, slope float64, ok bool) { return 0, 0, false }

func (u *upper) spreadFast([]float64, float32, float64, []float32) bool { return false }

func expNegsFast([]float64) int { return 0 }

func (c *sums) sweepFast(int, []float64) bool { return false }
