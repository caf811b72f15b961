package cuda

import (
	"math"

	"hgld/internal/half"
	"hgld/train/device"
)

// Copy converts src to the type of dst. It rounds to the nearest value, ties to even.
// Conversion to integers truncates towards zero and saturates; NaN becomes 0.
func (b *Backend) Copy(dst, src device.Array) {
	l := linesOf("Copy", dst, src)
	if l.len() == 0 {
		return
	}
	if dst.Type == src.Type {
		b.copyBytes(dst, src, l)
		return
	}
	c := b.op("Copy")
	wide, each := c.byFour(dst, src)
	if wide = wide && l.rows == 1 && dst.Type == device.BF16 && src.Type == device.F32; !wide {
		each = 1
	}
	c.ptr(dst).i32(int(dst.Type)).i64(stride(dst)).ptr(src).i32(int(src.Type)).i64(stride(src)).
		i64(l.rows).i64(l.width).flag(wide).run("copy", "copy_convert", blocks(l.len(), 256*each), 256, 0)
}

// copyBytes copies between arrays of one type with the driver's copy.
func (b *Backend) copyBytes(dst, src device.Array, l lines) {
	c := b.op("Copy")
	size := dst.Type.Size()
	to, from := c.address(dst), c.address(src)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return
	}
	defer b.enter()()
	b.awaitUploads(c.marked)
	var err error
	if l.rows == 1 {
		err = b.drv.Copy(to, from, l.width*size, b.compute)
	} else {
		err = b.drv.CopyRows(Rows{
			Dst: to, DstPitch: stride(dst) * size, Src: from, SrcPitch: stride(src) * size,
			Width: l.width * size, Rows: l.rows,
		}, b.compute)
	}
	b.check("Copy", err)
	b.markUse("Copy", c.marked)
}

// Fill sets every element of dst to v, converted as in Copy.
func (b *Backend) Fill(dst device.Array, v float32) {
	l := linesOf("Fill", dst)
	name := [...]string{1: "fill_1", 2: "fill_2", 4: "fill_4"}[dst.Type.Size()]
	b.op("Fill").ptr(dst).i64(stride(dst)).i64(l.rows).i64(l.width).u32(bitsOf(dst.Type, v)).
		run("fill", name, blocks(l.len(), 256), 256, 0)
}

// bitsOf returns v in the format of type t.
func bitsOf(t device.DType, v float32) uint32 {
	clip := func(lo, hi float64) float64 {
		if v != v {
			return 0
		}
		return min(max(float64(v), lo), hi)
	}
	switch t {
	case device.BF16:
		return uint32(half.ToBF16(v))
	case device.F16:
		return uint32(half.ToF16(v))
	case device.I32:
		return uint32(int32(clip(math.MinInt32, math.MaxInt32)))
	case device.U8:
		return uint32(uint8(clip(0, 255)))
	}
	return math.Float32bits(v)
}
