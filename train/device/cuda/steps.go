package cuda

import (
	"math"

	"hgld/train/device"
)

// stepArg mirrors Step of step.h.
type stepArg struct {
	kind                            int32
	scale, rate                     float32
	rho, delta, start, offset, zero float32
	leak, beta, gamma               float32
}

// stepsArg mirrors Steps of step.h.
type stepsArg struct{ rank, plus [3]stepArg }

// The kinds of Step in step.h.
const (
	stepNone = iota
	stepHeaviside
	stepCurve
	stepLeak
)

// newSteps converts h for kernels.
func newSteps(h *device.Steps) (n stepsArg) {
	for c := range h.Rank {
		n.rank[c], n.plus[c] = newStep(&h.Rank[c]), newStep(&h.Plus[c])
	}
	return n
}

// newStep fills in the automatic offset. A Sigmoid, or an Upper with Rho −1, becomes a curve
// whose first piece is unbounded.
func newStep(s *device.Step) stepArg {
	switch {
	case s.Kind == device.Heaviside:
		return stepArg{kind: stepHeaviside}
	case s.Kind == device.Sigmoid, s.Kind == device.Upper && s.Rho == -1:
		n := newCurve(s)
		n.zero, n.delta = 0.5, float32(math.Inf(1))
		return n
	case s.Kind == device.Upper:
		n := newCurve(s)
		n.rho, n.delta, n.start, n.offset, n.zero = s.Rho, s.Delta, s.Start, s.Offset, s.Zero
		if s.AutoOffset {
			n.offset = float32(float64(s.Start) + 1/(1+math.Exp(-float64(s.Delta)/float64(s.Tau))))
		}
		return n
	case s.Kind == device.Leak:
		return stepArg{kind: stepLeak, leak: s.LeakSlope, beta: s.Beta, gamma: s.Gamma}
	}
	return stepArg{kind: stepNone}
}

// newCurve is a curve without its constants.
func newCurve(s *device.Step) stepArg {
	tau := float64(s.Tau)
	return stepArg{kind: stepCurve, scale: float32(1 / tau), rate: float32(math.Log2E / tau)}
}

// smooth reports whether f is a Sigmoid, which is one formula for all t.
func (f *stepArg) smooth() bool {
	return f.kind == stepCurve && f.start == 0 && f.zero == 0.5 && math.IsInf(float64(f.delta), 1)
}

// slopes reports whether f has a gradient.
func (f *stepArg) slopes() bool { return f.kind == stepCurve || f.kind == stepLeak }
