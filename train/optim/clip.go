package optim

import "hgld/train/device"

// Norm measures the norm of gradients, n = √Σ g².
type Norm struct {
	Value device.Array // F32 [1]: n of the last step

	squares   device.Array // F32 [2,1], mean 0 and a variance: see overRoot
	zero, one device.Array
}

// NewNorm prepares a measurement on b.
func NewNorm(b device.Backend) *Norm {
	return &Norm{Value: filled(b, 0), squares: noStats(b), zero: filled(b, 0), one: filled(b, 1)}
}

// filled returns a new array of one number.
func filled(b device.Backend, v float64) device.Array {
	a := device.New(b, device.F32, 1)
	b.Fill(a, float32(v))
	return a
}

// noStats returns a new array of statistics, filled with zeros.
func noStats(b device.Backend) device.Array {
	a := device.New(b, device.F32, 2, 1)
	b.Fill(a, 0)
	return a
}

// Measure records n = n²/√n² of the gradients of all groups together. It does not change them. flag counts n² if it is
// not finite, as where any of them is not, so that the step changes nothing.
func (n *Norm) Measure(b device.Backend, flag device.Array, groups ...*Group) {
	if len(groups) == 0 {
		b.Fill(second(n.squares), 0)
	}
	for i, g := range groups {
		b.Sums(second(n.squares), g.Grads, device.SquaresAll, float32(min(i, 1)))
	}
	b.Guard(flag, second(n.squares))
	n.overRoot(b, n.Value, second(n.squares), n.squares)
}

// overRoot computes dst = x/√variance. Backends have no roots or quotients of single numbers, so
// it uses normalisation by given statistics. The ε of the normalisation makes 0/√0 zero, and
// vanishes in any norm that float32 can square.
func (n *Norm) overRoot(b device.Backend, dst, x, stats device.Array) {
	dst.N, x.N = 2, 2 // [1] as [1,1]: a batch of one value in one channel
	b.Norm(dst, stats, x, n.one, n.zero, device.Array{}, device.NormKind{Eps: 1e-30, Frozen: true})
}

// NormClip scales gradients by min(1, Max/(n + 1e-6)), where n is the norm of all of them
// together (torch's clip_grad_norm_). The device computes the factor, which goes into the groups'
// Hyper; the gradients themselves are not rewritten.
type NormClip struct {
	Max  float64 // bound of the norm
	Norm *Norm   // norm of the gradients before scaling

	bound           device.Array // statistics, laid out as in Norm
	limit, limit2   device.Array // Max and its square
	excess, epsilon device.Array
}

// NewNormClip prepares clipping on b.
func NewNormClip(b device.Backend, limit float64) *NormClip {
	return &NormClip{
		Max: limit, Norm: NewNorm(b), bound: noStats(b), limit: filled(b, limit), limit2: filled(b, limit*limit),
		excess: filled(b, 0), epsilon: filled(b, 1e-6),
	}
}

// Apply measures the norm and sets the factor of the groups. Call it between the backward pass and Step.
//
//	m = n + 1e-6    factor = Max / √(Max² + relu(m² − Max²))
func (c *NormClip) Apply(b device.Backend, flag device.Array, groups ...*Group) {
	c.Norm.Measure(b, flag, groups...)
	b.Axpby(c.excess, 1, c.Norm.Value, 1, c.epsilon)
	b.Sums(second(c.bound), c.excess, device.SquaresAll, 0)
	b.Axpby(c.excess, 1, second(c.bound), -1, c.limit2)
	b.Act(c.excess, c.excess, device.ReLU)
	b.Axpby(second(c.bound), 1, c.excess, 1, c.limit2)
	for _, g := range groups {
		c.Norm.overRoot(b, cell(g.Hyper, device.HyperScale), c.limit, c.bound)
	}
}

// second returns the variance of statistics [2,1], as [1].
func second(stats device.Array) device.Array { return cell(stats, 1) }

// cell returns element i of a, as [1].
func cell(a device.Array, i int) device.Array {
	return device.Array{Buf: a.Buf, Off: a.Off + i, Type: a.Type, N: 1, Dims: [4]int{1, 1, 1, 1}, Ld: 1}
}

// ValueClip bounds every element of the gradients to ±Max, in place.
type ValueClip struct {
	Max float64 // bound of each element

	limit, excess device.Array
}

// NewValueClip prepares clipping on b of gradients of at most n elements.
func NewValueClip(b device.Backend, limit float64, n int) *ValueClip {
	c := &ValueClip{Max: limit, limit: device.New(b, device.F32, 1), excess: device.New(b, device.F32, n)}
	b.Fill(c.limit, float32(limit))
	return c
}

// Apply computes g ← g − relu(g − Max), then g ← g + relu(−g − Max). Values within the bounds are
// not rounded.
func (c *ValueClip) Apply(b device.Backend, groups ...*Group) {
	for _, g := range groups {
		n := g.Grads.Len()
		x, over := column(g.Grads, n), column(c.excess, n)
		for _, sign := range []float32{1, -1} {
			b.Axpby(over, sign, x, -1, c.limit)
			b.Act(over, over, device.ReLU)
			b.Axpby(x, 1, x, -sign, over)
		}
	}
}

// column returns the first n elements of a, as [n,1].
func column(a device.Array, n int) device.Array {
	return device.Array{Buf: a.Buf, Off: a.Off, Type: a.Type, N: 2, Dims: [4]int{n, 1, 1, 1}, Ld: 1}
}
