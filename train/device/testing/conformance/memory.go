package conformance

import (
	"fmt"
	"math"
	"slices"

	"hgld/train/device"
)

var allTypes = []device.DType{device.F32, device.BF16, device.F16, device.I32, device.U8}

// whole draws integers from 0 to 100, which are exact in every type.
func (s *suite) whole(dims ...int) *array {
	return filled(func(int) float64 { return float64(s.r.IntN(101)) }, dims...)
}

// testUpload copies arrays to the device and back, with and without gaps. The result is exact.
func testUpload(s *suite) {
	for _, t := range allTypes {
		for _, m := range matrices {
			a := s.whole(m[0], m[1])
			s.equal(fmt.Sprint("array ", t, m), s.put(t, a), a.V)
			s.equal(fmt.Sprint("view ", t, m), s.putView(t, a), a.V)
		}
		a := s.whole(2, 3, 4, 5)
		d := s.put(t, a)
		s.equal("four dimensions", d, a.V)
		s.equal("rows", d.RowRange(1, 2), a.V[60:])
		s.equal("empty", d.RowRange(1, 1), nil)
	}
	a := s.whole(33, 65)
	d := s.put(device.F32, a)
	var want []float64
	for i := 5; i < 20; i++ {
		want = append(want, a.Row(i)[7:40]...)
	}
	if got := s.get(d.RowRange(5, 20).ColRange(7, 40)); fmt.Sprint(got) != fmt.Sprint(want) {
		s.Error("a view of rows and columns differs from the uploaded array")
	}
}

// testCopy converts between all types. It expects equality, since for the chosen values every
// conversion is exact or its rounding is defined.
func testCopy(s *suite) {
	for _, from := range allTypes {
		for _, to := range allTypes {
			for _, m := range matrices {
				a := s.whole(m[0], m[1])
				dst := s.view(to, m[0], m[1])
				s.b.Copy(dst, s.putView(from, a))
				s.equal(fmt.Sprint(from, " to ", to, m), dst, a.V)
				whole := s.alloc(to, m[0]*m[1])
				s.b.Copy(whole, s.put(from, vector(a.V...)))
				s.equal(fmt.Sprint(from, " to ", to, " without gaps", m), whole, a.V)
			}
		}
	}
	inf := math.Inf(1)
	for _, c := range []struct {
		to         device.DType
		from, want []float64
	}{
		{device.BF16, []float64{1, 1 + 0x1p-8, 1 + 0x1.8p-8, 1 + 0x1.8p-7, -inf, 1e39, 0x1p-130},
			[]float64{1, 1, 1 + 0x1p-7, 1 + 0x1p-6, -inf, inf, 0x1p-130}},
		{device.F16, []float64{1 + 0x1p-11, 1 + 0x1.8p-10, 65519, 65520, -1e6, 0x1p-24, 0x1p-25, 0x1.8p-25},
			[]float64{1, 1 + 0x1p-9, 65504, inf, -inf, 0x1p-24, 0, 0x1p-24}},
		{device.I32, []float64{0.9, -0.9, -2.5, 1e10, -1e10, inf, math.NaN()},
			[]float64{0, 0, -2, math.MaxInt32, math.MinInt32, math.MaxInt32, 0}},
		{device.U8, []float64{0.9, 254.99, -1, 300, inf, math.NaN()}, []float64{0, 254, 0, 255, 255, 0}},
	} {
		dst := s.alloc(c.to, len(c.from))
		s.b.Copy(dst, s.put(device.F32, vector(c.from...)))
		s.equal(fmt.Sprint("rounding to ", c.to), dst, c.want)
	}
	for _, t := range []device.DType{device.BF16, device.F16} {
		a := s.random(device.F32, 1025)
		dst := s.alloc(t, 1025)
		s.b.Copy(dst, s.put(device.F32, a))
		want := filled(func(i int) float64 { return rounded(t, a.V[i]) }, len(a.V))
		s.equal(fmt.Sprint("nearest ", t), dst, want.V)
	}
}

// testFill expects exact results.
func testFill(s *suite) {
	for _, t := range allTypes {
		for _, m := range matrices {
			for _, v := range []float64{0, 7} {
				want := slices.Repeat([]float64{v}, m[0]*m[1])
				dst := s.view(t, m[0], m[1])
				s.b.Fill(dst, float32(v))
				s.equal(fmt.Sprint("view ", t, m), dst, want)
				dst = s.alloc(t, m[0], m[1])
				s.b.Fill(dst, float32(v))
				s.equal(fmt.Sprint("array ", t, m), dst, want)
			}
		}
	}
}
