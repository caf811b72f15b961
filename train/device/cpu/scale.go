package cpu

import (
	"hgld/internal/vec"
	"hgld/train/device"
)

// Scale computes dst = s·x, where s is one number, or one per row or element of x. dst may be x or s.
func (b *Backend) Scale(dst, x, s device.Array) {
	if device.IsEach(s, x) {
		l := linesOf("Scale", dst, x, s)
		split(b, l.count, l.grain(), scaleEachTask{dst, x, s, l})
		return
	}
	l := linesOf("Scale", dst, x)
	if s.Len() == 1 {
		split(b, l.count, l.grain(), multiplyTask{dst: dst, x: x, a: f32(s)[0], l: l})
		return
	}
	rows, width := x.Rows(), x.Cols()
	if s.Len() != rows || !s.Contiguous() || dst.Cols() != width {
		panic(shapes("Scale", dst, x, s))
	}
	split(b, rows, rowGrain(width), scaleRowsTask{matrixOf(dst), matrixOf(x), f32(s)})
}

type multiplyTask struct {
	dst, x device.Array
	a      float32
	l      lines
}

func (t *multiplyTask) span(_, lo, hi int) {
	dst, x := f32(t.dst), f32(t.x)
	for i := lo; i < hi; i++ {
		multiply(t.l.of(dst, &t.dst, i), t.a, t.l.of(x, &t.x, i))
	}
}

type scaleEachTask struct {
	dst, x, s device.Array
	l         lines
}

func (t *scaleEachTask) span(_, lo, hi int) {
	dst, x, s := f32(t.dst), f32(t.x), f32(t.s)
	for i := lo; i < hi; i++ {
		multiplyEach(t.l.of(dst, &t.dst, i), t.l.of(x, &t.x, i), t.l.of(s, &t.s, i))
	}
}

type scaleRowsTask struct {
	dst, x matrix
	s      []float32
}

func (t *scaleRowsTask) span(_, lo, hi int) {
	for i := lo; i < hi; i++ {
		multiply(t.dst.row(i), t.s[i], t.x.row(i))
	}
}

// multiply computes dst = a·x.
func multiply(dst []float32, a float32, x []float32) { vec.Scale(dst, a, x) }

// multiplyEach computes dst = x∘s.
func multiplyEach(dst, x, s []float32) {
	dst, s = dst[:len(x)], s[:len(x)]
	for i, v := range x {
		dst[i] = v * s[i]
	}
}
