package cuda

import (
	"fmt"
	"math"
	"math/bits"

	"hgld/train/device"
)

// conv mirrors hg_conv of conv.h.
type conv struct {
	n, h, w, c, k, r, s, outH, outW                            int32
	strideH, strideW, padH, padW, dilationH, dilationW, groups int32
	groupC, groupK                                             int32
	byC, byK, byS, byW, byHW, byOutW, byOutHW                  divisor
}

// divisor mirrors hg_divisor of conv.h: ⌊n/d⌋ = ⌊2n·factor/2³²⌋ >> shift for n < 2³¹.
type divisor struct{ factor, shift uint32 }

// divisorOf returns the divisor for 1 ≤ d < 2³¹, with shift = ⌈log₂ d⌉ and factor = ⌈2^(31+shift)/d⌉:
// what factor is too large, less than one, then adds less than 1/d to n/d (Granlund and Montgomery,
// "Division by invariant integers using multiplication", PLDI 1994).
func divisorOf(d int) divisor {
	shift := bits.Len32(uint32(d) - 1)
	return divisor{uint32((uint64(1)<<(31+shift) + uint64(d) - 1) / uint64(d)), uint32(shift)}
}

// epilogue mirrors the structure in conv.cu.
type epilogue struct {
	bias, residual Address
	relu           int32
	_              int32
	parts          Address
}

// gradEpilogue mirrors grad_epilogue in conv.cu.
type gradEpilogue struct {
	add, mask, x, mean, parts Address
	phase                     phase
	_                         int32
}

// convOf checks the arrays of a convolution. y is [N, outH, outW, K].
func convOf(op string, y, x, w device.Array, shape device.ConvShape) conv {
	one := func(v int) int { return max(v, 1) }
	groups := one(shape.Groups)
	if y.N != 4 || x.N != 4 || w.N != 4 || x.Dims[3]%groups != 0 || w.Dims[0]%groups != 0 {
		panic(shapes(op, y, x, w))
	}
	outH := device.Windows(x.Dims[1], w.Dims[1], shape.StrideH, shape.PadH, shape.DilationH)
	outW := device.Windows(x.Dims[2], w.Dims[2], shape.StrideW, shape.PadW, shape.DilationW)
	if y.Dims != [4]int{x.Dims[0], outH, outW, w.Dims[0]} || w.Dims[3] != x.Dims[3]/groups || outH < 1 || outW < 1 {
		panic(shapes(op, y, x, w) + fmt.Sprintf(" with %+v", shape))
	}
	if max(x.Dims[0]*x.Dims[1]*x.Dims[2], x.Dims[0]*outH*outW,
		w.Dims[1]*w.Dims[2]*max(w.Dims[0], w.Dims[3])) > math.MaxInt32 {
		panic(shapes(op, y, x, w) + ": more than 2³¹ pixels")
	}
	if max(x.Dims[1]+2*shape.PadH, x.Dims[2]+2*shape.PadW) > 1<<30 { // see HG_OUTSIDE of conv.h
		panic(shapes(op, y, x, w) + fmt.Sprintf(": sides of more than 2³⁰ pixels with %+v", shape))
	}
	return conv{
		groupC: int32(w.Dims[3]), groupK: int32(w.Dims[0] / groups),
		byC: divisorOf(one(w.Dims[3])), byK: divisorOf(one(w.Dims[0] / groups)), byS: divisorOf(one(w.Dims[2])),
		byW: divisorOf(one(x.Dims[2])), byHW: divisorOf(one(x.Dims[1] * x.Dims[2])),
		byOutW: divisorOf(outW), byOutHW: divisorOf(outH * outW),
		n: int32(x.Dims[0]), h: int32(x.Dims[1]), w: int32(x.Dims[2]), c: int32(x.Dims[3]),
		k: int32(w.Dims[0]), r: int32(w.Dims[1]), s: int32(w.Dims[2]), outH: int32(outH), outW: int32(outW),
		strideH: int32(one(shape.StrideH)), strideW: int32(one(shape.StrideW)), padH: int32(shape.PadH),
		padW:      int32(shape.PadW),
		dilationH: int32(one(shape.DilationH)), dilationW: int32(one(shape.DilationW)), groups: int32(groups),
	}
}

// product returns the rows, columns and inner length of one group's matrix product, and the
// number of groups. The convolution and its gradients by x and w are such products.
func (o *conv) product() (rows, cols, inner int) {
	return int(o.n * o.outH * o.outW), int(o.k / o.groups), int(o.r * o.s * (o.c / o.groups))
}

// productX is that of a phase, or of all pixels if the strides are 1.
func (o *conv) productX() (rows, cols, inner int) {
	return int(o.n * o.h * o.w), int(o.c / o.groups), int(o.r * o.s * (o.k / o.groups))
}

func (o *conv) productW() (rows, cols, inner int) {
	return int(o.k / o.groups), int(o.r * o.s * (o.c / o.groups)), int(o.n * o.outH * o.outW)
}

