package conformance

import (
	"fmt"
	"math"
	"slices"

	"hgld/internal/half"
	"hgld/internal/testing/effort"
	"hgld/train/device"
	"hgld/train/device/reference"
)

// convCase is a convolution: image, filters and geometry.
type convCase struct {
	n, h, w, c int
	k, r, s    int
	shape      device.ConvShape
}

// convCases cover odd sizes, one channel, one pixel, every kind of geometry, and enough pixels
// or channels for several tiles.
var convCases = []convCase{
	{1, 1, 1, 1, 1, 1, 1, device.ConvShape{}},
	{2, 5, 7, 3, 4, 1, 1, device.ConvShape{}},
	{2, 5, 7, 3, 4, 1, 1, device.ConvShape{StrideH: 2, StrideW: 2}},
	{1, 6, 6, 2, 3, 1, 1, device.ConvShape{PadH: 1, PadW: 1}},
	{2, 7, 5, 3, 2, 3, 3, device.ConvShape{PadH: 1, PadW: 1}},
	{2, 7, 5, 3, 2, 3, 3, device.ConvShape{}},
	{2, 9, 8, 2, 3, 3, 3, device.ConvShape{PadH: 1, PadW: 1, StrideH: 2, StrideW: 2}},
	{1, 8, 9, 2, 3, 3, 2, device.ConvShape{PadH: 1, StrideH: 1, StrideW: 3}},
	{1, 11, 9, 4, 5, 7, 7, device.ConvShape{PadH: 3, PadW: 3, StrideH: 2, StrideW: 2}},
	{1, 11, 10, 4, 5, 7, 7, device.ConvShape{PadH: 3, PadW: 3, StrideH: 2, StrideW: 2}},
	{2, 6, 12, 2, 3, 3, 5, device.ConvShape{PadH: 1, PadW: 3, StrideH: 1, StrideW: 4}},
	{3, 17, 12, 4, 64, 7, 7, device.ConvShape{PadH: 3, PadW: 3, StrideH: 2, StrideW: 2}},
	{2, 8, 8, 4, 5, 4, 4, device.ConvShape{StrideH: 4, StrideW: 4}},
	{1, 9, 9, 2, 2, 3, 3, device.ConvShape{PadH: 2, PadW: 2, DilationH: 2, DilationW: 2}},
	{1, 11, 10, 2, 2, 3, 3, device.ConvShape{PadH: 3, PadW: 3, DilationH: 3, DilationW: 3, StrideH: 2, StrideW: 2}},
	{2, 6, 6, 4, 6, 3, 3, device.ConvShape{PadH: 1, PadW: 1, Groups: 2}},
	{2, 6, 5, 6, 6, 3, 3, device.ConvShape{PadH: 1, PadW: 1, Groups: 6}},
	{1, 7, 7, 4, 8, 3, 3, device.ConvShape{PadH: 1, PadW: 1, StrideH: 2, StrideW: 2, Groups: 4}},
	{2, 8, 8, 3, 5, 4, 4, device.ConvShape{StrideH: 4, StrideW: 4}},
	{1, 2, 2, 2, 2, 3, 3, device.ConvShape{PadH: 1, PadW: 1, StrideH: 3, StrideW: 3}},
	{1, 33, 31, 33, 31, 3, 3, device.ConvShape{PadH: 1, PadW: 1}},
	{3, 32, 33, 8, 16, 3, 3, device.ConvShape{PadH: 1, PadW: 1, StrideH: 2, StrideW: 2}},
	{2, 3, 3, 300, 129, 1, 1, device.ConvShape{}},
	{4, 24, 24, 4, 8, 3, 3, device.ConvShape{PadH: 1, PadW: 1}},
	{2, 7, 6, 48, 20, 3, 3, device.ConvShape{PadH: 1, PadW: 1, StrideH: 2, StrideW: 2}},
	{2, 4, 5, 64, 32, 3, 3, device.ConvShape{PadH: 2, PadW: 2, DilationH: 2, DilationW: 2, Groups: 2}},
	{1, 3, 3, 320, 17, 3, 3, device.ConvShape{PadH: 1, PadW: 1}},
	{2, 4, 3, 800, 5, 1, 1, device.ConvShape{StrideH: 2, StrideW: 2}},
}

func (c convCase) out() (h, w int) {
	return device.Windows(c.h, c.r, c.shape.StrideH, c.shape.PadH, c.shape.DilationH),
		device.Windows(c.w, c.s, c.shape.StrideW, c.shape.PadW, c.shape.DilationW)
}

func testConv(s *suite) {
	for i, c := range convCases {
		if !effort.Exhaustive() {
			c.h, c.w = min(c.h, 17), min(c.w, 15) // several tiles still, of which the last is partial
		}
		outH, outW := c.out()
		groups := max(c.shape.Groups, 1)
		x, w := s.activation(c.n, c.h, c.w, c.c), s.activation(c.k, c.r, c.s, c.c/groups)
		bias, residual, dy := s.master(c.k), s.activation(c.n, outH, outW, c.k), s.activation(c.n, outH, outW, c.k)
		what := fmt.Sprintf("%+v", c)
		want := reference.Conv(x, w, c.shape)
		dx, dw := s.put(s.dtype, x), s.put(s.dtype, w)

		y := s.alloc(s.dtype, c.n, outH, outW, c.k)
		s.b.Conv(y, dx, dw, c.shape, device.Epilogue{})
		s.same(what, y, want.V, productTolerance)

		e := device.Epilogue{Bias: s.put(device.F32, bias)}
		if i%2 == 0 {
			e.Residual = s.put(s.dtype, residual)
		}
		if i%3 != 0 {
			e.Act = device.ReLU
		}
		fused := want.Clone()
		for j := range fused.V {
			fused.V[j] += bias.V[j%c.k]
			if i%2 == 0 {
				fused.V[j] += residual.V[j]
			}
			fused.V[j] = reference.Act(e.Act, fused.V[j])
		}
		y = s.alloc(s.dtype, c.n, outH, outW, c.k)
		s.b.Conv(y, dx, dw, c.shape, e)
		s.same(what+" with epilogue", y, fused.V, productTolerance)
		s.convStats(what, c, dx, dw, e.Bias)

		up := s.convGradients(what, c, x, w, dy, dx, dw)
		s.convEpilogues(what, i, c, x, up, dw)
	}
}

