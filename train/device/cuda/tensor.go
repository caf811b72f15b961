package cuda

import "hgld/train/device"

// This file launches the products of BF16 arrays on tensor cores, matmulbf16.cu and
// convbf16.cu. MatMul, Conv and its gradients come here by the type of their arrays; tiles and
// splits are those of F32.

// tensorResult mirrors hg_result of product.h.
type tensorResult struct {
	c, add, bias, residual Address
	ld, rows, cols         int64
	alpha, beta            float32
	f32, wide, act, times  int32
}

// tensorMatMul mirrors tensor_matmul.
type tensorMatMul struct {
	c                   tensorResult
	a, b, parts         Address
	k, lda, ldb         int64
	nextA, nextB, nextC int64
	batch, splits, span int64
	unitA, unitB        int32
}

// tensorConv mirrors tensor_conv.
type tensorConv struct {
	to           tensorResult
	a, b         Address
	shape        conv
	span         int64
	unitA, unitB int32
	mask, x      Address // of ConvGradX
	mean, parts  Address
	phase        phase
	_            int32
}

// tensorShared returns the bytes of shared memory of a block: HG_STAGES stages of two
// operands of tile·HG_PITCH elements.
func tensorShared(tile int) int { return 4 * 2 * tile * 40 * 2 }

// unit returns how many elements of an operand can be copied together: 8, 4 or 1. The first
// lies at the address, and runs begin at multiples of the lengths.
func unit(at Address, lengths ...int64) int32 {
	bits := int64(at) / 2
	for _, n := range lengths {
		bits |= n
	}
	switch {
	case bits%8 == 0:
		return 8
	case bits%4 == 0:
		return 4
	}
	return 1
}

// isWide reports whether runs of eight elements of a result and of the residual begin at
// multiples of 16 bytes.
func isWide(r tensorResult, skips ...int64) int32 {
	bits := r.ld
	for _, n := range skips {
		bits |= n
	}
	return int32(index(bits%8 == 0 && (r.c|r.residual)%16 == 0))
}

// bf16 returns a. It panics if a is present and has another type.
func bf16(a device.Array) device.Array { return typed(a, device.BF16) }

// resultOf describes an array as the result of a product. It may be F32 or BF16.
func (c *call) resultOf(dst device.Array) tensorResult {
	if dst.Type != device.F32 {
		dst = bf16(dst)
	}
	return tensorResult{c: c.address(dst), f32: int32(index(dst.Type == device.F32)), alpha: 1}
}

// matMulKernels are the kernels by tile and transposition.
var matMulKernels = map[int][2][2]string{
	64:  {{"matmul_nn_64_bf16", "matmul_nt_64_bf16"}, {"matmul_tn_64_bf16", "matmul_tt_64_bf16"}},
	128: {{"matmul_nn_128_bf16", "matmul_nt_128_bf16"}, {"matmul_tn_128_bf16", "matmul_tt_128_bf16"}},
}

// units returns how many elements of each operand can be copied together, if they lie at x and y.
func (o *matmul) units(x, y Address, m device.Mul) (a, b int32) {
	along := func(transposed bool, ofRows int64) int64 { // the length that is contiguous in memory
		if transposed {
			return ofRows
		}
		return o.k
	}
	return unit(x, o.lda, o.nextA, along(m.TransA, o.m)), unit(y, o.ldb, o.nextB, along(!m.TransB, o.n))
}

// tensorMatMul launches the product that m and o describe.
func (b *Backend) tensorMatMul(op string, dst, x, y device.Array, m device.Mul, o matmul, t tiling) {
	rows, cols, inner, batch := int(o.m), int(o.n), int(o.k), int(o.batch)
	p := tensorMatMul{
		k: o.k, lda: o.lda, ldb: o.ldb, nextA: o.nextA, nextB: o.nextB, nextC: o.nextC, batch: o.batch,
		splits: 1, span: max(o.k, 1),
	}
	if t.splits > 1 {
		p.span = int64(blocks(inner, t.splits*splitUnit) * splitUnit)
		p.splits = int64(blocks(inner, int(p.span)))
		p.parts = b.scratch(op, 4*int(p.splits)*batch*rows*cols)[0]
	}
	c := b.op(op)
	p.c = c.resultOf(dst)
	p.c.bias, p.c.ld, p.c.rows, p.c.cols = c.address(f32(m.Bias)), o.ldc, o.m, o.n
	p.c.alpha, p.c.beta, p.c.act = m.Alpha, m.Beta, int32(known(m.Act))
	if m.Beta == 1 && dst.Type == device.BF16 { // eight elements are read at a time then
		p.c.beta, p.c.residual = 0, c.address(m.Add)
	} else if m.Beta != 0 {
		p.c.add = c.address(m.Add)
	}
	if !m.Factor.Absent() && dst.Type == device.BF16 {
		p.c.times, p.c.residual = 1, c.address(m.Factor)
	}
	p.c.wide = isWide(p.c, o.nextC)
	p.a, p.b = c.address(bf16(x)), c.address(bf16(y))
	p.unitA, p.unitB = o.units(p.a, p.b, m)
	name := matMulKernels[t.tile][index(m.TransA)][index(m.TransB)]
	grid := blocks(rows, t.tile) * blocks(cols, t.tile) * batch * int(p.splits)
	structure(c, &p).run("matmulbf16", name, grid, 256, tensorShared(t.tile))
	if p.splits > 1 {
		structure(b.op(op), &p).run("matmulbf16", "matmul_join_bf16", blocks(batch*rows*cols, 256), 256, 0)
	}
	if p.c.times == 0 {
		b.times(dst, m.Factor)
	}
}