// Conv computes the cross-correlation of x with filters w, followed by the epilogue.
func (b *Backend) Conv(dst, x, w device.Array, shape device.ConvShape, e device.Epilogue) {
	b.choose(x.Type, choosable{
		shape:     func() string { return shapeText("Conv", dst, x, w, shape, e.Bias, e.Residual, e.Act, e.Stats) },
		libraries: []string{byDnn},
		writes:    []device.Array{dst, e.Stats},
		run: func(to writes) {
			e := e
			e.Stats = to(e.Stats)
			b.conv(to(dst), x, w, shape, e)
		},
	})
}

func (b *Backend) conv(dst, x, w device.Array, shape device.ConvShape, e device.Epilogue) {
	o := convOf("Conv", dst, x, w, shape)
	f := b.fold(&o, x.Type)
	if !device.AreVectors(int(o.k), e.Bias) || !e.Residual.Absent() && e.Residual.Len() != dst.Len() ||
		!device.AreVectors(2*int(o.k), e.Stats) {
		panic(shapes("Conv", dst, x, w, e.Bias, e.Residual, e.Stats))
	}
	if b.convolveByVendor(&o, f, dst, x, w, e) {
		if !e.Stats.Absent() {
			b.statistics("Conv", e.Stats, dst)
		}
		return
	}
	f.pair(&o)
	rows, cols, inner := o.product()
	tile := b.chosen.tile(b.filling(x.Type), rows, cols, int(o.groups))
	down, k := blocks(rows, tile), int(o.k)
	beside := max(f.beside, 1)
	fused := !e.Stats.Absent() && (x.Type == device.BF16 || e.Act == device.Identity || e.Act == device.ReLU)
	var parts, more, filters, bias Address
	sizes := [4]int{0, 0, x.Type.Size() * inner * k * index(f.pads()), 4 * k * (beside - 1)}
	if fused {
		sizes[0], sizes[1] = 16*down*k, joinedMoments(beside*down, k/beside)
	}
	at := b.scratch("Conv", sizes[:]...)
	if fused {
		parts, more = at[0], at[1]
	}
	if x.Type == device.BF16 {
		if f.pads() {
			filters = at[2]
			b.padFilters(f, filters, w)
		}
		if beside > 1 && !e.Bias.Absent() {
			bias = at[3]
			b.op("Conv").addr(bias).i32(int(device.F32)).i64(k/beside).ptr(f32(e.Bias)).i32(int(device.F32)).i64(0).
				i64(beside).i64(k/beside).flag(false).run("copy", "copy_convert", blocks(k, 256), 256, 0)
		}
		b.tensorConv(dst, x, w, filters, bias, o, e, parts, tile)
	} else {
		c := b.op("Conv")
		after := epilogue{bias: c.address(f32(e.Bias)), residual: c.address(f32(e.Residual)), relu: relu(e.Act), parts: parts}
		c.ptr(f32(dst)).ptr(f32(x)).ptr(f32(w))
		structure(structure(c, &o), &after).
			run("conv", convKernels[tile].forward, down*blocks(cols, tile)*int(o.groups), 256, 0)
		b.activate(dst, e.Act)
	}
	switch {
	case fused:
		b.joinMoments("Conv", e.Stats, parts, more, beside*down, tile, rows, k/beside, beside)
	case !e.Stats.Absent():
		b.statistics("Conv", e.Stats, dst)
	}
}

// convKernels maps the side of a tile to its kernels.
var convKernels = map[int]struct{ forward, gradX, gradW string }{
	64:  {"conv_64", "conv_gradx_64", "conv_gradw_64"},
	128: {"conv_128", "conv_gradx_128", "conv_gradw_128"},
}

// ConvGradX computes the gradient of Conv with respect to x, followed by the epilogue.
func (b *Backend) ConvGradX(dx, dy, w device.Array, shape device.ConvShape, e device.GradEpilogue) {
	b.choose(dy.Type, choosable{
		shape: func() string {
			return shapeText("ConvGradX", dx, dy, w, shape, e.Add, e.Add == dx, e.Mask, e.Sums, e.X)
		},
		libraries: []string{byDnn},
		writes:    []device.Array{dx, e.Sums},
		run: func(to writes) {
			e := e
			if e.Add == dx {
				e.Add = to(dx)
			}
			e.Sums = to(e.Sums)
			b.convGradX(to(dx), dy, w, shape, e)
		},
	})
}

