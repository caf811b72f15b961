package cpu

import (
	"slices"

	"hgld/train/device"
	"hgld/train/device/reference"
)

// RankLoss fuses PairRank, RankScore and PairRankGrad. It needs O(Q·G) memory and, for a row
// with many positives, O(G log G) time: see rankRow. If only the loss is needed, ds may be
// absent.
func (b *Backend) RankLoss(loss, ds, s, sh, rel, cnt device.Array, h *device.Steps, o *device.Score) {
	if !device.FitsRanking(sh, rel, s, ds) || loss.Len() != sh.Rows() || cnt.Dims != rel.Dims {
		panic(shapes("RankLoss", loss, ds, s, sh, rel, cnt))
	}
	t := lossTask{loss: loss, ds: ds, s: s, sh: sh, rel: rel, cnt: cnt, o: o}
	t.plan = &scratch[rankPlan](b, "rankloss.plan", 1)[0]
	t.plan.set(h, rel.Cols()-1)
	t.rows = scratch[rankRow](b, "rankloss.rows", b.Threads())
	split(b, sh.Rows(), 1, t)
}

type lossTask struct {
	loss, ds, s, sh, rel, cnt device.Array
	o                         *device.Score
	plan                      *rankPlan
	rows                      []rankRow
}

func (t *lossTask) span(worker, lo, hi int) {
	r := &t.rows[worker]
	for q := lo; q < hi; q++ {
		s, sh, cnt := row(f32(t.s), t.s, q), row(u8(t.sh), t.sh, q), row(i32(t.cnt), t.cnt, q)
		var ds []float32
		if !t.ds.Absent() {
			ds = row(f32(t.ds), t.ds, q)
			clear(ds)
		}
		f32(t.loss)[q] = 0
		widen(resized(&r.rel, t.rel.Cols()), row(f32(t.rel), t.rel, q))
		if !slices.ContainsFunc(cnt[1:], func(n int32) bool { return n > 0 }) {
			continue
		}
		r.load(s, sh, cnt, fewPositives())
		f32(t.loss)[q] = float32(r.forward(t.plan, cnt, t.o))
		if ds != nil {
			r.gradient(t.plan, ds)
		}
	}
}

// rankPlan splits the double sum over items i and positives k into blocks with one step
// function each. It depends only on the number of levels.
type rankPlan struct {
	steps  reference.Steps
	blocks []block
}

// block is the sum over the items i of one level and the positives k of levels [lo, hi].
type block struct {
	step          *reference.Step
	plus          bool // whether it is part of plus, with the factor min(r_i, r_k)
	level, lo, hi uint8
}

func (p *rankPlan) set(h *device.Steps, levels int) {
	p.steps.Set(h)
	p.blocks = p.blocks[:0]
	p.runs(&p.steps.Rank, false, 0, levels)
	p.runs(&p.steps.Plus, true, 1, levels)
}

// runs adds the blocks of the item levels from from on. It merges neighbouring levels of
// positives that have the same steps.
func (p *rankPlan) runs(steps *[3]reference.Step, plus bool, from, levels int) {
	for l := from; l <= levels; l++ {
		for lo := 1; lo <= levels; {
			step := &steps[reference.Class(uint8(l), uint8(lo))]
			hi := lo
			for hi < levels && steps[reference.Class(uint8(l), uint8(hi+1))] == *step {
				hi++
			}
			if step.Kind != device.NoStep {
				p.blocks = append(p.blocks, block{step, plus, uint8(l), uint8(lo), uint8(hi)})
			}
			lo = hi + 1
		}
	}
}

// resized returns n elements of a slice that keeps its memory. It allocates a fourth more than
// needed, since later rows may be longer.
func resized[T any](x *[]T, n int) []T {
	if cap(*x) < n {
		*x = make([]T, n, n+n/4)
	}
	*x = (*x)[:n]
	return *x
}
