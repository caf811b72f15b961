package cpu

import (
	"hgld/internal/vec"
	"hgld/train/device"
)

// ReluGrad applies the epilogue e to the gradient dy: see device.Image.
func (b *Backend) ReluGrad(dx, dy device.Array, e device.GradEpilogue, acc float32) {
	rows, c := dy.Rows(), dy.Cols()
	if !e.Fits(dy) {
		panic(shapes("ReluGrad", dy, e.Add, e.Mask, e.X, e.Sums, e.Mean))
	}
	if !dx.Absent() && (dx.Len() != dy.Len() || dx.Cols() != c) || !dy.Contiguous() || !dx.Contiguous() ||
		dx.Absent() && !e.Add.Absent() {
		panic(shapes("ReluGrad", dx, dy))
	}
	sums, masked := f32(e.Sums), f32(e.Mask)
	if !e.Add.Absent() {
		b.Axpby(dx, 1, dy, 1, e.Add)
		dy = dx
	}
	if !e.X.Absent() {
		join(sums, b.gradSums(f32(dx), f32(dy), masked, f32(e.X), f32(e.Mean), rows), 2*c, acc)
		return
	}
	grain := rowGrain(c)
	parts := scratch[float64](b, "relugrad", ceil(rows, grain)*c)
	row := scratch[float32](b, "relugrad.row", b.Threads()*c)
	split(b, rows, grain, reluGradTask{f32(dx), f32(dy), masked, parts, row, c, grain, sums != nil})
	join(sums, parts, c, acc)
}

type reluGradTask struct {
	dx, dy, y []float32
	parts     []float64 // column sums per span
	row       []float32 // one per worker
	c, grain  int
	sums      bool
}

func (t *reluGradTask) span(worker, lo, hi int) {
	part := t.parts[lo/t.grain*t.c:][:t.c]
	clear(part)
	for i := lo; i < hi; i++ {
		dy := t.dy[i*t.c:][:t.c]
		masked := t.row[worker*t.c:][:t.c]
		if t.dx != nil {
			masked = t.dx[i*t.c:][:t.c]
		}
		if t.y == nil {
			copy(masked, dy)
		} else {
			vec.Mask(masked, dy, t.y[i*t.c:][:t.c])
		}
		if t.sums {
			vec.ColumnSums(part, masked, 1, t.c)
		}
	}
}
