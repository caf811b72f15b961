package cpu

import (
	"fmt"

	"hgld/train/device"
)

// Gather copies row index[i] of x to row i of dst. If the index is −1, row i does not change.
// A row is everything that one index of the first dimension selects. The types must be equal.
func (b *Backend) Gather(dst, x, index device.Array) {
	width, strideDst := device.OuterRow(dst)
	widthX, strideX := device.OuterRow(x)
	if dst.Type != x.Type || width != widthX || index.Len() != dst.Dims[0] {
		panic(shapes("Gather", dst, x, index))
	}
	size := x.Type.Size()
	split(b, index.Len(), rowGrain(width), gatherTask{
		bytesOf(dst), bytesOf(x), i32(index), width * size, strideDst * size, strideX * size, x.Dims[0]})
}

type gatherTask struct {
	dst, x                          []byte
	index                           []int32
	width, strideDst, strideX, rows int // in bytes, except rows
}

func (t *gatherTask) span(_, lo, hi int) {
	for i := lo; i < hi; i++ {
		k := int(t.index[i])
		if k == -1 {
			continue
		}
		if k < 0 || k >= t.rows {
			panic(fmt.Sprintf("cpu: Gather: index %d is row %d of %d", k, i, t.rows))
		}
		copy(t.dst[i*t.strideDst:][:t.width], t.x[k*t.strideX:][:t.width])
	}
}

// ScatterAdd adds row i of x to row index[i] of dst, in row order. It skips −1. If acc is 0,
// the rows that are hit start from zero and the others do not change.
func (b *Backend) ScatterAdd(dst, x, index device.Array, acc float32) {
	width, strideDst := device.OuterRow(dst)
	widthX, strideX := device.OuterRow(x)
	if width != widthX || index.Len() != x.Dims[0] {
		panic(shapes("ScatterAdd", dst, x, index))
	}
	rows := i32(index)
	for i, k := range rows {
		if k < -1 || int(k) >= dst.Dims[0] {
			panic(fmt.Sprintf("cpu: ScatterAdd: index %d is row %d of %d", k, i, dst.Dims[0]))
		}
	}
	// A span is a range of columns, so that one thread adds all terms of a sum, in row order.
	split(b, width, 64, scatterTask{f32(dst), f32(x), rows, strideDst, strideX, acc == 0})
}

type scatterTask struct {
	dst, x             []float32
	index              []int32
	strideDst, strideX int
	replace            bool
}

func (t *scatterTask) span(_, lo, hi int) {
	if t.replace {
		for _, k := range t.index {
			if k >= 0 {
				clear(t.dst[int(k)*t.strideDst+lo : int(k)*t.strideDst+hi])
			}
		}
	}
	for i, k := range t.index {
		if k < 0 {
			continue
		}
		dst := t.dst[int(k)*t.strideDst+lo : int(k)*t.strideDst+hi]
		for j, v := range t.x[i*t.strideX+lo : i*t.strideX+hi] {
			dst[j] += v
		}
	}
}
