package cuda

import "hgld/train/device"

// fold says how neighbouring pixels of a row are read as one pixel with all their channels, as many as the stride
// along the row. The memory of the image stays as it is, and 16 bytes are copied at once where a pixel has 8. Of the
// filters, each row of width numbers lies lead numbers behind the beginning of one of `padded`, among zeros.
type fold struct {
	rows, width, lead, padded int
	beside, step              int // copies of the filters, each so many numbers behind the one before: see pair
}

// pads reports whether the filters need zeros: not where windows begin at such pixels and end with them, as patches do.
func (f fold) pads() bool { return f.padded > f.width }

// fold folds a convolution in BF16 whose pixels have few channels, such as the 7×7 with stride 2 of an image's four
// channels, which becomes one of 7×4 with stride 2×1 and eight channels, and 16×16 patches, 16×1 with 64.
func (b *Backend) fold(o *conv, t device.DType) fold {
	by := o.strideW
	if t != device.BF16 || b.chosen.forced() || o.groups != 1 || o.dilationW != 1 || o.c%8 == 0 || o.c*by%8 != 0 ||
		o.w%by != 0 {
		return fold{}
	}
	pad := (o.padW + by - 1) / by
	lead := pad*by - o.padW
	taps := (lead + o.s + by - 1) / by
	f := fold{rows: int(o.k * o.r), width: int(o.s * o.c), lead: int(lead * o.c), padded: int(taps * by * o.c), beside: 1}
	o.c, o.w, o.s, o.strideW, o.padW = o.c*by, o.w/by, taps, 1, pad
	o.groupC = o.c
	o.byC, o.byS, o.byW = divisorOf(int(o.c)), divisorOf(int(o.s)), divisorOf(int(o.w))
	o.byHW = divisorOf(int(o.h * o.w))
	return f
}

// pair makes two neighbouring pixels of the result one with the channels of both, if these fill a tile of 128 columns,
// which takes two thirds of the time of two of 64. The filters of the second pixel begin a pixel later.
func (f *fold) pair(o *conv) {
	if !f.pads() || o.k != 64 || o.outW%2 != 0 {
		return
	}
	f.beside, f.step = 2, int(o.c)
	f.padded += f.step
	o.k, o.groupK, o.s, o.strideW, o.outW = 2*o.k, 2*o.k, o.s+1, 2*o.strideW, o.outW/2
	o.byS, o.byOutW, o.byOutHW = divisorOf(int(o.s)), divisorOf(int(o.outW)), divisorOf(int(o.outH*o.outW))
}

// padFilters writes the filters w with their zeros.
func (b *Backend) padFilters(f fold, to Address, w device.Array) {
	n, size := f.rows*f.padded, w.Type.Size()
	b.op("Conv").addr(to).i64(f.beside*n).i64(1).i64(f.beside*n).u32(0).
		run("fill", "fill_2", blocks(f.beside*n, 256), 256, 0)
	for i := range f.beside {
		b.op("Conv").addr(to+Address((f.lead+i*(n+f.step))*size)).i32(int(w.Type)).i64(f.padded).ptr(w).i32(int(w.Type)).
			i64(f.width).i64(f.rows).i64(f.width).flag(false).
			run("copy", "copy_convert", blocks(f.rows*f.width, 256), 256, 0)
	}
}

// takeFilters computes dw = acc·dw + the filters at an address, without their zeros.
func (b *Backend) takeFilters(f fold, dw device.Array, from Address, acc float32) {
	b.op("ConvGradW").ptr(dw).f32(1).addr(from+Address(4*f.lead)).f32(acc).ptr(dw).i64(f.rows).i64(f.width).
		i64(f.width).i64(f.padded).i64(f.width).i64(0).
		run("axpby", "axpby_f32", blocks(f.rows*f.width, 256), 256, 0)
}
