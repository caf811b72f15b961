package conformance

import (
	"fmt"
	"math"

	"hgld/train/device"
)

// indices draws n numbers from −1 to limit−1.
func (s *suite) indices(n, limit int) *array {
	return filled(func(int) float64 { return float64(s.r.IntN(limit+1) - 1) }, n)
}

// testGather expects exact results in every type, since the operation copies.
func testGather(s *suite) {
	for _, t := range allTypes {
		for _, m := range matrices {
			x, index := s.whole(m[0], m[1]), s.indices(m[0]+2, m[0])
			old := s.whole(m[0]+2, m[1])
			want := old.Clone()
			for i, k := range index.V {
				if k >= 0 {
					copy(want.Row(i), x.Row(int(k)))
				}
			}
			dst := s.putView(t, old)
			s.b.Gather(dst, s.putView(t, x), s.put(device.I32, index))
			s.equal(fmt.Sprint(t, m), dst, want.V)
		}
	}
	images, dst := s.whole(3, 2, 4, 5), s.alloc(device.U8, 2, 2, 4, 5)
	s.b.Gather(dst, s.put(device.U8, images), s.put(device.I32, vector(2, 0)))
	s.equal("images", dst, append(append([]float64{}, images.V[80:]...), images.V[:40]...))
}

// testScatterAdd adds up to 2,050 rows into two. It allows 2e-6, as for other float32 sums.
// Rows that no index refers to must not change, for any acc.
func testScatterAdd(s *suite) {
	for _, rows := range sizes {
		for _, m := range [][2]int{{1, 1}, {2, 33}, {31, 2}, {129, 65}, {3, 127}} {
			for _, acc := range []float32{0, 1} {
				x, index, old := s.master(2*rows, m[1]), s.indices(2*rows, m[0]), s.master(m[0], m[1])
				want, hit := old.Clone(), make([]bool, m[0])
				for i, k := range index.V {
					if k < 0 {
						continue
					}
					row := want.Row(int(k))
					if !hit[int(k)] && acc == 0 {
						clear(row)
					}
					hit[int(k)] = true
					for j, v := range x.Row(i) {
						row[j] += v
					}
				}
				dst := s.putView(device.F32, old)
				s.b.ScatterAdd(dst, s.putView(device.F32, x), s.put(device.I32, index), acc)
				s.same(fmt.Sprint(rows, " rows into ", m, " acc ", acc), dst, want.V, 2e-6)
			}
		}
	}
	poisoned := s.alloc(device.F32, 2, 1)
	s.b.ScatterAdd(poisoned, s.put(device.F32, &array{Dims: []int{1, 1}, V: []float64{3}}),
		s.put(device.I32, vector(1)), 0)
	s.equal("a row that is hit is not read, one that is not stays", poisoned, []float64{math.NaN(), 3})
}
