package devicetest

import (
	"fmt"
	"math"

	"hgld/train/device"
)

// elementTolerance is for a few roundings of one element: 6e-8 each.
const elementTolerance = 3e-7

func testAxpby(s *suite) {
	for i, m := range matrices {
		x, y := s.activation(m[0], m[1]), s.activation(m[0], m[1])
		put, dst := s.put, s.alloc(s.dtype, m[0], m[1])
		if i%2 == 0 {
			put, dst = s.putView, s.view(s.dtype, m[0], m[1])
		}
		want := zeros(m[0], m[1])
		for j := range want.v {
			want.v[j] = 2*x.v[j] - 0.5*y.v[j]
		}
		s.b.Axpby(dst, 2, put(s.dtype, x), -0.5, put(s.dtype, y))
		s.same(fmt.Sprint(m), dst, want.v, elementTolerance)

		row := s.activation(m[1])
		for j := range want.v {
			want.v[j] = -x.v[j] + 3*row.v[j%m[1]]
		}
		inPlace := put(s.dtype, x)
		s.b.Axpby(inPlace, -1, inPlace, 3, s.put(s.dtype, row))
		s.same(fmt.Sprint("a row on every row, in place, ", m), inPlace, want.v, elementTolerance)

		for j := range want.v {
			want.v[j] = 1.5 * x.v[j]
		}
		s.b.Axpby(dst, 1.5, put(s.dtype, x), 0, absent)
		s.same(fmt.Sprint("without y, ", m), dst, want.v, elementTolerance)
	}
	x, y := s.activation(5, 3, 7, 2), s.activation(3, 7, 2)
	want := zeros(5, 3, 7, 2)
	for j := range want.v {
		want.v[j] = x.v[j] + y.v[j%42]
	}
	dst := s.alloc(s.dtype, 5, 3, 7, 2)
	s.b.Axpby(dst, 1, s.put(s.dtype, x), 1, s.put(s.dtype, y))
	s.same("three dimensions on four", dst, want.v, elementTolerance)
}

func testScale(s *suite) {
	for i, m := range matrices {
		x, perRow, one := s.activation(m[0], m[1]), s.master(m[0]), s.master(1)
		put, dst := s.put, s.alloc(s.dtype, m[0], m[1])
		if i%2 == 0 {
			put, dst = s.putView, s.view(s.dtype, m[0], m[1])
		}
		want := zeros(m[0], m[1])
		for j := range want.v {
			want.v[j] = perRow.v[j/m[1]] * x.v[j]
		}
		s.b.Scale(dst, put(s.dtype, x), s.put(device.F32, perRow))
		s.same(fmt.Sprint("by row ", m), dst, want.v, elementTolerance)
		for j := range want.v {
			want.v[j] = one.v[0] * x.v[j]
		}
		inPlace := put(s.dtype, x)
		s.b.Scale(inPlace, inPlace, s.put(device.F32, one))
		s.same(fmt.Sprint("by one number, in place, ", m), inPlace, want.v, elementTolerance)
	}
}

// testSums allows 2e-6, which a float32 sum in any tree order reaches; the sums
// of the definition are of numbers of mean 1, so that nothing cancels.
func testSums(s *suite) {
	kinds := []device.Sum{device.SumAll, device.SumRows, device.SumCols, device.SquaresAll, device.SquaresRows, device.SquaresCols}
	for i, m := range append(matrices, [2]int{1, 70000}, [2]int{70000, 1}, [2]int{5000, 7}) {
		x := s.activation(m[0], m[1])
		for j := range x.v {
			x.v[j] = rounded(s.dtype, x.v[j]+1)
		}
		dx := s.put(s.dtype, x)
		if i%2 == 0 {
			dx = s.putView(s.dtype, x)
		}
		for _, kind := range kinds {
			want := sums(x, kind)
			for _, acc := range []float32{0, 1} {
				old := s.master(len(want))
				dst := s.put(device.F32, old)
				if acc == 0 {
					dst = s.alloc(device.F32, len(want))
				}
				expected := make([]float64, len(want))
				for j := range want {
					expected[j] = want[j]
					if acc != 0 {
						expected[j] += old.v[j]
					}
				}
				s.b.Sums(dst, dx, kind, acc)
				s.same(fmt.Sprint(m, " kind ", kind, " acc ", acc), dst, expected, 2e-6)
			}
		}
	}
}

func sums(x *array, kind device.Sum) []float64 {
	out := make([]float64, map[device.Sum]int{
		device.SumAll: 1, device.SquaresAll: 1, device.SumRows: x.rows(), device.SquaresRows: x.rows(),
		device.SumCols: x.cols(), device.SquaresCols: x.cols(),
	}[kind])
	for i, v := range x.v {
		at := 0
		switch kind {
		case device.SumRows, device.SquaresRows:
			at = i / x.cols()
		case device.SumCols, device.SquaresCols:
			at = i % x.cols()
		}
		if kind >= device.SquaresAll {
			v *= v
		}
		out[at] += v
	}
	return out
}

// activated is the definition of an activation.
func activated(f device.Func, x float64) float64 {
	switch f {
	case device.ReLU:
		return max(x, 0)
	case device.GELU:
		return x * math.Erfc(-x/math.Sqrt2) / 2
	case device.GELUTanh:
		return x / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
	case device.QuickGELU:
		return x / (1 + math.Exp(-1.702*x))
	}
	return x
}

// testAct allows 1e-6: a backend may approximate exp and erf to a few units in
// the last place.
func testAct(s *suite) {
	for _, f := range []device.Func{device.Identity, device.ReLU, device.GELU, device.GELUTanh, device.QuickGELU} {
		for i, m := range matrices {
			x, dy := s.activation(m[0], m[1]), s.activation(m[0], m[1])
			put, y := s.put, s.alloc(s.dtype, m[0], m[1])
			if i%2 == 0 {
				put, y = s.putView, s.view(s.dtype, m[0], m[1])
			}
			want := zeros(m[0], m[1])
			for j, v := range x.v {
				want.v[j] = activated(f, v)
			}
			dx := put(s.dtype, x)
			s.b.Act(y, dx, f)
			s.same(fmt.Sprint("f", f, m), y, want.v, 1e-6)
			grad := put(s.dtype, dy) // in place
			s.b.ActGrad(grad, grad, dx, f)
			s.gradient(fmt.Sprint("gradient of f", f, m), s.get(grad), x, func() float64 {
				sum := 0.0
				for j, v := range x.v {
					sum += dy.v[j] * activated(f, v)
				}
				return sum
			}, max(1e-6, 4*s.unit(s.dtype)))
		}
	}
	x := &array{[]int{3}, []float64{0, math.Copysign(0, -1), 1e-30}}
	d := s.alloc(device.F32, 3)
	s.b.ActGrad(d, s.put(device.F32, &array{[]int{3}, []float64{1, 1, 1}}), s.put(device.F32, x), device.ReLU)
	s.equal("gradient of ReLU at 0", d, []float64{0, 0, 1})
}
