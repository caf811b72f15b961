package cuda

import "hgld/train/device"

// scoreArg mirrors Score of rankscore.h.
type scoreArg struct {
	kind, n, clip int32
	at, temp      [device.MaxAt]float32
}

// newScore converts o for kernels. It reports whether o fits.
func newScore(o *device.Score) (n scoreArg, fits bool) {
	n.kind = int32(o.Kind)
	if o.Kind != device.ScoreRecall {
		return n, true
	}
	n.n = int32(len(o.At))
	if o.Clip {
		n.clip = 1
	}
	copy(n.at[:], o.At)
	copy(n.temp[:], o.Temp)
	return n, len(o.At) <= device.MaxAt && len(o.Temp) == len(o.At)
}

// RankScore computes the loss of each query and its derivatives with respect to rank and plus.
// plus and dplus may be absent for scores that do not use them.
func (b *Backend) RankScore(loss, drank, dplus, rank, plus, sh, rel, cnt device.Array, o *device.Score) {
	arg, fits := newScore(o)
	if !fits || !device.FitsRanking(sh, rel, drank, dplus, rank, plus) || loss.Len() != sh.Rows() ||
		cnt.Dims != rel.Dims ||
		o.Kind == device.ScoreAP && (plus.Absent() || dplus.Absent()) ||
		plus.Absent() && (o.Kind == device.ScoreLog || o.Kind == device.ScoreLogLog) {
		panic(shapes("RankScore", loss, drank, dplus, rank, plus, sh, rel, cnt))
	}
	c := b.op("RankScore").ptr(f32(loss)).ptr(f32(drank)).ptr(f32(dplus)).ptr(f32(rank)).ptr(f32(plus)).
		ptr(u8(sh)).ptr(f32(rel)).ptr(i32(cnt)).i64(sh.Dims[1]).i64(drank.Ld).i64(dplus.Ld).i64(rank.Ld).i64(plus.Ld).
		i64(sh.Ld).i64(rel.Ld).i64(cnt.Ld).i32(rel.Cols() - 1)
	structure(c, &arg).run("rankscore", "rankscore_f32", sh.Dims[0], rowThreads(sh.Dims[1]), 0)
}
