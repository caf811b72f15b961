package conformance

import (
	"fmt"
	"math"
	"slices"

	"hgld/train/device"
	"hgld/train/device/reference"
)

// productTolerance is for sums of up to 1,025 float32 products. Rounding errors of half a unit
// in the last place (3e-8 of the largest partial sum) add up like a random walk over 1,025
// steps, and the sum itself is a random walk.
const productTolerance = 2e-6

func testMatMul(s *suite) {
	shapes := [][3]int{
		{1, 1, 1}, {1, 1, 1025}, {1, 1025, 2}, {1025, 1, 2}, {2, 31, 33}, {31, 33, 32}, {32, 32, 32}, {33, 127, 31},
		{127, 128, 129}, {129, 65, 127}, {3, 1025, 5}, {1023, 2, 3}, {257, 5, 1023}, {200, 530, 3},
	}
	for i, d := range shapes {
		for trans := range 4 {
			m := device.Mul{TransA: trans&1 != 0, TransB: trans&2 != 0, Alpha: 1}
			if (i+trans)%2 == 1 {
				m.Alpha, m.Beta = -0.5, 1
			}
			if (i+trans)%3 == 1 {
				m.Act = device.ReLU
			}
			withBias, times := trans%2 == i%2, (i+trans)%6 == 2
			s.matMul(d[0], d[1], d[2], m, withBias && !times, i%2 == 0, trans >= 2, times)
		}
	}
	s.batchedMatMul()
}

func (s *suite) matMul(rows, cols, inner int, m device.Mul, withBias, views, apart, times bool) {
	s.Helper()
	x, y := s.activation(rows, inner), s.activation(inner, cols)
	if m.TransA {
		x = s.activation(inner, rows)
	}
	if m.TransB {
		y = s.activation(cols, inner)
	}
	old := s.activation(rows, cols)
	put, _ := s.forms(views)
	dst := put(s.dtype, old)
	if apart {
		m.Add = put(s.dtype, old)
	}
	if m.Beta == 0 || apart {
		nan := encode(s.dtype, slices.Repeat([]float64{math.NaN()}, rows*cols))
		s.b.Upload(dst, nan) // with Beta 0, or with Add, dst is not read
		if m.Beta == 0 && apart {
			s.b.Upload(m.Add, nan)
		}
	}
	var bias *array
	if withBias {
		bias = s.master(cols)
		m.Bias = s.put(device.F32, bias)
	}
	var sums []float64
	if m.TransA && !withBias {
		m.Sums = s.alloc(device.F32, rows)
		sums = reference.Sums(x, device.SumCols)
	}
	want := reference.MatMul(x, y, old, bias, m, rows, cols, inner)
	if times {
		factor := s.activation(rows, cols)
		m.Factor = put(s.dtype, factor)
		for i, v := range factor.V {
			want.V[i] *= v
		}
	}
	s.b.MatMul(dst, put(s.dtype, x), put(s.dtype, y), m)
	if sums != nil {
		s.same(fmt.Sprintf("sums of %v", x.Dims), m.Sums, sums, productTolerance)
		m.Sums = absent
	}
	s.same(fmt.Sprintf("%d×%d×%d %+v", rows, cols, inner, m), dst, want.V, productTolerance)
}

// batchedMatMul multiplies three matrices by three.
func (s *suite) batchedMatMul() {
	const batch, rows, cols, inner = 3, 33, 31, 65
	for trans := range 4 {
		m := device.Mul{TransA: trans&1 != 0, TransB: trans&2 != 0, Alpha: 2}
		dimsX, dimsY := [2]int{rows, inner}, [2]int{inner, cols}
		if m.TransA {
			dimsX = [2]int{inner, rows}
		}
		if m.TransB {
			dimsY = [2]int{cols, inner}
		}
		x, y := s.activation(batch, dimsX[0], dimsX[1]), s.activation(batch, dimsY[0], dimsY[1])
		dst, add := s.alloc(s.dtype, batch, rows, cols), s.activation(batch, rows, cols)
		m.Beta, m.Add = float32(1+trans%2), s.put(s.dtype, add)
		s.b.MatMul(dst, s.put(s.dtype, x), s.put(s.dtype, y), m)
		var want []float64
		for i := range batch {
			part := func(a *array, d [2]int) *array {
				n := d[0] * d[1]
				return &array{Dims: d[:], V: a.V[i*n : (i+1)*n]}
			}
			old := part(add, [2]int{rows, cols})
			want = append(want, reference.MatMul(part(x, dimsX), part(y, dimsY), old, nil, m, rows, cols, inner).V...)
		}
		s.same(fmt.Sprintf("batch %+v", m), dst, want, productTolerance)
	}
}