// sumTolerance returns the tolerance of a gradient that was added to before. A sum in a short
// type is rounded in proportion to itself, and not to the gradient alone.
func (s *suite) sumTolerance(ofF32 float64, before, added []float64, acc float32) float64 {
	tolerance := max(ofF32, 4*s.unit(s.dtype))
	if acc == 1 && s.dtype != device.F32 {
		tolerance *= 1 + length(before)/length(added)
	}
	return tolerance
}

// length returns the Euclidean norm.
func length(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x * x
	}
	return math.Sqrt(sum)
}

// convGradients compares with central differences. They have only rounding errors, since a
// convolution is linear in x and in w. It returns dy on the device.
func (s *suite) convGradients(what string, c convCase, x, w, dy *array, deviceX, deviceW device.Array) device.Array {
	loss := func() float64 { return weighted(dy, reference.Conv(x, w, c.shape)) }
	up := s.put(s.dtype, dy)
	tolerance := 1e-5 // of dw
	for _, acc := range []float32{0, 1} {
		before := s.activation(x.Dims...)
		dx := s.before(s.dtype, before, acc)
		var e device.GradEpilogue
		if acc == 1 {
			e.Add = dx
		}
		s.b.ConvGradX(dx, up, deviceW, c.shape, e)
		added := s.minus(dx, before, acc)
		s.gradient(fmt.Sprint(what, " dx acc ", acc), added, x, loss, s.sumTolerance(1e-5, before.V, added, acc))
		old := s.master(w.Dims...)
		dw := s.before(device.F32, old, acc)
		s.b.ConvGradW(dw, up, deviceX, c.shape, acc)
		if acc == 0 && s.rounded(dw) {
			tolerance = 4 * s.unit(s.dtype)
		}
		s.gradient(fmt.Sprint(what, " dw acc ", acc), s.minus(dw, old, acc), w, loss, tolerance)
	}
	return up
}

// rounded reports whether a gradient by w was rounded to the type of x, as cuDNN does: it has numbers of that type
// alone.
func (s *suite) rounded(dw device.Array) bool {
	return s.dtype == device.BF16 && !slices.ContainsFunc(s.get(dw), func(v float64) bool {
		return float64(half.BF16(half.ToBF16(float32(v)))) != v
	})
}

// convEpilogues compares the epilogues of ConvGradX with the separate operations: an addition, the
// gradient of a ReLU and column sums of a gradient that was tested before. The cases take turns with
// the forms of an epilogue.
func (s *suite) convEpilogues(what string, turn int, c convCase, x *array, up, deviceW device.Array) {
	alone := s.alloc(s.dtype, x.Dims...)
	s.b.ConvGradX(alone, up, deviceW, c.shape, device.GradEpilogue{})
	plain, add, mask := s.get(alone), s.activation(x.Dims...), s.activation(x.Dims...)
	for i := range mask.V {
		mask.V[i] = max(mask.V[i], 0)
	}
	along, mean := s.activation(x.Dims...), s.master(c.c)
	for option := range 18 {
		if option%6 != turn%6 && !effort.Long() {
			continue
		}
		added, masked, summed, turned := option%3, option/3%2 == 1, option >= 6, option >= 12
		e, want := device.GradEpilogue{}, slices.Clone(plain)
		dx := s.alloc(s.dtype, x.Dims...)
		switch added {
		case 1:
			e.Add = s.put(s.dtype, add)
		case 2:
			dx = s.put(s.dtype, add)
			e.Add = dx
		}
		if added != 0 {
			for i, v := range add.V {
				want[i] += v
			}
		}
		if masked {
			e.Mask = s.put(s.dtype, mask)
			for i, v := range mask.V {
				if v == 0 {
					want[i] = 0
				}
			}
		}
		switch {
		case turned:
			e.X, e.Mean, e.Sums = s.put(s.dtype, along), s.put(device.F32, mean), s.alloc(device.F32, 2, c.c)
		case summed:
			e.Sums = s.alloc(device.F32, c.c)
		}
		s.b.ConvGradX(dx, up, deviceW, c.shape, e)
		name := fmt.Sprintf("%s dx added %d masked %v", what, added, masked)
		// plain was rounded as dx is, and is longer than a sum in which it nearly cancels add
		got := s.get(dx)
		s.near(name, got, want, max(productTolerance, 2*s.unit(s.dtype)), s.unit(s.dtype)*length(plain))
		if summed {
			sums := alongSums(got, along.V, mean.V)[:e.Sums.Len()]
			s.near(name+" sums", s.get(e.Sums), sums, 2e-6, sumRounding(got, along, mean))
		}
	}
}
