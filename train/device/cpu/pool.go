package cpu

import (
	"fmt"
	"math"

	"hgld/internal/vec"
	"hgld/train/device"
)

// pool is the geometry of a pooling, with the defaults of device.PoolShape filled in.
type pool struct {
	mode             device.PoolMode
	n, h, w, c       int // shape of x
	outH, outW       int
	sizeH, sizeW     int
	strideH, strideW int
	padH, padW       int
	positive         bool
}

func poolOf(op string, y, x device.Array, s device.PoolShape) pool {
	if x.N != 4 {
		panic(shapes(op, y, x))
	}
	p := pool{
		mode: s.Mode, n: x.Dims[0], h: x.Dims[1], w: x.Dims[2], c: x.Dims[3],
		sizeH: s.H, sizeW: s.W, strideH: max(s.StrideH, 1), strideW: max(s.StrideW, 1), padH: s.PadH, padW: s.PadW,
		positive: s.Positive,
	}
	if s.Global {
		p.sizeH, p.sizeW, p.strideH, p.strideW, p.padH, p.padW = p.h, p.w, 1, 1, 0, 0
	}
	if p.sizeH < 1 || p.sizeW < 1 || p.padH >= p.sizeH || p.padW >= p.sizeW {
		panic(fmt.Sprintf("cpu: %s: window %d×%d with padding %d×%d", op, p.sizeH, p.sizeW, p.padH, p.padW))
	}
	p.outH, p.outW = device.Windows(p.h, p.sizeH, p.strideH, p.padH, 1), device.Windows(p.w, p.sizeW, p.strideW, p.padW, 1)
	if y.Len() != p.n*p.outH*p.outW*p.c || y.Cols() != p.c || !y.Contiguous() {
		panic(shapes(op, y, x))
	}
	return p
}

// window returns the rows and columns of the image that the window of output pixel (i, j)
// covers.
func (p *pool) window(i, j int) (top, bottom, left, right int) {
	i, j = i*p.strideH-p.padH, j*p.strideW-p.padW
	return max(i, 0), min(i+p.sizeH, p.h), max(j, 0), min(j+p.sizeW, p.w)
}

// Pool computes the maximum or the mean of each window, restricted to the image. NaN exceeds
// any number.
func (b *Backend) Pool(dst, x device.Array, s device.PoolShape) {
	t := poolTask{poolOf("Pool", dst, x, s), f32(dst), f32(x)}
	split(b, t.n*t.outH, 1, t)
}

type poolTask struct {
	pool
	dst, x []float32
}

func (t *poolTask) span(_, lo, hi int) {
	for r := lo; r < hi; r++ {
		image := t.x[r/t.outH*t.h*t.w*t.c:]
		for j := range t.outW {
			t.pixel(t.dst[(r*t.outW+j)*t.c:][:t.c], image, r%t.outH, j)
		}
	}
}

func (t *poolTask) pixel(dst, image []float32, i, j int) {
	top, bottom, left, right := t.window(i, j)
	start := float32(0)
	if t.mode == device.MaxPool {
		start = float32(math.Inf(-1))
	}
	for k := range dst {
		dst[k] = start
	}
	for y := top; y < bottom; y++ {
		for x := left; x < right; x++ {
			from := image[(y*t.w+x)*t.c:][:len(dst)]
			if t.mode == device.MaxPool {
				vec.Maximum(dst, from)
			} else {
				axpby(dst, 1, dst, 1, from)
			}
		}
	}
	if t.mode == device.AvgPool {
		multiply(dst, 1/float32((bottom-top)*(right-left)), dst)
	}
}

// PoolGrad is the gradient of Pool. Among equal maxima, the first in row-major order receives
// the gradient. A thread processes whole images, because windows overlap.
func (b *Backend) PoolGrad(dx, dy, x, y device.Array, s device.PoolShape) {
	t := poolGradTask{poolOf("PoolGrad", dy, x, s), f32(dx), f32(dy), f32(x), f32(y), nil}
	if dx.Len() != x.Len() || y.Len() != dy.Len() {
		panic(shapes("PoolGrad", dx, dy, x, y))
	}
	t.rest = scratch[float32](b, "pool.rest", b.Threads()*t.c)
	split(b, t.n, 1, t)
}

type poolGradTask struct {
	pool
	dx, dy, x, y []float32
	rest         []float32 // gradient of a window, one per worker
}

func (t *poolGradTask) span(worker, lo, hi int) {
	size := t.h * t.w * t.c
	clear(t.dx[lo*size : hi*size])
	rest := t.rest[worker*t.c:][:t.c]
	for n := lo; n < hi; n++ {
		dx, x := t.dx[n*size:][:size], t.x[n*size:][:size]
		for i := range t.outH {
			for j := range t.outW {
				at := ((n*t.outH+i)*t.outW + j) * t.c
				if t.mode == device.MaxPool {
					t.toMaximum(dx, rest, x, t.dy[at:][:t.c], t.y[at:][:t.c], i, j)
				} else {
					t.toAll(dx, t.dy[at:][:t.c], i, j)
				}
			}
		}
	}
}

// toMaximum adds dy to the first of each window's maxima. rest holds the gradient that is not
// assigned yet.
func (t *poolGradTask) toMaximum(dx, rest, x, dy, y []float32, i, j int) {
	top, bottom, left, right := t.window(i, j)
	copy(rest, dy)
	if t.positive {
		vec.Mask(rest, rest, y)
	}
	for row := top; row < bottom; row++ {
		for col := left; col < right; col++ {
			at := (row*t.w + col) * t.c
			vec.Route(dx[at:][:t.c], rest, x[at:][:t.c], y)
		}
	}
}

func (t *poolGradTask) toAll(dx, dy []float32, i, j int) {
	top, bottom, left, right := t.window(i, j)
	share := 1 / float32((bottom-top)*(right-left))
	for row := top; row < bottom; row++ {
		for col := left; col < right; col++ {
			line := dx[(row*t.w+col)*t.c:][:len(dy)]
			axpby(line, 1, line, share, dy)
		}
	}
}
