package conformance

import (
	"fmt"

	"hgld/internal/testing/effort"
	"hgld/train/device"
	"hgld/train/device/reference"
)

// Derivatives are multiples of 2^-10 and scores of 2^-6. Moved scores are therefore exact in
// float32, including ties.
func testRanksGrad(s *suite, b device.Rank) {
	for _, c := range rankCases(effort.Exhaustive()) {
		c.ties = true
		d := s.ranking(c)
		for _, lambda := range []float32{0.25, 4} {
			up := zeros(c.q, c.g)
			for i := range up.V {
				up.V[i] = float64(s.r.IntN(65)-32) / 1024
			}
			want := zeros(c.q, c.g)
			for q := range c.q {
				n := float64(len(reference.Order(d.scores.Row(q), d.shared.Row(q), 0)))
				moved := &rankData{d.rankCase, zeros(c.q, c.g), d.shared, d.rel, d.count}
				for i, v := range d.scores.Row(q) {
					moved.scores.Row(q)[i] = v
					if l := d.shared.Row(q)[i]; l >= 1 {
						moved.scores.Row(q)[i] += float64(lambda) * n * up.Row(q)[i]
					}
				}
				for place, i := range reference.Order(d.scores.Row(q), d.shared.Row(q), 0) {
					want.Row(q)[i] -= float64(place) / n / float64(lambda)
				}
				for place, i := range reference.Order(moved.scores.Row(q), moved.shared.Row(q), 0) {
					want.Row(q)[i] += float64(place) / n / float64(lambda)
				}
			}
			scores, shared, _, _ := s.onDevice(d)
			ds := s.view(device.F32, c.q, c.g)
			b.RanksGrad(ds, s.putView(device.F32, up), scores, shared, lambda)
			s.near(fmt.Sprint("RanksGrad", c, lambda), s.get(ds), want.V, 1e-6, 1e-7)
		}
	}
}
