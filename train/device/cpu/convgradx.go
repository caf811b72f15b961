package cpu

import "hgld/train/device"

// ConvGradX computes the gradient of Conv by x, followed by the epilogue e. An input pixel y
// receives
//
//	dx[y] = Σ over taps r with (y + pad − r·dilation) divisible by stride
//	        of w[·,r,·]ᵀ · dy[(y + pad − r·dilation)/stride]
//
// The taps that qualify depend on y modulo the stride. The pixels of each residue therefore
// form a convolution of their own over dy, with stride 1. Each dx is written once, by one
// thread.
func (b *Backend) ConvGradX(dx, dy, w device.Array, shape device.ConvShape, e device.GradEpilogue) {
	c := convOf("ConvGradX", dy, dx, w, shape)
	if !e.Fits(dx) {
		panic(shapes("ConvGradX", dx, e.Add, e.Mask, e.X, e.Sums, e.Mean))
	}
	if few := c.n*c.h*c.w <= fewPixels && !e.Mask.Absent(); few || !e.X.Absent() {
		// If there are few pixels, tiles are narrow and dx is in a cache: whole rows are faster
		// afterwards. Sums along X are a pass of their own in any case.
		now, later := device.GradEpilogue{Add: e.Add}, e
		later.Add = device.Array{}
		if !few {
			now.Mask, later.Mask = e.Mask, device.Array{}
		}
		b.ConvGradX(dx, dy, w, shape, now)
		if few {
			b.ReluGrad(dx, dx, later, 0)
		} else {
			b.ReluGrad(device.Array{}, dx, later, 0)
		}
		return
	}
	var sums []float64
	if !e.Sums.Absent() {
		sums = scratch[float64](b, "convgrad.sums", c.c)
		clear(sums)
	}
	end := convolution{
		out: f32(dx), residual: f32(e.Add), mask: f32(e.Mask), sums: sums,
		onto: e.Add.Buf == dx.Buf && e.Add.Off == dx.Off,
	}
	for g := range c.groups {
		for atH := range min(c.strideH, c.h) {
			for atW := range min(c.strideW, c.w) {
				b.convGradPhase(&c, end, f32(dy), f32(w), g, atH, atW)
			}
		}
	}
	join(f32(e.Sums), sums, c.c, 0)
}

// convGradPhase computes the pixels (atH, atW) modulo the strides of group g. conv has what is
// the same for all.
func (b *Backend) convGradPhase(c *conv, conv convolution, dy, w []float32, g, atH, atW int) {
	inGroup := c.k / c.groups
	taps := scratch[tap](b, "convgrad.taps", c.r*c.s)[:0]
	from := scratch[int](b, "convgrad.from", c.r*c.s)[:0]
	for r := c.r - 1; r >= 0; r-- { // backwards, so that the pixels of dy are read in rising order
		fromH := atH + c.padH - r*c.dilationH
		for s := c.s - 1; s >= 0; s-- {
			fromW := atW + c.padW - s*c.dilationW
			if fromH%c.strideH == 0 && fromW%c.strideW == 0 {
				taps = append(taps, tap{fromH / c.strideH, fromW / c.strideW})
				from = append(from, r*c.s+s)
			}
		}
	}
	conv.in = patches{
		src: dy, images: c.n, h: c.outH, w: c.outW, c: c.k, first: g * inGroup, chans: inGroup,
		outH: ceil(c.h-atH, c.strideH), outW: ceil(c.w-atW, c.strideW), stepH: 1, stepW: 1, taps: taps,
	}.joined(b)
	conv.w, conv.ldW, conv.from = w[g*inGroup*c.r*c.s*c.cg:], c.r*c.s*c.cg, from
	conv.channels, conv.first, conv.n = c.c, g*c.cg, c.cg
	if c.strideH > 1 || c.strideW > 1 {
		p := &scratch[place](b, "convgrad.place", 1)[0]
		*p = place{c.h, c.w, c.strideH, c.strideW, atH, atW}
		conv.place = p
	}
	b.convolve(conv)
}

// flipTask copies filters [k, taps, c], which lie ld apart, to [taps, k, c] for the taps in
// from.
type flipTask struct {
	dst, src []float32
	from     []int
	k, ld, c int
}

func (t *flipTask) span(_, lo, hi int) {
	for i := lo; i < hi; i++ {
		copy(t.dst[i*t.c:(i+1)*t.c], t.src[i%t.k*t.ld+t.from[i/t.k]*t.c:])
	}
}
