package devicetest

import (
	"fmt"
	"math"

	"hgld/train/device"
)

// testScores compares with the definition, and asks that a score have the same
// bytes in whatever block of queries and gallery rows it is computed.
func testScores(s *suite) {
	for _, d := range [][3]int{{1, 1, 1}, {1, 1025, 2}, {129, 1, 31}, {31, 33, 32}, {127, 300, 129}, {2, 3, 1025}, {50, 600, 64}} {
		q, g := s.activation(d[0], d[2]), s.activation(d[1], d[2])
		dq, dg := s.putView(s.dtype, q), s.putView(s.dtype, g)
		dst := s.view(device.F32, d[0], d[1])
		s.b.Scores(dst, dq, dg)
		m := device.Mul{TransB: true, Alpha: 1}
		s.same(fmt.Sprint(d), dst, matMul(q, g, nil, nil, m, d[0], d[1], d[2]).v, productTolerance)

		for _, cut := range [][4]int{{0, d[0], d[1] / 2, d[1]}, {d[0] / 3, d[0], 0, d[1]}, {d[0] / 2, d[0]/2 + 1, d[1] / 3, d[1]/3 + 1}} {
			part := s.view(device.F32, cut[1]-cut[0], cut[3]-cut[2])
			s.b.Scores(part, dq.RowRange(cut[0], cut[1]), dg.RowRange(cut[2], cut[3]))
			s.equal(fmt.Sprint(d, " block ", cut), part, s.get(dst.RowRange(cut[0], cut[1]).ColRange(cut[2], cut[3])))
		}
	}
}

// testNearest accepts a row whose distance is as small as the least within the
// rounding of a float32 product.
func testNearest(s *suite) {
	for _, d := range [][3]int{{1, 1, 1}, {1025, 2, 3}, {31, 33, 32}, {129, 600, 65}, {2, 1025, 31}} {
		n, k, dim := d[0], d[1], d[2]
		x, c := s.activation(n, dim), s.activation(k, dim)
		cc := zeros(k)
		for i := range k {
			for _, v := range c.row(i) {
				cc.v[i] += v * v
			}
			cc.v[i] = rounded(device.F32, cc.v[i])
		}
		index, dist := s.alloc(device.I32, n), s.alloc(device.F32, n)
		s.b.Nearest(index, dist, s.putView(s.dtype, x), s.putView(s.dtype, c), s.put(device.F32, cc))
		at, got := s.get(index), s.get(dist)
		for i := range n {
			least, own := math.Inf(1), math.Inf(1)
			for j := range k {
				v := cc.v[j]
				for p, w := range c.row(j) {
					v -= 2 * x.row(i)[p] * w
				}
				least = min(least, v)
				if j == int(at[i]) {
					own = v
				}
			}
			if slack := 1e-5 * float64(dim); !(own <= least+slack) || math.Abs(got[i]-least) > slack {
				s.Fatalf("%v: row %d: nearest %v at distance %g (kept: %g), least %g", d, i, at[i], own, got[i], least)
			}
		}
	}
	s.nearestTies()
}

// nearestTies has every row of c twice, far enough apart to lie in other tiles.
func (s *suite) nearestTies() {
	const n, k, dim = 40, 300, 8
	x, c, cc := s.activation(n, dim), s.activation(2*k, dim), zeros(2*k)
	copy(c.v[k*dim:], c.v[:k*dim])
	index, dist := s.alloc(device.I32, n), s.alloc(device.F32, n)
	s.b.Nearest(index, dist, s.put(s.dtype, x), s.put(s.dtype, c), s.put(device.F32, cc))
	for i, at := range s.get(index) {
		if at >= k {
			s.Fatalf("row %d: nearest is %v, but row %v is equal and lower", i, at, at-k)
		}
	}
}
