package nn

import (
	"fmt"

	"hgld/train/device"
	"hgld/train/grad"
)

// BatchNorm normalises each channel over all other axes,
//
//	y = γ (x − mean) / √(variance + ε) + β
//
// It uses the statistics of the batch (biased variance) and updates the running ones: running ←
// (1 − momentum)·running + momentum·new, with the unbiased variance n/(n−1) (torch's convention).
// An evaluation, and a Frozen layer always, normalises by the running statistics; γ and β of a
// frozen layer are still trained.
//
// If a batch is passed twice (grad.TwoPass, Tape.Recompute), the first pass updates the running
// statistics.
type BatchNorm struct {
	Gamma, Beta *Param      // [C], both nil for a layer without them
	Running     *Statistics // updated in training, read in evaluation
	Eps         float32     // added to the variance
	Frozen      bool        // always normalise by Running
}

// NewBatchNorm declares a layer with torch's ε 1e-5 and momentum 0.1, γ = 1 and
// β = 0.
func NewBatchNorm(c Scope, channels int) *BatchNorm {
	return &BatchNorm{
		Gamma:   c.Param("weight", Constant(1), channels),
		Beta:    c.Param("bias", Constant(0), channels),
		Running: c.Statistics(channels, 0.1),
		Eps:     1e-5,
	}
}

// Forward normalises x [..., C].
func (n *BatchNorm) Forward(t *grad.Tape, x *grad.Var) *grad.Var {
	stats := n.statistics(t)
	kind := device.NormKind{Eps: n.Eps, Frozen: n.given(t)}
	if n.shared() && !kind.Frozen {
		t.Do(func(b device.Backend) {
			b.Norm(device.Array{}, stats.Value, x.Value, device.Array{}, device.Array{}, device.Array{}, kind)
		})
		return n.behind(t, x, nil, stats, device.Identity)
	}
	return n.normalise(t, x, nil, stats, kind, kind)
}

// given reports whether the layer normalises by the running statistics.
func (n *BatchNorm) given(t *grad.Tape) bool { return n.Frozen || t.Evaluating() }

// statistics returns the running statistics, or an array for those of a batch.
func (n *BatchNorm) statistics(t *grad.Tape) *grad.Var {
	if n.given(t) {
		return t.Leaf(n.Running.Value, device.Array{})
	}
	return t.New(device.F32, 2, n.Running.channels)
}

// behind records act(normalised x + residual) after a convolution that has written the statistics
// of its result x to stats. residual may be nil.
func (n *BatchNorm) behind(t *grad.Tape, x, residual, stats *grad.Var, act device.Func) *grad.Var {
	n.share(t, stats)
	kind := device.NormKind{Eps: n.Eps, ReLU: act == device.ReLU, Frozen: true}
	back := kind
	back.Frozen = false
	return n.normalise(t, x, residual, stats, kind, back)
}

// normalise records Norm with kind, and its gradient with back.
func (n *BatchNorm) normalise(t *grad.Tape, x, residual, stats *grad.Var, kind, back device.NormKind) *grad.Var {
	var gamma, beta *grad.Var
	if n.Gamma != nil {
		gamma, beta = n.Gamma.Var(t), n.Beta.Var(t)
	}
	y := t.New(x.Value.Type, x.Value.Shape()...)
	t.Do(func(b device.Backend) {
		b.Norm(y.Value, stats.Value, x.Value, value(gamma), value(beta), value(residual), kind)
	})
	if !back.Frozen {
		n.remake(t, y, stats, x, residual, kind)
	}
	if !back.Frozen && !t.Repeats() {
		n.move(t, stats, x.Value.Rows()*n.ranks())
	}
	t.Back(func(b device.Backend) {
		var dy, sums device.Array
		if kind.ReLU {
			dy, sums = t.Front(b, y)
		} else {
			dy = t.Grad(y)
		}
		if residual != nil {
			t.Pass(b, y, residual)
		}
		dx := into(t, x)
		var dgamma, dbeta device.Array
		var acc float32
		if gamma != nil {
			dgamma, acc = t.Onto(gamma)
			dbeta, _ = t.Onto(beta)
		}
		if !back.Frozen {
			sums = n.sharedSums(t, b, sums, dy, x.Value, stats.Value)
		}
		b.NormGrad(dx, dgamma, dbeta, dy, x.Value, value(gamma), stats.Value, sums, back, acc)
	}, x, y, stats)
	if kind.ReLU {
		t.RectifiedNorm(y, x, stats.Value.RowRange(0, 1).Reshape(n.Running.channels))
	}
	t.Done(stats)
	return y
}

// remake marks y for recomputation from x in the backward pass. The gradient needs x anyway,
// computing y takes one pass over memory, and only the gradient of the next convolution reads it.
// For a ResNet this saves nearly half of all activations.
func (n *BatchNorm) remake(t *grad.Tape, y, stats, x, residual *grad.Var, kind device.NormKind) {
	kind.Frozen = true // by then the statistics of the batch are known
	reads := []*grad.Var{x, stats}
	if residual != nil {
		reads = append(reads, residual)
	}
	t.Remake(y, func(b device.Backend) {
		var gamma, beta device.Array
		if n.Gamma != nil {
			gamma, beta = n.Gamma.Value, n.Beta.Value
		}
		b.Norm(y.Value, stats.Value, x.Value, gamma, beta, value(residual), kind)
	}, reads...)
}

// move updates the running statistics with those of a batch with rows values per channel, unless
// one of these is not finite.
func (n *BatchNorm) move(t *grad.Tape, stats *grad.Var, rows int) {
	if rows < 2 {
		panic(fmt.Sprintf("nn: %s: statistics of a single value", n.Running.entries[0].name))
	}
	unbiased := float32(float64(rows) / float64(rows-1))
	t.Do(func(b device.Backend) {
		b.Track(n.Running.Value, stats.Value, n.Running.rate, *n.Running.guard, unbiased)
	})
}

// value returns the array of v, absent if v is nil.
func value(v *grad.Var) device.Array {
	if v == nil {
		return device.Array{}
	}
	return v.Value
}

// into returns the array for the gradient of x in an operation that always writes it. If x takes
// no gradient, it is a scratch array.
func into(t *grad.Tape, x *grad.Var) device.Array {
	dx := t.Into(x)
	if dx.Absent() {
		dx = t.Scratch(x.Value.Type, x.Value.Shape()...)
	}
	return dx
}
