package cpu

import "testing"

// The Go loops compute the same results as the vector loops.
func TestLoopsInGoMatchTheVectorLoops(t *testing.T) {
	has := vectors // without AVX2 this is false, and the Go loops run twice
	defer func() { vectors = has }()
	for _, on := range []bool{has, false} {
		vectors = on
		for _, step := range testSteps {
			s, sh := testRow(5, 700, 3, 60, true)
			for _, few := range []int{0, 700} {
				if e := rowError(s, sh, []float64{0, 0.7, 0.4, 0.9}, &step.h, few); !(e.worst() < 1e-6) {
					t.Errorf("%s, vector loops %v, pairs up to %d positives: errors %.1e", step.name, on, few, e)
				}
			}
		}
	}
}
