package cpu

import (
	"hgld/internal/vec"
	"hgld/train/device"
)

// Sums computes dst = acc·dst + the sum of x or of its squares, over all elements, each row or
// each column. It keeps float64 sums per span and joins them in order.
func (b *Backend) Sums(dst, x device.Array, k device.Sum, acc float32) {
	switch k {
	case device.SumAll, device.SquaresAll:
		b.sumAll(dst, x, k == device.SquaresAll, acc)
	case device.SumRows, device.SquaresRows:
		if dst.Len() != x.Rows() || !dst.Contiguous() {
			panic(shapes("Sums", dst, x))
		}
		split(b, x.Rows(), rowGrain(x.Cols()), sumRowsTask{f32(dst), matrixOf(x), k == device.SquaresRows, acc})
	default:
		b.sumColumns(dst, x, k == device.SquaresCols, acc)
	}
}

func (b *Backend) sumAll(dst, x device.Array, squares bool, acc float32) {
	if dst.Len() != 1 {
		panic(shapes("Sums", dst, x))
	}
	l := linesOf("Sums", x)
	parts := scratch[float64](b, "sums", (l.count+l.grain()-1)/l.grain())
	split(b, l.count, l.grain(), sumAllTask{x, parts, l, squares})
	join(f32(dst), parts, 1, acc)
}

type sumAllTask struct {
	x       device.Array
	parts   []float64 // one sum per span
	l       lines
	squares bool
}

func (t *sumAllTask) span(_, lo, hi int) {
	x, sum := f32(t.x), 0.0
	for i := lo; i < hi; i++ {
		sum += rowSum(t.l.of(x, &t.x, i), t.squares)
	}
	t.parts[lo/t.l.grain()] = sum
}

type sumRowsTask struct {
	dst     []float32
	x       matrix
	squares bool
	acc     float32
}

func (t *sumRowsTask) span(_, lo, hi int) {
	for i := lo; i < hi; i++ {
		t.dst[i] = accumulate(t.dst[i], t.acc, rowSum(t.x.row(i), t.squares))
	}
}

// rowSum returns the sum of x or of its squares.
func rowSum(x []float32, squares bool) float64 {
	if squares {
		return vec.Dot(x, x)
	}
	return vec.Sum(x)
}

func (b *Backend) sumColumns(dst, x device.Array, squares bool, acc float32) {
	rows, width, stride := rowsOf(x)
	if dst.Len() != width || !dst.Contiguous() {
		panic(shapes("Sums", dst, x))
	}
	grain := rowGrain(width)
	parts := scratch[float64](b, "sums", (rows+grain-1)/grain*width)
	split(b, rows, grain, sumColumnsTask{f32(x), parts, width, stride, grain, squares})
	join(f32(dst), parts, width, acc)
}

type sumColumnsTask struct {
	x                    []float32
	parts                []float64 // column sums per span
	width, stride, grain int
	squares              bool
}

func (t *sumColumnsTask) span(_, lo, hi int) {
	part := t.parts[lo/t.grain*t.width:][:t.width]
	clear(part)
	if t.squares {
		vec.ColumnSquares(part, t.x[lo*t.stride:], hi-lo, t.stride)
	} else {
		vec.ColumnSums(part, t.x[lo*t.stride:], hi-lo, t.stride)
	}
}

// join computes dst = acc·dst + Σ in order, where parts holds consecutive runs of width sums.
// It does nothing if dst is nil.
func join(dst []float32, parts []float64, width int, acc float32) {
	if dst == nil || width == 0 {
		return
	}
	total(parts, width)
	for i := range width {
		sum := 0.0
		if len(parts) > 0 {
			sum = parts[i]
		}
		dst[i] = accumulate(dst[i], acc, sum)
	}
}

// total adds the runs of width sums in parts to the first of them.
func total(parts []float64, width int) {
	for at := width; at < len(parts); at += width {
		for i, v := range parts[at : at+width] {
			parts[i] += v
		}
	}
}
