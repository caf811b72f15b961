package conformance

import (
	"fmt"
	"math"
	"slices"

	"hgld/internal/testing/effort"
	"hgld/train/device"
	"hgld/train/device/reference"
)

// elementTolerance allows a few roundings of one element, 6e-8 each.
const elementTolerance = 3e-7

func testAxpby(s *suite) {
	for i, m := range matrices {
		x, y := s.activation(m[0], m[1]), s.activation(m[0], m[1])
		put, alloc := s.forms(i%2 == 0)
		dst := alloc(s.dtype, m[0], m[1])
		want := filled(func(j int) float64 { return 2*x.V[j] - 0.5*y.V[j] }, m[0], m[1])
		s.b.Axpby(dst, 2, put(s.dtype, x), -0.5, put(s.dtype, y))
		s.same(fmt.Sprint(m), dst, want.V, elementTolerance)

		row := s.activation(m[1])
		want = filled(func(j int) float64 { return -x.V[j] + 3*row.V[j%m[1]] }, m[0], m[1])
		inPlace := put(s.dtype, x)
		s.b.Axpby(inPlace, -1, inPlace, 3, s.put(s.dtype, row))
		s.same(fmt.Sprint("a row on every row, in place, ", m), inPlace, want.V, elementTolerance)

		want = filled(func(j int) float64 { return 1.5 * x.V[j] }, m[0], m[1])
		s.b.Axpby(dst, 1.5, put(s.dtype, x), 0, absent)
		s.same(fmt.Sprint("without y, ", m), dst, want.V, elementTolerance)
	}
	x, y := s.activation(5, 3, 7, 2), s.activation(3, 7, 2)
	want := filled(func(j int) float64 { return x.V[j] + y.V[j%42] }, 5, 3, 7, 2)
	dst := s.alloc(s.dtype, 5, 3, 7, 2)
	s.b.Axpby(dst, 1, s.put(s.dtype, x), 1, s.put(s.dtype, y))
	s.same("three dimensions on four", dst, want.V, elementTolerance)
}

func testScale(s *suite) {
	for i, m := range matrices {
		x, perRow, one := s.activation(m[0], m[1]), s.master(m[0]), s.master(1)
		put, alloc := s.forms(i%2 == 0)
		dst := alloc(s.dtype, m[0], m[1])
		want := filled(func(j int) float64 { return perRow.V[j/m[1]] * x.V[j] }, m[0], m[1])
		s.b.Scale(dst, put(s.dtype, x), s.put(device.F32, perRow))
		s.same(fmt.Sprint("by row ", m), dst, want.V, elementTolerance)
		want = filled(func(j int) float64 { return one.V[0] * x.V[j] }, m[0], m[1])
		inPlace := put(s.dtype, x)
		s.b.Scale(inPlace, inPlace, s.put(device.F32, one))
		s.same(fmt.Sprint("by one number, in place, ", m), inPlace, want.V, elementTolerance)
		each := s.activation(m[0], m[1])
		want = filled(func(j int) float64 { return each.V[j] * x.V[j] }, m[0], m[1])
		s.b.Scale(dst, put(s.dtype, x), put(s.dtype, each))
		s.same(fmt.Sprint("by element ", m), dst, want.V, elementTolerance)
	}
}

// testSums allows 2e-6, which a float32 sum reaches in any tree order. The reference adds
// numbers of mean 1, so that nothing cancels.
func testSums(s *suite) {
	kinds := []device.Sum{device.SumAll, device.SumRows, device.SumCols, device.SquaresAll, device.SquaresRows,
		device.SquaresCols}
	many := 20001 // ManyRows has more
	if effort.Long() {
		many = 70000
	}
	for i, m := range append(matrices, [2]int{1, many}, [2]int{many, 1}, [2]int{5000, 7}) {
		x := s.activation(m[0], m[1])
		for j := range x.V {
			x.V[j] = rounded(s.dtype, x.V[j]+1)
		}
		dx := s.put(s.dtype, x)
		if i%2 == 0 {
			dx = s.putView(s.dtype, x)
		}
		for k, kind := range kinds {
			want := reference.Sums(x, kind)
			for _, acc := range []float32{0, 1} {
				if m[0]*m[1] >= many && int(acc) != (i+k)%2 && !effort.Exhaustive() {
					continue // of parts that are joined, each kind once
				}
				old := s.master(len(want))
				dst := s.before(device.F32, old, acc)
				expected := filled(func(j int) float64 { return want[j] + float64(acc)*old.V[j] }, len(want))
				s.b.Sums(dst, dx, kind, acc)
				s.same(fmt.Sprint(m, " kind ", kind, " acc ", acc), dst, expected.V, 2e-6)
			}
		}
	}
}

// testAct allows 1e-6, since a backend may approximate exp and erf to a few units in the last
// place.
func testAct(s *suite) {
	for _, f := range []device.Func{device.Identity, device.ReLU, device.GELU, device.GELUTanh, device.QuickGELU} {
		for i, m := range matrices {
			x, dy := s.activation(m[0], m[1]), s.activation(m[0], m[1])
			put, alloc := s.forms(i%2 == 0)
			y, dx := alloc(s.dtype, m[0], m[1]), put(s.dtype, x)
			act := func() *array { return filled(func(j int) float64 { return reference.Act(f, x.V[j]) }, m[0], m[1]) }
			s.b.Act(y, dx, f)
			s.same(fmt.Sprint("f", f, m), y, act().V, 1e-6)
			slope, alone, inPlace := alloc(s.dtype, m[0], m[1]), alloc(s.dtype, m[0], m[1]), put(s.dtype, x)
			s.b.ActSlope(absent, alone, dx, f)
			s.b.ActSlope(inPlace, slope, inPlace, f)
			if !slices.Equal(s.get(slope), s.get(alone)) || !slices.Equal(s.get(inPlace), s.get(y)) {
				s.Errorf("f%d %v: the slope is not that computed alone, or the result not that of Act", f, m)
			}
			s.gapsAreKept(fmt.Sprint("slope of f", f, m), slope)
			grad := put(s.dtype, dy) // in place
			s.b.Scale(grad, grad, slope)
			loss := func() float64 { return weighted(dy, act()) }
			s.gradient(fmt.Sprint("gradient of f", f, m), s.get(grad), x, loss, max(1e-6, 4*s.unit(s.dtype)))
		}
	}
	x, d := vector(0, math.Copysign(0, -1), 1e-30), s.alloc(device.F32, 3)
	s.b.ActSlope(absent, d, s.put(device.F32, x), device.ReLU)
	s.equal("slope of ReLU at 0", d, []float64{0, 0, 1})
}
