package cpu

import (
	"hgld/internal/vec"
	"hgld/train/device"
)

// Axpby computes dst = a·x + b·y. y has the shape of x, or its last dimensions and is then
// repeated over the others. If b is 0, y is not read and may be absent.
// dst may be x, or y of the same shape.
func (b *Backend) Axpby(dst device.Array, a float32, x device.Array, c float32, y device.Array) {
	if y.Absent() || c == 0 {
		l := linesOf("Axpby", dst, x)
		split(b, l.count, l.grain(), multiplyTask{dst: dst, x: x, a: a, l: l})
		return
	}
	if y.Len() == x.Len() {
		l := linesOf("Axpby", dst, x, y)
		split(b, l.count, l.grain(), axpbyTask{dst, x, y, a, c, l})
		return
	}
	n := y.Len()
	if !device.Trails(y, x) || !y.Contiguous() || dst.Len() != x.Len() || dst.Cols() != x.Cols() {
		panic(shapes("Axpby", dst, x, y))
	}
	if dst.N != 2 || x.N != 2 || y.N != 1 {
		dst, x = dst.Reshape(x.Len()/max(n, 1), n), x.Reshape(x.Len()/max(n, 1), n)
	}
	split(b, x.Rows(), rowGrain(n), repeatTask{dst, x, y, a, c})
}

type axpbyTask struct {
	dst, x, y device.Array
	a, b      float32
	l         lines
}

func (t *axpbyTask) span(_, lo, hi int) {
	dst, x, y := f32(t.dst), f32(t.x), f32(t.y)
	for i := lo; i < hi; i++ {
		axpby(t.l.of(dst, &t.dst, i), t.a, t.l.of(x, &t.x, i), t.b, t.l.of(y, &t.y, i))
	}
}

// repeatTask adds the one row y to every row of x.
type repeatTask struct {
	dst, x, y device.Array
	a, b      float32
}

func (t *repeatTask) span(_, lo, hi int) {
	dst, x, y := f32(t.dst), f32(t.x), f32(t.y)
	for i := lo; i < hi; i++ {
		axpby(row(dst, t.dst, i), t.a, row(x, t.x, i), t.b, y)
	}
}

// axpby computes dst = a·x + b·y.
func axpby(dst []float32, a float32, x []float32, b float32, y []float32) {
	vec.Axpby(dst, a, x, b, y)
}
