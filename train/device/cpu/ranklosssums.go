package cpu

import (
	"hgld/train/device"
	"hgld/train/device/reference"
)

// sums is the kernel of the rank operation. For sources x and targets y, both in falling
// order, and a step function f, the forward pass computes
//
//	value[j] += Σ_i f(x_i − y_j)    slope[j] += Σ_i f'(x_i − y_j)
//
// The backward pass, with weights w, computes
//
//	slope[j] += Σ_i w_i f'(x_i − y_j)
//
// Differences are rounded to float32 where f jumps.
type sums struct {
	plain        bool // use the loops in Go even if the processor has faster ones
	backward     bool
	x, y         []float32
	w            []float64 // ones in the forward pass
	value, slope []float64

	// The number of sources above each target, not below it, and far enough above it for the
	// last piece of f.
	above, notBelow, beyond []int32
	weight, moment          []float64 // prefix sums of w in the backward pass, of x in the forward pass
	decay, near, out        []float64 // see tailSums
	first, stop             []int32
}

// sumSorted adds to value and slope in O(sources + targets).
func (c *sums) sumSorted(f *reference.Step) {
	c.cut(f)
	switch f.Kind {
	case device.Heaviside:
		for j, n := range c.notBelow {
			c.value[j] += float64(n)
		}
	case device.Sigmoid:
		c.addTies(1/(4*f.Tau), 0.5, 1)
		c.prepareTails(f.Tau)
		c.tailSums(-1, c.notBelow, f.Tau, 1, 1)
		c.tailSums(1, c.above, f.Tau, -1, 1)
	case device.Upper:
		// For t > 0, σ is 1 − σ(−t). The middle piece, 0 < t ≤ δ, is therefore Start + 1 minus the
		// tails between 0 and δ: the tails above 0 minus those beyond δ.
		c.addTies(1/(4*f.Tau), f.Zero, f.Start+1)
		c.addLinear(f.Rho, f.Offset-f.Rho*f.Delta-f.Start-1)
		c.prepareTails(f.Tau)
		c.tailSums(-1, c.notBelow, f.Tau, 1, 1)
		c.tailSums(1, c.above, f.Tau, -1, 1)
		c.tailSums(1, c.beyond, f.Tau, 1, -1)
	case device.Leak:
		c.addLeak(f)
	}
}

// total returns the weight of the first n sources.
func (c *sums) total(n int32) float64 {
	if c.backward {
		return c.weight[n]
	}
	return float64(n)
}

// addTies adds slope and value for each source that equals the target, and step for each
// source above it.
func (c *sums) addTies(slope, value, step float64) {
	for j, n := range c.above {
		w := c.total(n)
		ties := c.total(c.notBelow[j]) - w
		c.slope[j] += ties * slope
		if !c.backward {
			c.value[j] += ties*value + w*step
		}
	}
}

// addLinear adds slope·t + value for the sources beyond the target.
func (c *sums) addLinear(slope, value float64) {
	for j, n := range c.beyond {
		w := c.total(n)
		c.slope[j] += slope * w
		if !c.backward {
			c.value[j] += slope*(c.moment[n]-w*float64(c.y[j])) + value*w
		}
	}
}

// addLeak adds Leak·t for t ≤ 0, then Beta·t + Gamma until that reaches 1.
func (c *sums) addLeak(f *reference.Step) {
	n := int32(len(c.x))
	for j, a := range c.above {
		w, far := c.total(a), c.total(c.beyond[j])
		below, between := c.total(n)-w, w-far
		c.slope[j] += f.LeakSlope*below + f.Beta*between
		if c.backward {
			continue
		}
		m, y := c.moment[a], float64(c.y[j])
		c.value[j] += f.LeakSlope*(c.moment[n]-m-below*y) +
			f.Beta*(m-c.moment[c.beyond[j]]-between*y) + f.Gamma*between + far
	}
}

// cut finds the pieces of f among the sources of each target, and computes the prefix sums
// over them.
func (c *sums) cut(f *reference.Step) {
	n := len(c.x)
	above, notBelow := resized(&c.above, len(c.y)), resized(&c.notBelow, len(c.y))
	a, b := 0, 0
	for j, y := range c.y {
		for a < n && c.x[a] > y {
			a++
		}
		for b = max(a, b); b < n && c.x[b] == y; b++ {
		}
		above[j], notBelow[j] = int32(a), int32(b)
	}
	if c.backward {
		prefix(resized(&c.weight, n+1), c.w)
	}
	if f.Kind == device.Upper || f.Kind == device.Leak {
		c.cutBeyond(f)
		if !c.backward {
			prefix(resized(&c.moment, n+1), c.x)
		}
	}
}

// cutBeyond finds the sources on the last piece of an Upper or a Leak.
func (c *sums) cutBeyond(f *reference.Step) {
	beyond := resized(&c.beyond, len(c.y))
	n, a, far := len(c.x), 0, float32(f.Delta)
	for j, y := range c.y {
		if f.Kind == device.Upper {
			for a < n && c.x[a]-y > far {
				a++
			}
		} else {
			for a < n && c.x[a] > y && f.Beta*float64(c.x[a]-y)+f.Gamma >= 1 {
				a++
			}
		}
		beyond[j] = int32(a)
	}
}

// prefix writes to p[n] the sum of the first n elements.
func prefix[T float32 | float64](p []float64, x []T) {
	s := 0.0
	for i, v := range x {
		p[i] = s
		s += float64(v)
	}
	p[len(x)] = s
}
