package conformance

import (
	"fmt"
	"math"
	"slices"

	"hgld/internal/testing/effort"
	"hgld/train/device"
	"hgld/train/device/reference"
)

var binKinds = []device.Bins{{N: 20, Min: -1, Max: 1}, {N: 25, Min: 0, Max: 1}, {N: 2, Min: -0.1, Max: 0.1},
	{N: 11, Min: -1, Max: 1}}

// offCentres moves scores within 1e-4 of a bin's centre away from it. The side on which they
// lie would depend on the rounding of one division.
func (d *rankData) offCentres(o device.Bins) {
	width := float64(o.Max-o.Min) / float64(o.N-1)
	for i, v := range d.scores.V {
		at := (float64(o.Max) - v) / width
		if math.Abs(at-math.Round(at))*width < 1e-4 {
			d.scores.V[i] = float64(float32(v - 3e-4))
		}
	}
}

func definedBins(d *rankData, o device.Bins) (loss, ds *array) {
	loss, ds = zeros(d.q), zeros(d.q, d.g)
	bins := reference.Bins{N: o.N, Min: float64(o.Min), Max: float64(o.Max)}
	for q := range d.q {
		loss.V[q] = reference.BinLoss(ds.Row(q), d.scores.Row(q), d.sh(q), bins, make([]float64, 6*o.N))
	}
	return loss, ds
}

// testBinLossOfNaN: a score that is not a number has no bin. It must not become an index; loss and
// gradient of its query are NaN, which a training step finds. An absent item is not read.
func testBinLossOfNaN(s *suite, b device.Rank) {
	d := s.ranking(rankCase{4, 9, 3, 0, false})
	scores, shared, _, _ := s.onDevice(d)
	const hurt = 1
	row := s.get(scores.RowRange(hurt, hurt+1))
	items := d.sh(hurt)
	at := slices.IndexFunc(items, func(l uint8) bool { return l != device.AbsentLevel })
	row[at] = math.NaN()
	s.b.Upload(scores.RowRange(hurt, hurt+1), encode(device.F32, row))
	loss, ds := s.alloc(device.F32, 4), s.alloc(device.F32, 4, 9)
	b.BinLoss(loss, ds, scores, shared, &device.Bins{N: 20, Min: -1, Max: 1})
	slopes := s.get(ds)
	for q, v := range s.get(loss) {
		if math.IsNaN(v) != (q == hurt) {
			s.Errorf("BinLoss, a NaN in query %d: query %d has loss %v", hurt, q, v)
		}
		for i, l := range d.sh(q) {
			if v := slopes[9*q+i]; math.IsNaN(v) != (q == hurt && l != device.AbsentLevel) {
				s.Errorf("BinLoss, a NaN in query %d: item %d of query %d, level %d, has slope %v", hurt, i, q, l, v)
			}
		}
	}
}

func testBinLoss(s *suite, b device.Rank) {
	testBinLossOfNaN(s, b)
	for _, c := range append(rankCases(effort.Exhaustive()), rankCase{4, 9, 3, 0, false}) {
		for _, o := range binKinds {
			d := s.ranking(c)
			d.offCentres(o)
			scores, shared, _, _ := s.onDevice(d)
			loss, ds := s.alloc(device.F32, c.q), s.view(device.F32, c.q, c.g)
			b.BinLoss(loss, ds, scores, shared, &o)
			wantLoss, want := definedBins(d, o)
			what := fmt.Sprint("BinLoss ", o, c)
			s.losses(what, loss, wantLoss.V)
			// differences of sums over bins have size 1/width and may cancel
			s.near(what+": ds", s.get(ds), want.V, slopeTolerance, cancelled)
			s.gapsAreKept(what, ds)
			alone := s.alloc(device.F32, c.q)
			b.BinLoss(alone, absent, scores, shared, &o)
			s.equal("BinLoss without ds", alone, s.get(loss))
			if c.g > 33 {
				continue
			}
			sum := func() float64 { loss, _ := definedBins(d, o); return total(loss.V) }
			s.gradient(what+": differences", want.V, d.scores, sum, 1e-5)
		}
	}
}
