package conformance

import (
	"fmt"
	"math"

	"hgld/train/device"
	"hgld/train/device/reference"
)

// testPool expects an exact maximum, also for ties. The gradient of a maximum adds at most
// four numbers.
func testPool(s *suite) {
	for _, dims := range [][]int{{1, 1, 1, 1}, {2, 5, 7, 3}, {1, 8, 8, 33}, {2, 2, 2, 127}, {3, 32, 31, 2},
		{1, 33, 3, 1025}} {
		for _, p := range []device.PoolShape{
			{Global: true}, {H: 2, W: 2, StrideH: 2, StrideW: 2}, {H: 3, W: 3, StrideH: 2, StrideW: 2, PadH: 1, PadW: 1},
			{H: 2, W: 3, StrideH: 1, StrideW: 2, PadW: 1}, {H: 1, W: 1},
			{H: 3, W: 3, StrideH: 2, StrideW: 2, PadH: 1, PadW: 1, Positive: true},
		} {
			if !p.Global && (dims[1]+2*p.PadH < p.H || dims[2]+2*p.PadW < p.W) {
				continue
			}
			for _, p.Mode = range []device.PoolMode{device.MaxPool, device.AvgPool} {
				for _, ties := range []bool{false, true} {
					s.pool(dims, p, ties)
				}
			}
		}
	}
}

func (s *suite) pool(dims []int, p device.PoolShape, ties bool) {
	s.Helper()
	x := s.activation(dims...)
	if ties {
		for i := range x.V {
			x.V[i] = math.Round(x.V[i])
		}
	}
	for i := range x.V {
		if p.Positive { // the result of a ReLU
			x.V[i] = max(x.V[i], 0)
		}
	}
	outH, outW := reference.PoolWindows(dims, p, func(int, []int) {})
	dy := s.activation(dims[0], outH, outW, dims[3])
	wantY, wantDX := reference.Pool(x, dy, p)
	for i, v := range x.V {
		if p.Positive && p.Mode == device.MaxPool && v <= 0 {
			wantDX[i] = 0
		}
	}
	what := fmt.Sprintf("%v %+v ties %v", dims, p, ties)
	y, dx, deviceX := s.alloc(s.dtype, dy.Dims...), s.alloc(s.dtype, dims...), s.put(s.dtype, x)
	s.b.Pool(y, deviceX, p)
	if p.Mode == device.MaxPool {
		s.equal(what, y, wantY)
	} else {
		s.same(what, y, wantY, 1e-6)
	}
	s.b.PoolGrad(dx, s.put(s.dtype, dy), deviceX, y, p)
	s.same("gradient "+what, dx, wantDX, 1e-6)
}

// testGeM allows 2e-6 for the result, since its power and root each cost a few units in the
// last place. It allows 1e-5 for the gradients, since dp is a difference.
func testGeM(s *suite) {
	const eps = 1e-6
	for i, dims := range [][]int{{1, 1, 1, 1}, {2, 7, 7, 3}, {1, 5, 3, 127}, {3, 2, 2, 129}, {2, 16, 15, 33},
		{1, 1, 2, 1025}} {
		for _, power := range []float64{1, 2.5, 3, 4.75, 6.5} {
			x, dy := s.activation(dims...), s.activation(dims[0], dims[3])
			p := vector(power)
			for j := 0; j < len(x.V); j += dims[3] { // channel 0 has only values below eps
				if dims[3] > 1 {
					x.V[j] = -1
				}
			}
			what := fmt.Sprint(dims, " p ", power)
			deviceX, deviceP := s.put(s.dtype, x), s.put(device.F32, p)
			y := s.alloc(s.dtype, dims[0], dims[3])
			s.b.GeM(y, deviceX, deviceP, eps)
			s.same(what, y, reference.GeM(x, power, eps).V, 2e-6)

			dx, old, acc := s.alloc(s.dtype, dims...), s.master(1), float32(i%2)
			dp := s.put(device.F32, old)
			s.b.GeMGrad(dx, dp, s.put(s.dtype, dy), deviceX, y, deviceP, eps, acc)
			loss := func() float64 { return weighted(dy, reference.GeM(x, p.V[0], eps)) }
			tolerance := max(1e-5, 8*s.unit(s.dtype))
			s.gradient("dx "+what, s.get(dx), x, loss, tolerance)
			if dims[1]*dims[2] > 1 { // the mean of one value does not depend on p
				s.gradient("dp "+what, s.minus(dp, old, acc), p, loss, tolerance)
			}
			s.b.GeMGrad(dx, absent, s.put(s.dtype, dy), deviceX, y, deviceP, eps, 0)
		}
	}
}