// tensorConvKernels maps the side of a tile to its kernels.
var tensorConvKernels = map[int]struct{ forward, gradX, gradW string }{
	64:  {"conv_64_bf16", "conv_gradx_64_bf16", "conv_gradw_64_bf16"},
	128: {"conv_128_bf16", "conv_gradx_128_bf16", "conv_gradw_128_bf16"},
}

// tensorConv launches Conv. The filters are in w, or at filters if that is not 0, and the bias likewise.
func (b *Backend) tensorConv(dst, x, w device.Array, filters, bias Address, o conv, e device.Epilogue, parts Address,
	tile int) {
	rows, cols, inner := o.product()
	c := b.op("Conv")
	p := tensorConv{to: c.resultOf(bf16(dst)), a: c.address(bf16(x)), b: filters, shape: o, parts: parts}
	if filters == 0 {
		p.b = c.address(bf16(w))
	}
	p.to.bias, p.to.residual, p.to.act = c.address(f32(e.Bias)), c.address(bf16(e.Residual)), int32(known(e.Act))
	if bias != 0 {
		p.to.bias = bias
	}
	p.to.ld, p.to.rows, p.to.cols = int64(o.k), int64(rows), int64(cols)
	p.to.wide = isWide(p.to, int64(cols))
	p.unitA, p.unitB = unit(p.a, int64(o.c/o.groups)), unit(p.b, int64(inner))
	structure(c, &p).run("convbf16", tensorConvKernels[tile].forward,
		blocks(rows, tile)*blocks(cols, tile)*int(o.groups), 256, tensorShared(tile))
}

// tensorConvGradX launches ConvGradX for a phase.
func (b *Backend) tensorConvGradX(dx, dy, w device.Array, o *convPhase, e device.GradEpilogue, parts Address) {
	rows, cols, _ := o.productX()
	c := b.op("ConvGradX")
	p := tensorConv{to: c.resultOf(bf16(dx)), a: c.address(bf16(dy)), shape: o.conv, phase: o.phase}
	p.b = c.address(bf16(w)) + Address(2*o.firstTap*cols)
	p.to.residual, p.mask, p.parts = c.address(bf16(e.Add)), c.address(bf16(e.Mask)), parts
	p.x, p.mean = c.address(bf16(e.X)), c.address(f32(e.Mean))
	p.to.ld, p.to.rows, p.to.cols = int64(o.c), int64(rows), int64(cols)
	if (p.mask|p.x)%16 == 0 {
		p.to.wide = isWide(p.to, int64(cols))
	}
	p.unitA, p.unitB = unit(p.a, int64(o.k/o.groups)), unit(p.b, int64(cols))
	structure(c, &p).run("convbf16", tensorConvKernels[o.tile].gradX,
		blocks(rows, o.tile)*blocks(cols, o.tile)*int(o.groups), 256, tensorShared(o.tile))
}

// tensorConvGradW launches the products of ConvGradW, of span pixels each.
func (b *Backend) tensorConvGradW(parts Address, dy, x device.Array, o conv, span, grid, tile int) {
	rows, cols, _ := o.productW()
	c := b.op("ConvGradW")
	p := tensorConv{a: c.address(bf16(dy)), b: c.address(bf16(x)), shape: o, span: int64(span)}
	p.to = tensorResult{c: parts, f32: 1, alpha: 1, ld: int64(cols), rows: int64(rows), cols: int64(cols)}
	p.to.wide = isWide(p.to)
	p.unitA, p.unitB = unit(p.a, int64(rows)), unit(p.b, int64(o.c/o.groups))
	structure(c, &p).run("convbf16", tensorConvKernels[tile].gradW, grid, 256, tensorShared(tile))
}
