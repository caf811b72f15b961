package cuda

import (
	"slices"

	"hgld/train/device"
)

// rankScratch is the usual limit of the scratch memory of RankLoss. With scores, levels and gradient of 256
// queries and 60,000 items, or of 4,096 and 4,096, it makes less than 200 MB.
const rankScratch = 44 << 20

// RANK_RANGE and the bytes of a state from above and below, of ranksorted.cu.
const (
	rankRange      = 32
	rankStateBytes = 2 * 14 * 8
)

// rankUse is a step with the classes c for which it is A_c and B_c, a bit each.
type rankUse struct {
	step          stepArg
	ranks, pluses int
}

// uses lists the steps that take part in a pass, each once. With one step at least, ranks begin.
func (h *stepsArg) uses(takes func(f *stepArg) bool, withPlus bool) (uses []rankUse) {
	add := func(f stepArg, ranks, pluses int) {
		if !takes(&f) {
			return
		}
		i := slices.IndexFunc(uses, func(u rankUse) bool { return u.step == f })
		if i < 0 {
			i, uses = len(uses), append(uses, rankUse{step: f})
		}
		uses[i].ranks |= ranks
		uses[i].pluses |= pluses
	}
	for c := range h.rank {
		add(h.rank[c], 1<<c, 0)
		if withPlus {
			add(h.plus[c], 0, 1<<c)
		}
	}
	if len(uses) == 0 {
		uses = []rankUse{{}}
	}
	return uses
}

// sortedRowsArg mirrors SortedRows of ranksorted.cu.
type sortedRowsArg struct {
	x, rows, cnt, number, states Address
	items, ldc                   int64
	top, few                     int32
}

// rankStates is the number of states of a query from one side, at most.
func (x *rankCall) rankStates() int { return x.items/rankRange + x.top + 2 }

// sortedBytes is the scratch memory of a sorted query.
func (x *rankCall) sortedBytes() int {
	return 6*padded(4*x.items) + padded(1024*blocks(x.items, sortTile)) + padded(rankStateBytes*x.rankStates())
}

// sorted computes the queries with more than few positives, as many at a time as fit into the scratch
// memory.
func (x *rankCall) sorted() {
	run := max(1, min(x.queries, x.bytes/x.sortedBytes()))
	for lo := 0; lo < x.queries; lo += run {
		x.sortedRun(lo, min(lo+run, x.queries))
	}
}

// sortedRun computes queries [lo, hi). Two of the areas for the sort hold ranks afterwards.
func (x *rankCall) sortedRun(lo, hi int) {
	b, q, g := x.b, hi-lo, x.items
	n := 4 * q * g
	a := carve(x.areas, n, n, n, n, n, n, 1024*q*blocks(g, sortTile), rankStateBytes*q*x.rankStates())
	number := x.number + Address(4*lo)
	order := sorting{
		b: b, op: rankLoss, queries: q, items: g, keys: a[0], rows: a[1], keys2: a[2], rows2: a[3], counts: a[6],
		number: number, few: x.few,
	}
	scores, sh := x.s.RowRange(lo, hi), x.sh.RowRange(lo, hi)
	order.byScore(scores, sh, device.Array{}, 0, 0)
	b.op(rankLoss).addr(a[0]).addr(a[1]).addr(number).ptr(sh).i64(g).i64(sh.Ld).i32(x.top).i32(x.few).
		run("ranksorted", "rank_levels", q*blocks(g, 256), 256, 0)
	order.pass(a[2], a[3], a[0], a[1], q, 0)
	b.op(rankLoss).addr(a[0]).addr(a[3]).addr(a[2]).addr(number).ptr(scores).i64(g).i64(scores.Ld).i32(x.few).
		run("ranksorted", "rank_gather", q*blocks(g, 256), 256, 0)
	rank, plus, srank, splus := a[1], a[2], a[4], a[5]
	s := sortedRun{
		rankCall: x, lo: lo, hi: hi,
		arg: sortedRowsArg{
			x: a[0], rows: a[3], number: number, states: a[7], items: int64(g), ldc: int64(x.cnt.Ld), top: int32(x.top),
			few: int32(x.few),
		},
	}
	for i, u := range x.steps.uses(func(f *stepArg) bool { return f.kind != stepNone }, true) {
		s.ranges(u.step, 0)
		rel := x.rel.RowRange(lo, hi)
		c := s.call().addr(rank).addr(plus).addr(srank).addr(splus).ptr(rel).i64(rel.Ld)
		structure(c, &u.step).i32(u.ranks).i32(u.pluses).flag(i == 0).
			run("ranksorted", "rank_forward", q*blocks(g, 256), 256, 0)
	}
	x.scores(lo, hi, a[3], number, rank, plus, srank, splus, 0)
	if !x.ds.Absent() {
		s.gradient(rank, plus, srank)
	}
}

// sortedRun is a group of sorted queries [lo, hi).
type sortedRun struct {
	*rankCall
	lo, hi int
	arg    sortedRowsArg
}

// call begins a call with the rows.
func (s *sortedRun) call() *call {
	c := s.b.op(rankLoss)
	s.arg.cnt = c.address(s.cnt.RowRange(s.lo, s.hi))
	return structure(c, &s.arg)
}

// ranges prepares the states of a step: of all levels, or with weights of the positives.
func (s *sortedRun) ranges(f stepArg, weights Address) {
	if f.kind != stepCurve && f.kind != stepLeak {
		return
	}
	q, lowest := s.hi-s.lo, 0
	if weights != 0 {
		lowest = 1
	}
	c := s.call().addr(weights)
	structure(c, &f).run("ranksorted", "rank_ranges", q*blocks(s.rankStates(), 8), 256, 0)
	s.call().f32(f.scale).i32(lowest).
		run("ranksorted", "rank_scan", q*2*(s.top+1-lowest), 448, 0)
}

// gradient writes ds from the derivatives u and v by rank and plus, and own. v is 0 but for one score.
func (s *sortedRun) gradient(u, v, own Address) {
	ds, rel, begin := s.ds.RowRange(s.lo, s.hi), s.rel.RowRange(s.lo, s.hi), true
	add := func(f stepArg, weights Address, classes int, pluses bool) {
		s.ranges(f, weights)
		c := s.call().ptr(ds).addr(weights).addr(own).ptr(rel).i64(ds.Ld).i64(rel.Ld)
		structure(c, &f).i32(classes).flag(pluses).flag(begin).
			run("ranksorted", "rank_backward", (s.hi-s.lo)*blocks(s.items, 256), 256, 0)
		begin = false
	}
	for _, use := range s.steps.uses((*stepArg).slopes, device.ScoreKind(s.score.kind) == device.ScoreAP) {
		if use.ranks != 0 || use.pluses == 0 {
			add(use.step, u, use.ranks, false)
		}
		if use.pluses != 0 {
			add(use.step, v, use.pluses, true)
		}
	}
}
