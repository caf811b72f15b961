package cuda

import "hgld/train/device"

// rankGroup is the number of positives that a block of PairLoss's triplets processes at a time.
// rankBlocks is the number of blocks of its first kernel if there are enough positives:
// several rounds on the largest GPU. A block without positives ends at once.
const (
	rankGroup  = 32
	rankBlocks = 16384
)

// slots returns the number of blocks of group elements per query, for up to items elements.
// Only the GPU knows the number of positives.
func slots(queries, items, group int) int {
	return max(1, min(blocks(items, group), rankBlocks/max(queries, 1)))
}

// pick writes the positives of each query, items with a level from 1 to top. index [Q,most]
// receives the first most of them in row order, and number [Q] the count of all, both I32.
func (b *Backend) pick(op string, index, number Address, sh device.Array, top, most int) {
	b.op(op).addr(index).addr(number).ptr(u8(sh)).i64(sh.Dims[1]).i64(sh.Ld).i32(top).i64(most).
		run("pick", "pick_positives", sh.Dims[0], 256, 0)
}

// Up to rankFew positives RankLoss goes over all pairs. By the model of a GPU, more take longer than sorting
// the row, unless the row has at most rankSmall items: RANK_FEW of rankloss.cu. rankParts is the number of
// blocks among which the queries' rows are shared, rankPart the fewest items of a block.
const (
	rankFew   = 64
	rankSmall = 256
	rankParts = 2048
	rankPart  = 2048
)

// rankCall holds the arguments and scratch memory of a RankLoss.
type rankCall struct {
	b                               *Backend
	loss, ds, s, sh, rel, cnt       device.Array
	steps                           stepsArg
	score                           scoreArg
	queries, items, top, few, parts int
	span                            int     // items of a part
	number                          Address // [Q] positives
	areas                           Address // for the pairs, then for groups of sorted queries
	bytes                           int     // at areas
}

const rankLoss = "RankLoss"

// RankLoss computes ranks, score and gradient: of queries with up to rankFew positives from pairs of an
// item and a positive in O(P·G) time, of others from the sorted row in O(G log G). Which of them a query is,
// only the GPU knows. If only the loss is needed, ds may be absent.
func (b *Backend) RankLoss(loss, ds, s, sh, rel, cnt device.Array, h *device.Steps, o *device.Score) {
	score, fits := newScore(o)
	if !fits || !device.FitsRanking(sh, rel, s, ds) || loss.Len() != sh.Rows() || cnt.Dims != rel.Dims {
		panic(shapes(rankLoss, loss, ds, s, sh, rel, cnt))
	}
	q, g := sh.Dims[0], sh.Dims[1]
	x := rankCall{
		b: b, loss: f32(loss), ds: f32(ds), s: f32(s), sh: u8(sh), rel: f32(rel), cnt: i32(cnt),
		steps: newSteps(h), score: score, queries: q, items: g, top: rel.Cols() - 1, few: rankFew,
	}
	if g <= rankSmall {
		x.few = g
	}
	x.parts = max(1, min(blocks(g, rankPart), rankParts/max(q, 1)))
	x.span = blocks(blocks(g, x.parts), 256) * 256
	x.bytes = x.pairBytes()
	if g > x.few {
		limit := b.rankScratch
		if q*g > rankScores {
			limit = limit / 3 * 2
		}
		x.bytes = max(x.bytes, min(max(limit, x.sortedBytes()), q*x.sortedBytes()))
	}
	areas := b.scratch(rankLoss, 4*q, x.bytes)
	x.number, x.areas = areas[0], areas[1]
	x.pairs()
	if g > x.few {
		x.sorted()
	}
}

// carve returns areas of so many bytes each, which begin at multiples of 256.
func carve(at Address, sizes ...int) (areas [maxAreas]Address) {
	for i, n := range sizes {
		areas[i] = at
		at += Address(padded(n))
	}
	return areas
}

// padded rounds a number of bytes up to a multiple of 256.
func padded(n int) int { return (n + 255) &^ 255 }

// pairBytes is the scratch memory of pairs.
func (x *rankCall) pairBytes() int {
	return 5*padded(4*x.queries*x.few) + padded(16*x.queries*x.parts*x.few)
}

// family returns which kernels have the steps as constants: see rankloss.cu.
func (h *stepsArg) family() string {
	alike := func(three [3]stepArg) bool { return three[0] == three[1] && three[1] == three[2] }
	plus := h.plus[0].kind
	switch {
	case !alike(h.plus):
	case alike(h.rank) && h.rank[0].smooth() && (plus == stepNone || h.plus[0] == h.rank[0]):
		return "smooth"
	case h.rank[0].kind == stepHeaviside && h.rank[1].kind == stepHeaviside && h.rank[2].kind == stepCurve &&
		(plus == stepNone || plus == stepHeaviside):
		return "sup"
	}
	return "any"
}

// rankPairsArg mirrors RankPairs of rankloss.cu.
type rankPairsArg struct {
	index, number, s, sh, rel Address
	items, lds, ldsh, ldr     int64
	top, few                  int32
}

// pairs computes the queries with at most few positives.
func (x *rankCall) pairs() {
	b, q, n := x.b, x.queries, 4*x.queries*x.few
	a := carve(x.areas, n, n, n, n, n, 16*q*x.parts*x.few)
	index, rank, plus, srank, splus, sums := a[0], a[1], a[2], a[3], a[4], a[5]
	b.pick(rankLoss, index, x.number, x.sh, x.top, x.few)
	family := x.steps.family()
	call := func() *call {
		c := b.op(rankLoss)
		return structure(c, &rankPairsArg{
			index: index, number: x.number, s: c.address(x.s), sh: c.address(x.sh), rel: c.address(x.rel),
			items: int64(x.items), lds: int64(x.s.Ld), ldsh: int64(x.sh.Ld), ldr: int64(x.rel.Ld),
			top: int32(x.top), few: int32(x.few),
		})
	}
	structure(call().addr(sums).i32(x.parts).i64(x.span), &x.steps).
		run("rankloss", "rankloss_sums_"+family, q*x.parts, 256, 0)
	x.scores(0, q, index, x.number, rank, plus, srank, splus, sums)
	if !x.ds.Absent() {
		structure(call().ptr(x.ds).i64(x.ds.Ld).addr(rank).addr(plus).addr(srank), &x.steps).
			run("rankloss", "rankloss_grad_"+family, q*blocks(x.items, 256), 256, 0)
	}
}

// scores computes the losses of queries [lo, hi) and the derivatives by their ranks: with sums of those with at
// most few positives, and without of the others.
func (x *rankCall) scores(lo, hi int, index, number, rank, plus, srank, splus, sums Address) {
	fewest, most, stride, sorted := 0, x.few, x.few, false
	if sums == 0 {
		fewest, most, stride, sorted = x.few+1, x.items, x.items, true
	}
	c := x.b.op(rankLoss)
	c.addr(c.address(x.loss) + Address(4*lo)).addr(rank).addr(plus).addr(srank).addr(splus).addr(sums).addr(index).
		addr(number).ptr(x.sh.RowRange(lo, hi)).ptr(x.rel.RowRange(lo, hi)).ptr(x.cnt.RowRange(lo, hi)).
		i64(stride).i64(x.sh.Ld).i64(x.rel.Ld).i64(x.cnt.Ld).i32(x.top).i32(x.parts).i32(fewest).i32(most).flag(sorted)
	structure(c, &x.score).run("rankloss", "rankloss_score", hi-lo, rowThreads(most), 0)
}
