package conformance

import (
	"fmt"

	"hgld/train/device"
	"hgld/train/device/reference"
)

// testScores compares with the reference. It also expects that a score has the same bytes in
// any block of queries and gallery rows.
func testScores(s *suite) {
	for _, d := range [][3]int{{1, 1, 1}, {1, 1025, 2}, {129, 1, 31}, {31, 33, 32}, {127, 300, 129}, {2, 3, 1025},
		{50, 600, 64}} {
		q, g := s.activation(d[0], d[2]), s.activation(d[1], d[2])
		dq, dg := s.putView(s.dtype, q), s.putView(s.dtype, g)
		dst := s.view(device.F32, d[0], d[1])
		s.b.Scores(dst, dq, dg)
		m := device.Mul{TransB: true, Alpha: 1}
		s.same(fmt.Sprint(d), dst, reference.MatMul(q, g, nil, nil, m, d[0], d[1], d[2]).V, productTolerance)

		for _, cut := range [][4]int{{0, d[0], d[1] / 2, d[1]}, {d[0] / 3, d[0], 0, d[1]},
			{d[0] / 2, d[0]/2 + 1, d[1] / 3, d[1]/3 + 1}} {
			part := s.view(device.F32, cut[1]-cut[0], cut[3]-cut[2])
			s.b.Scores(part, dq.RowRange(cut[0], cut[1]), dg.RowRange(cut[2], cut[3]))
			s.equal(fmt.Sprint(d, " block ", cut), part, s.get(dst.RowRange(cut[0], cut[1]).ColRange(cut[2], cut[3])))
		}
	}
}