func (b *Backend) convGradX(dx, dy, w device.Array, shape device.ConvShape, e device.GradEpilogue) {
	o := convOf("ConvGradX", dy, dx, w, shape)
	if !e.Fits(dx) {
		panic(shapes("ConvGradX", dx, e.Add, e.Mask, e.X, e.Sums, e.Mean))
	}
	if b.gradXByVendor(&o, dx, dy, w, e) {
		return
	}
	of := o.phases()
	down, n := 0, e.Sums.Len() // 0 if absent
	for i := range of {
		rows, cols, _ := of[i].productX()
		of[i].tile = b.chosen.tile(b.filling(dx.Type), rows, cols, int(o.groups))
		down += blocks(rows, of[i].tile)
	}
	var parts Address
	if n > 0 {
		parts = b.scratch("ConvGradX", 8*down*n)[0]
	}
	at := parts
	for i := range of {
		p := &of[i]
		rows, cols, _ := p.productX()
		if dx.Type == device.BF16 {
			b.tensorConvGradX(dx, dy, w, p, e, at)
		} else {
			c := b.op("ConvGradX")
			after := gradEpilogue{
				add: c.address(f32(e.Add)), mask: c.address(f32(e.Mask)), x: c.address(f32(e.X)),
				mean: c.address(f32(e.Mean)), parts: at, phase: p.phase,
			}
			c.ptr(f32(dx)).ptr(f32(dy)).addr(c.address(f32(w)) + Address(4*p.firstTap*int(o.groupC)))
			structure(structure(c, &p.conv), &after).
				run("conv", convKernels[p.tile].gradX, blocks(rows, p.tile)*blocks(cols, p.tile)*int(o.groups), 256, 0)
		}
		at += Address(8 * blocks(rows, p.tile) * n)
	}
	b.join("ConvGradX", e.Sums, 0, parts, n, down, n)
}

// ConvGradW computes dw = acc·dw + the gradient of Conv with respect to w.
func (b *Backend) ConvGradW(dw, dy, x device.Array, shape device.ConvShape, acc float32) {
	b.choose(x.Type, choosable{
		shape:     func() string { return shapeText("ConvGradW", dw, dy, x, shape, acc != 0) },
		libraries: []string{byDnn, byBlas},
		writes:    []device.Array{dw},
		run:       func(to writes) { b.convGradW(to(dw), dy, x, shape, acc) },
	})
}

func (b *Backend) convGradW(dw, dy, x device.Array, shape device.ConvShape, acc float32) {
	o := convOf("ConvGradW", dy, x, dw, shape)
	f := b.fold(&o, x.Type)
	product := x.Type == device.BF16 && o.pointwise()
	if !(product && b.shortSum(&o)) && b.gradWByVendor(&o, f, dw, dy, x, acc) {
		return
	}
	if product {
		b.productGradW(&o, dw, dy, x, acc)
		return
	}
	rows, cols, inner := o.productW()
	t := b.chosen.tiling(b.filling(x.Type), rows, cols, inner, int(o.groups))
	reach := blocks(inner, t.splits*splitUnit) * splitUnit
	splits := blocks(inner, reach)
	n := rows * cols * int(o.groups)
	at := b.scratch("ConvGradW", 4*splits*n, 4*n*index(f.pads()))
	parts := at[0]
	grid := blocks(rows, t.tile) * blocks(cols, t.tile) * int(o.groups) * splits
	if x.Type == device.BF16 {
		b.tensorConvGradW(parts, dy, x, o, reach, grid, t.tile)
	} else {
		c := b.op("ConvGradW").addr(parts).ptr(f32(dy)).ptr(f32(x))
		structure(c, &o).i64(reach).run("conv", convKernels[t.tile].gradW, grid, 256, 0)
	}
	if f.pads() {
		b.op("ConvGradW").addr(at[1]).f32(0).addr(parts).i64(splits).i64(n).
			run("conv", "conv_join", blocks(n, 256), 256, 0)
		b.takeFilters(f, f32(dw), at[1], acc)
		return
	}
	b.op("ConvGradW").ptr(f32(dw)).f32(acc).addr(parts).i64(splits).i64(n).
		run("conv", "conv_join", blocks(n, 256), 256, 0)
}

// pointwise reports whether each pixel of y depends on the same pixel of x alone.
func (o *conv) pointwise() bool {
	return o.r*o.s*o.strideH*o.strideW*o.groups == 1 && o.padH+o.padW == 0
}

// shortSum reports whether cuBLASLt computes a gradient by w, with a result in F32: up to 65,536 pixels. It was
// measured with 50,432, where it takes as long as cuDNN with a result in BF16.
func (b *Backend) shortSum(o *conv) bool {
	_, _, inner := o.productW()
	by, _ := b.chosen.Way.by()
	return by == byBlas || b.chosen.Way == byRules && inner <= 1<<16
}

// productGradW computes dw = acc·dw + dyᵀ·x. As a product it takes fewer instructions than as the gradient
// of a convolution.
func (b *Backend) productGradW(o *conv, dw, dy, x device.Array, acc float32) {
	rows, cols, inner := o.productW()
	matrix := func(a device.Array, rows, cols int) device.Array {
		a.N, a.Dims = 2, [4]int{rows, cols}
		return a
	}
	dw, dy, x = matrix(dw, rows, cols), matrix(dy, inner, rows), matrix(x, inner, cols)
	m := device.Mul{TransA: true, Alpha: 1, Beta: acc, Add: dw}
	p := matmul{
		m: int64(rows), n: int64(cols), k: int64(inner), batch: 1,
		lda: int64(rows), ldb: int64(cols), ldc: int64(cols), alpha: 1, beta: acc,
	}
	if b.shortSum(o) && b.multiplyByVendor(dw, dy, x, m, p) {
		return
	}
	b.multiply("ConvGradW", dw, dy, x, m, p, b.tilingOf(&p, x.Type))
}
