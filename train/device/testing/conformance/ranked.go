package conformance

import (
	"fmt"

	"hgld/internal/testing/effort"
	"hgld/train/device"
	"hgld/train/device/reference"
)

func testRanks(s *suite, b device.Rank) {
	for _, c := range rankCases(effort.Exhaustive()) {
		d := s.ranking(c)
		scores, shared, _, _ := s.onDevice(d)
		for least := range uint8(3) {
			want := zeros(c.q, c.g)
			for q := range c.q {
				for place, i := range reference.Order(d.scores.Row(q), d.shared.Row(q), float64(least)) {
					want.Row(q)[i] = float64(place + 1)
				}
			}
			rank := s.view(device.F32, c.q, c.g)
			b.Ranks(rank, scores, shared, least)
			s.equal(fmt.Sprint("Ranks", c, least), rank, want.V)
		}
	}
}

func testRanked(s *suite, b device.Rank) {
	for _, c := range rankCases(effort.Exhaustive()) {
		d := s.ranking(c)
		for i, v := range d.scores.V { // −0 and 0 tie
			if v == 0 && s.r.IntN(2) == 0 {
				d.scores.V[i] = -v
			}
		}
		scores, shared, _, _ := s.onDevice(d)
		for _, n := range []int{1, 1 + c.g/7, c.g} {
			levels, order := s.view(device.U8, c.q, n), s.view(device.I32, c.q, n)
			b.Ranked(levels, order, scores, shared)
			wantLevels, wantOrder := rankedOf(d, n)
			what := fmt.Sprint("Ranked", c, n)
			s.equal(what+": order", order, wantOrder)
			s.equal(what+": levels", levels, wantLevels)
			alone := s.view(device.U8, c.q, n)
			b.Ranked(alone, absent, scores, shared)
			s.equal(what+" without order", alone, wantLevels)
		}
	}
}

func rankedOf(d *rankData, n int) (levels, order []float64) {
	for q := range d.q {
		list := reference.Order(d.scores.Row(q), d.shared.Row(q), 0)
		for at := range n {
			if at >= len(list) {
				levels, order = append(levels, device.AbsentLevel), append(order, -1)
				continue
			}
			l := d.shared.Row(q)[list[at]]
			if at > 0 && d.scores.Row(q)[list[at]] == d.scores.Row(q)[list[at-1]] {
				l += 128
			}
			levels, order = append(levels, l), append(order, float64(list[at]))
		}
	}
	return levels, order
}
