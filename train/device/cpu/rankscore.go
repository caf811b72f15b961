package cpu

import (
	"hgld/train/device"
	"hgld/train/device/reference"
)

// RankScore computes the loss of each query and its derivatives with respect to rank and plus.
// plus and dplus may be absent for scores that do not use them.
func (b *Backend) RankScore(loss, drank, dplus, rank, plus, sh, rel, cnt device.Array, o *device.Score) {
	if !device.FitsRanking(sh, rel, drank, dplus, rank, plus) || loss.Len() != sh.Rows() || cnt.Dims != rel.Dims ||
		o.Kind == device.ScoreAP && (plus.Absent() || dplus.Absent()) ||
		plus.Absent() && (o.Kind == device.ScoreLog || o.Kind == device.ScoreLogLog) {
		panic(shapes("RankScore", loss, drank, dplus, rank, plus, sh, rel, cnt))
	}
	t := scoreTask{loss: loss, drank: drank, dplus: dplus, rank: rank, plus: plus, sh: sh, rel: rel, cnt: cnt, o: o}
	t.work = scratch[float64](b, "rankscore", b.Threads()*(4*sh.Cols()+rel.Cols()))
	split(b, sh.Rows(), 1, t)
}

type scoreTask struct {
	loss, drank, dplus, rank, plus, sh, rel, cnt device.Array
	o                                            *device.Score
	work                                         []float64
}

func (t *scoreTask) span(worker, lo, hi int) {
	g, n := t.sh.Cols(), t.rel.Cols()
	work := t.work[worker*(4*g+n):]
	drank, dplus, rank, plus, rel := work[:g], work[g:2*g], work[2*g:3*g], work[3*g:4*g], work[4*g:4*g+n]
	for q := lo; q < hi; q++ {
		widen(rel, row(f32(t.rel), t.rel, q))
		widen(rank, row(f32(t.rank), t.rank, q))
		if !t.plus.Absent() {
			widen(plus, row(f32(t.plus), t.plus, q))
		}
		l := reference.RankScore(drank, dplus, rank, plus, row(u8(t.sh), t.sh, q), rel, row(i32(t.cnt), t.cnt, q), t.o)
		f32(t.loss)[q] = float32(l)
		narrow(row(f32(t.drank), t.drank, q), drank)
		if !t.dplus.Absent() {
			narrow(row(f32(t.dplus), t.dplus, q), dplus)
		}
	}
}
