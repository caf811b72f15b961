package cuda

import (
	"fmt"

	"hgld/train/device"
)

// binsArg mirrors Bins of binloss.cu.
type binsArg struct {
	n, inShared             int32
	max, width, last, slope float64
}

// mostBinItems is the largest number of items of weight 1 in a bin, see binloss.cu.
const mostBinItems = 1 << 24

// BinLoss computes the loss of each query and its gradient. The loss of a query with a NaN
// score is NaN. It panics for rows of more than 2^24 items.
func (b *Backend) BinLoss(loss, ds, s, sh device.Array, o *device.Bins) {
	if !device.AreMatrices(sh, s, ds) || loss.Len() != sh.Rows() || o.N < 2 {
		panic(shapes("BinLoss", loss, ds, s, sh))
	}
	q, g := sh.Dims[0], sh.Dims[1]
	if g >= mostBinItems {
		panic(fmt.Sprintf("cuda: BinLoss: rows of %d items, want fewer than %d", g, mostBinItems))
	}
	arg := binsArg{n: int32(o.N), inShared: 1, max: float64(o.Max), width: float64(o.Max) - float64(o.Min)}
	arg.last = float64(o.N - 1)
	arg.slope = -arg.last / arg.width
	shared, far := 2*8*o.N, Address(0)
	if shared > usualShared/2 {
		far = b.scratch("BinLoss", shared*q)[0]
		shared, arg.inShared = 16, 0 // a kernel with dynamic shared memory needs a nonzero size
	}
	c := b.op("BinLoss").ptr(f32(loss)).ptr(f32(ds)).addr(far).ptr(f32(s)).ptr(u8(sh)).
		i64(g).i64(ds.Ld).i64(s.Ld).i64(sh.Ld)
	structure(c, &arg).run("binloss", "binloss_f32", q, rowThreads(g), shared)
}
