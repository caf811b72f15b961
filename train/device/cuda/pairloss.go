package cuda

import (
	"math"

	"hgld/train/device"
)

// pairsArg mirrors Pairs of pairloss.h.
type pairsArg struct {
	kind, mean, mine, levels     int32
	posMargin, negMargin         float64
	posScale, negScale, base     float64
	ceiling, smoothing           float64
	sin, cos, angleEdge, dropped float64
	margins                      [device.MaxLevels]float64
}

// pairArrays mirrors PairArrays of pairloss.h.
type pairArrays struct {
	s, sh, ds, sums, cnt        Address
	items, lds, ldsh, ldd, ldcn int64
}

// newPairs converts o for kernels.
func newPairs(o *device.Pairs) pairsArg {
	p := pairsArg{
		kind: int32(o.Kind), mean: int32(o.Mean), posMargin: float64(o.PosMargin), negMargin: float64(o.NegMargin),
		posScale: float64(o.PosScale), negScale: float64(o.NegScale), base: float64(o.Base),
		ceiling: float64(o.Ceiling), smoothing: float64(o.Smoothing),
	}
	if o.Mine {
		p.mine = 1
	}
	p.sin, p.cos = math.Sincos(p.posMargin)
	if !o.Easy {
		rest := math.Pi - p.posMargin
		p.angleEdge, p.dropped = math.Cos(rest), p.posMargin*math.Sin(rest)
	}
	if o.Kind == device.Levels {
		p.levels = int32(len(o.Margins))
		for c, m := range o.Margins {
			p.margins[c] = float64(m)
		}
	}
	return p
}

// pairCall is one call of PairLoss.
type pairCall struct {
	b             *Backend
	cnt, ds, s    device.Array
	sh            device.Array
	sums          Address
	pairs         pairsArg
	queries, size int
}

// arrays adds PairArrays to the arguments of a launch.
func (x *pairCall) arrays(c *call) *call {
	a := pairArrays{
		s: c.address(x.s), sh: c.address(x.sh), ds: c.address(x.ds), sums: x.sums, cnt: c.address(x.cnt),
		items: int64(x.size), lds: int64(x.s.Ld), ldsh: int64(x.sh.Ld), ldd: int64(x.ds.Ld), ldcn: int64(x.cnt.Ld),
	}
	return structure(c, &a)
}

// PairLoss computes the sums of each query, then the divisors of their means, then scales sums
// and gradients. Triplets need 16 bytes of scratch memory per score.
func (b *Backend) PairLoss(loss, cnt, ds, s, sh device.Array, o *device.Pairs) {
	if !device.AreMatrices(sh, s, ds) || loss.Len() != sh.Rows() || cnt.N != 2 || cnt.Rows() != sh.Rows() ||
		cnt.Cols() != 2 || o.Kind == device.Levels && len(o.Margins) > device.MaxLevels {
		panic(shapes("PairLoss", loss, cnt, ds, s, sh))
	}
	const op = "PairLoss"
	q, g, triplets := sh.Dims[0], sh.Dims[1], 0
	if o.Kind == device.Triplet {
		triplets = q * g
	}
	areas := b.scratch(op, 16*q, 16, 4*q, 4*triplets, 4*triplets, 8*triplets)
	sums, totals := areas[0], areas[1]
	x := pairCall{
		b: b, cnt: i32(cnt), ds: f32(ds), s: f32(s), sh: u8(sh), sums: sums, pairs: newPairs(o), queries: q, size: g,
	}
	switch o.Kind {
	case device.MultiSimilarity:
		x.run("pairloss", "pairloss_similarity")
	case device.Triplet:
		x.triplets(areas[2], areas[3], areas[4], areas[5])
	case device.EasyTriplet:
		x.run("pairloss", "pairloss_easy")
	case device.Levels:
		x.run("pairlevels", "pairloss_levels")
	case device.Angular, device.Ratio:
		x.run("pairproxies", "pairloss_proxies")
	default:
		x.run("pairloss", "pairloss_hinges")
	}
	b.op(op).addr(totals).ptr(cnt).i64(q).i64(cnt.Ld).run("pairloss", "pairloss_totals", min(q, 1), 256, 0)
	tiles := 1
	if !ds.Absent() {
		tiles = max(1, blocks(g, 256))
	}
	x.arrays(b.op(op).ptr(f32(loss)).addr(totals).i64(q).i64(tiles)).i32(int(o.Kind)).i32(int(o.Mean)).
		run("pairloss", "pairloss_mean", q*tiles, 256, 0)
}

// run launches a kernel with one block per query.
func (x *pairCall) run(module, kernel string) {
	structure(x.arrays(x.b.op("PairLoss")), &x.pairs).run(module, kernel, x.queries, rowThreads(x.size), 0)
}

// triplets prepares pairs of a positive and a negative. number [Q] and index [Q,G] receive the
// positives, count and sum [Q,G] the terms of each one.
func (x *pairCall) triplets(number, index, count, sum Address) {
	const op, all = "PairLoss", device.AbsentLevel - 1
	b, q, g, margin := x.b, x.queries, x.size, float32(x.pairs.posMargin)
	b.pick(op, index, number, x.sh, all, g)
	most := slots(q, g, rankGroup)
	x.arrays(b.op(op).addr(count).addr(sum).addr(index).addr(number)).f32(margin).i32(most).
		run("pairtriplets", "triplets_positives", q*most, 256, 0)
	if !x.ds.Absent() {
		x.arrays(b.op(op).addr(count).addr(index).addr(number)).f32(margin).
			run("pairtriplets", "triplets_negatives", q*blocks(g, 256), 256, 0)
	}
	x.arrays(b.op(op).addr(count).addr(sum).addr(number)).run("pairtriplets", "triplets_sums", q, rowThreads(g), 0)
}
