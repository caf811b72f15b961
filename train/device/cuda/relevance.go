package cuda

import "hgld/train/device"

// relevances mirrors Relevances of relevance.cu.
type relevances struct {
	mode           int32
	alpha, divisor float32
	countSelf      int32
	weights        [device.MaxLevels]float32
}

// Relevance writes the relevance table rel [Q,L+1], the counts cnt [Q,L+1] and the weights [Q]
// of the average over queries. The relevance of level 0 is 0. With RelPop, so is that of a
// level without items.
func (b *Backend) Relevance(rel, cnt, weight, sh device.Array, o device.RelKind) {
	top := rel.Cols() - 1
	if !device.FitsRanking(sh, rel) || cnt.N != 2 || cnt.Dims != rel.Dims || weight.Len() != sh.Rows() ||
		o.Mode == device.RelMap && (len(o.Weights) < top || top > device.MaxLevels) {
		panic(shapes("Relevance", rel, cnt, weight, sh))
	}
	arg := relevances{mode: int32(o.Mode), alpha: o.Alpha, divisor: o.Divisor}
	if o.CountSelf {
		arg.countSelf = 1
	}
	if o.Mode == device.RelMap {
		copy(arg.weights[:], o.Weights[:top])
	}
	q, g := sh.Dims[0], sh.Dims[1]
	c := b.op("Relevance").ptr(f32(rel)).ptr(i32(cnt)).ptr(f32(weight)).ptr(u8(sh)).
		i64(g).i64(rel.Ld).i64(cnt.Ld).i64(sh.Ld).i32(top)
	structure(c, &arg).run("relevance", "relevance_rows", q, 256, 0)
	b.op("Relevance").ptr(weight).i64(q).flag(o.AllQ).run("relevance", "relevance_weights", min(q, 1), 256, 0)
}
