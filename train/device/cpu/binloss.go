package cpu

import (
	"hgld/train/device"
	"hgld/train/device/reference"
)

// BinLoss computes the loss of each query and its gradient.
func (b *Backend) BinLoss(loss, ds, s, sh device.Array, o *device.Bins) {
	fits := sh.N == 2 && s.N == 2 && s.Dims == sh.Dims && (ds.Absent() || ds.N == 2 && ds.Dims == sh.Dims)
	if !fits || loss.Len() != sh.Rows() || o.N < 2 {
		panic(shapes("BinLoss", loss, ds, s, sh))
	}
	t := binTask{loss: loss, ds: ds, s: s, sh: sh, bins: reference.Bins{N: o.N, Min: float64(o.Min), Max: float64(o.Max)}}
	t.work = scratch[float64](b, "binloss", b.Threads()*(6*o.N+sh.Cols()))
	split(b, sh.Rows(), 1, t)
}

type binTask struct {
	loss, ds, s, sh device.Array
	bins            reference.Bins
	work            []float64
}

func (t *binTask) span(worker, lo, hi int) {
	g, n := t.sh.Cols(), 6*t.bins.N
	work := t.work[worker*(g+n):][:g+n]
	for q := lo; q < hi; q++ {
		var grad []float64
		if !t.ds.Absent() {
			grad = work[n:]
		}
		l := reference.BinLoss(grad, row(f32(t.s), t.s, q), row(u8(t.sh), t.sh, q), t.bins, work[:n])
		f32(t.loss)[q] = float32(l)
		if grad != nil {
			narrow(row(f32(t.ds), t.ds, q), grad)
		}
	}
}
