package cuda

import (
	"fmt"

	"hgld/train/device"
)

// pool is the argument of the kernels of pool.cu.
type pool struct {
	n, h, w, c, outH, outW, sizeH, sizeW, strideH, strideW, padH, padW, average, positive int32
}

func poolOf(op string, y, x device.Array, s device.PoolShape) pool {
	if x.N != 4 {
		panic(shapes(op, y, x))
	}
	h, w := x.Dims[1], x.Dims[2]
	strideH, strideW := max(s.StrideH, 1), max(s.StrideW, 1)
	if s.Global {
		s.H, s.W, strideH, strideW, s.PadH, s.PadW = h, w, 1, 1, 0, 0
	}
	if s.H < 1 || s.W < 1 || s.PadH >= s.H || s.PadW >= s.W {
		panic(fmt.Sprintf("cuda: %s: window %d×%d with padding %d×%d", op, s.H, s.W, s.PadH, s.PadW))
	}
	outH, outW := device.Windows(h, s.H, strideH, s.PadH, 1), device.Windows(w, s.W, strideW, s.PadW, 1)
	if y.Len() != x.Dims[0]*outH*outW*x.Dims[3] || y.Cols() != x.Dims[3] || !y.Contiguous() {
		panic(shapes(op, y, x))
	}
	p := pool{
		n: int32(x.Dims[0]), h: int32(h), w: int32(w), c: int32(x.Dims[3]), outH: int32(outH), outW: int32(outW),
		sizeH: int32(s.H), sizeW: int32(s.W), strideH: int32(strideH), strideW: int32(strideW),
		padH: int32(s.PadH), padW: int32(s.PadW),
	}
	if s.Mode == device.AvgPool {
		p.average = 1
	}
	p.positive = int32(index(s.Positive))
	return p
}

// Pool computes the maximum or the mean of each window.
func (b *Backend) Pool(dst, x device.Array, s device.PoolShape) {
	o := poolOf("Pool", dst, x, s)
	c := b.op("Pool")
	wide, each := c.byChannel(dst, x)
	structure(c.active(dst).active(x), &o).flag(wide).run("pool", "pool", blocks(dst.Len(), 256*each), 256, 0)
}

// PoolGrad is the gradient of Pool. Among equal maxima, the first in row-major order receives
// the gradient.
func (b *Backend) PoolGrad(dx, dy, x, y device.Array, s device.PoolShape) {
	o := poolOf("PoolGrad", dy, x, s)
	if dx.Len() != x.Len() || y.Len() != dy.Len() {
		panic(shapes("PoolGrad", dx, dy, x, y))
	}
	const op = "PoolGrad"
	wide, each := b.op(op).byChannel(x, dx, dy, y)
	var places Address // of each window's first maximum, in a byte where that suffices
	small := o.sizeH*o.sizeW <= 255
	if o.average == 0 {
		size := 4
		if small {
			size = 1
		}
		places = b.scratch(op, size*dy.Len())[0]
		structure(b.op(op).addr(places).active(x).active(y), &o).flag(wide).flag(small).
			run("pool", "pool_firsts", blocks(dy.Len(), 256*each), 256, 0)
	}
	structure(b.op(op).active(dx).active(dy).addr(places), &o).flag(wide).flag(small).
		run("pool", "pool_grad", blocks(dx.Len(), 256*each), 256, 0)
}
