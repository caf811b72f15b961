package conformance

import (
	"math"

	"hgld/internal/testing/effort"
)

// step is the step size of central differences. In float64 their error is about step² of the
// third derivative and 1e-16/step. The total of 1e-10 is far below the error of float32.
const step = 1e-5

// noise is this error for losses of size 1 to 100.
const noise = 1e-9

// directions returns the number of random directions along which a large gradient is compared. An
// error of the gradient shows along any direction that is not orthogonal to it.
func directions() int {
	if effort.Exhaustive() {
		return 6
	}
	return 1
}

// gradient compares got, the backend's gradient of loss with respect to x, with central
// differences. It tests each element of a small x. For a larger x it tests random directions,
// in which a relative error e of the gradient shows as about e.
func (s *suite) gradient(what string, got []float64, x *array, loss func() float64, tolerance float64) {
	s.Helper()
	if len(got) != len(x.V) {
		s.Fatalf("%s: gradient of %d elements for %d", what, len(got), len(x.V))
	}
	const small = 40
	if len(x.V) <= small {
		want := make([]float64, len(x.V))
		for i := range x.V {
			direction := make([]float64, len(x.V))
			direction[i] = 1
			want[i] = slopeAlong(x, direction, loss)
		}
		s.near(what, got, want, tolerance, noise)
		return
	}
	norm := 0.0
	for _, g := range got {
		norm += g * g
	}
	for range directions() {
		direction, size, along := make([]float64, len(x.V)), 0.0, 0.0
		for i := range direction {
			direction[i] = s.r.NormFloat64()
			size += direction[i] * direction[i]
		}
		for i := range direction {
			direction[i] /= math.Sqrt(size)
			along += direction[i] * got[i]
		}
		want := slopeAlong(x, direction, loss)
		// a unit direction has on average 1/√n of the gradient's norm
		allowed := tolerance * (math.Sqrt(norm/float64(len(got))) + math.Abs(want))
		if diff := math.Abs(along - want); !(diff <= 4*allowed+noise) {
			s.Fatalf("%s: slope %g along a direction, want %g (error %.2g, allowed %.2g)", what, along, want, diff, 4*allowed)
		}
	}
}

// slopeAlong returns the central difference of loss at x along a direction.
func slopeAlong(x *array, direction []float64, loss func() float64) float64 {
	kept := append([]float64(nil), x.V...)
	var at [2]float64
	for side, sign := range []float64{1, -1} {
		for i, v := range kept {
			x.V[i] = v + sign*step*direction[i]
		}
		at[side] = loss()
	}
	copy(x.V, kept)
	return (at[0] - at[1]) / (2 * step)
}

// weighted returns Σ up·out, the loss whose upstream gradient is up.
func weighted(up, out *array) float64 {
	sum := 0.0
	for i, u := range up.V {
		sum += u * out.V[i]
	}
	return sum
}
