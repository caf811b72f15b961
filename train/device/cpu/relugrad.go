package cpu

import (
	"hgld/internal/vec"
	"hgld/train/device"
)

// ReluGrad is the gradient of a ReLU and of the bias before it. dx is dy where y is positive,
// else 0. dbias is acc·dbias plus the column sums of dx. Either may be absent, and dx may be
// dy.
func (b *Backend) ReluGrad(dx, dbias, dy, y device.Array, acc float32) {
	rows, c := dy.Rows(), dy.Cols()
	if y.Len() != dy.Len() || y.Cols() != c || !dx.Absent() && (dx.Len() != dy.Len() || dx.Cols() != c) ||
		!isVector(dbias, c) || !dy.Contiguous() || !y.Contiguous() || !dx.Contiguous() {
		panic(shapes("ReluGrad", dx, dbias, dy, y))
	}
	grain := rowGrain(c)
	parts := scratch[float64](b, "relugrad", ceil(rows, grain)*c)
	row := scratch[float32](b, "relugrad.row", b.Threads()*c)
	split(b, rows, grain, reluGradTask{f32(dx), f32(dy), f32(y), parts, row, c, grain, !dbias.Absent()})
	join(f32(dbias), parts, c, acc)
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
		dy, y := t.dy[i*t.c:][:t.c], t.y[i*t.c:][:t.c]
		masked := t.row[worker*t.c:][:t.c]
		if t.dx != nil {
			masked = t.dx[i*t.c:][:t.c]
		}
		vec.Mask(masked, dy, y)
		if t.sums {
			vec.ColumnSums(part, masked, 1, t.c)
		}
	}
}
