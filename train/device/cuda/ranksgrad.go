package cuda

import "hgld/train/device"

// RanksGrad ranks each query's items by s and by s + lambda·n·drank. The factor n compensates
// for ranks that were divided by n.
func (b *Backend) RanksGrad(ds, drank, s, sh device.Array, lambda float32) {
	if !device.AreMatrices(sh, ds, drank, s) || !(lambda > 0) {
		panic(shapes("RanksGrad", ds, drank, s, sh))
	}
	x := b.newSorting("RanksGrad", sh.Dims[0], sh.Dims[1])
	for lo := 0; lo < sh.Dims[0]; lo += x.queries {
		hi := min(lo+x.queries, sh.Dims[0])
		ds, drank, s, sh := ds.RowRange(lo, hi), drank.RowRange(lo, hi), s.RowRange(lo, hi), sh.RowRange(lo, hi)
		x.byScore(s, sh, device.Array{}, 0, 0)
		x.places(ds, 0)
		x.byScore(s, sh, drank, lambda, 0)
		b.op("RanksGrad").ptr(f32(ds)).addr(x.number).addr(x.keys).addr(x.rows).
			i64(hi-lo).i64(x.items).i64(ds.Ld).f32(lambda).
			run("ranked", "ranked_slopes", blocks((hi-lo)*x.items, 256), 256, 0)
	}
}
