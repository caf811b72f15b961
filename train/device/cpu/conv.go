package cpu

import (
	"hgld/internal/blas"
	"hgld/internal/vec"
	"hgld/train/device"
)

// Conv computes the cross-correlation of x [N,H,W,C] with filters w [K,R,S,C/groups],
//
//	dst[n,i,j,k] = Act(Σ_{r,s,c} x[n, i·stride + r·dilation − pad, …, c]·w[k,r,s,c]
//	               + bias[k] + residual[n,i,j,k])
//
// as the product of the patches of x with the filters, group by group.
func (b *Backend) Conv(dst, x, w device.Array, shape device.ConvShape, e device.Epilogue) {
	c := convOf("Conv", dst, x, w, shape)
	if !device.AreVectors(c.k, e.Bias) || !device.AreVectors(2*c.k, e.Stats) ||
		!e.Residual.Absent() && e.Residual.Len() != dst.Len() {
		panic(shapes("Conv", dst, x, w, e.Bias, e.Residual, e.Stats))
	}
	filters, inGroup := f32(w), c.k/c.groups
	taps := c.r * c.s * c.cg
	for g := range c.groups {
		b.convolve(convolution{
			in: c.forward(b, f32(x), g),
			w:  filters[g*inGroup*taps:], ldW: taps,
			out: f32(dst), channels: c.k, first: g * inGroup, n: inGroup,
			bias: f32(e.Bias), residual: f32(e.Residual), act: e.Act,
		})
	}
	if !e.Stats.Absent() {
		b.channelStats(f32(e.Stats), f32(dst), dst.Rows(), c.k)
	}
}

// convolution is one group of a convolution: the product of patches and weights, computed
// in tiles of output pixels.
type convolution struct {
	lib blas.Library
	in  patches
	w   []float32 // [n, cols]; or, with from, as below
	ldW int

	// If set, this computes the gradient of a convolution: column (t, c) of the patches is
	// multiplied with the n weights at c·ldW + from[t]·n
	from []int

	out                []float32
	channels, first, n int    // of an output pixel; the n from first are written
	place              *place // places of the output pixels; nil: contiguous

	// The epilogue, in this order. residual and mask are laid out as out.
	bias, residual []float32
	onto           bool // residual is out
	act            device.Func
	mask           []float32 // results of a ReLU: where one is not positive, out is zero
	sums           []float64 // the column sums of out are added to them

	tile     int       // output pixels of a tile
	buf, acc []float32 // for each worker: patches of a tile; products to be placed
	parts    []float64 // column sums of out for each row of tiles
}

// place spreads output pixels over a larger image of h × w pixels. Pixel (i, j) of the
// patches goes to (i·stepH + atH, j·stepW + atW).
type place struct{ h, w, stepH, stepW, atH, atW int }

// convolve computes a convolution.
func (b *Backend) convolve(c convolution) {
	if lib, ok := b.blas.(blas.Panels); ok {
		b.convolvePanels(c, lib)
		return
	}
	b.convolvePlain(c)
}

// convolvePlain defines what convolvePanels computes, and works with any BLAS. It copies
// all patches of a tile and multiplies them at once.
func (b *Backend) convolvePlain(c convolution) {
	c.lib = b.blas
	rows, cols := c.in.rows(), c.in.cols()
	if c.from != nil {
		flipped := scratch[float32](b, "conv.flipped", cols*c.n)
		split(b, cols, rowGrain(c.n), flipTask{flipped, c.w, c.from, c.in.chans, c.ldW, c.n})
		c.w, c.ldW = flipped, c.n
	}
	c.tile = pixelTile(rows, cols)
	if !c.in.direct() {
		c.buf = scratch[float32](b, "conv.patches", b.Threads()*c.tile*cols)
	}
	if c.apart() {
		c.acc = scratch[float32](b, "conv.products", b.Threads()*c.tile*c.n)
	}
	c.beginSums(b)
	split(b, rows, c.tile, c)
	c.endSums()
}

// pixelTile returns the number of output pixels in a tile, a multiple of 48 (see
// tileShape). The patches of a tile have at most 1 MiB. If there are enough pixels, the
// threads share at least 16 tiles.
func pixelTile(rows, cols int) int {
	most := min(384, (1<<18)/max(cols, 1), ceil(rows, 16))
	return max(48, most/48*48)
}

func (c *convolution) span(worker, lo, hi int) {
	cols := c.in.cols()
	var buf []float32
	if c.buf != nil {
		buf = c.buf[worker*c.tile*cols:][:c.tile*cols]
	}
	rows, ld := c.in.fill(buf, lo, hi, c.in.all())
	out, ldOut := c.out[lo*c.channels+c.first:], c.channels
	if c.apart() {
		out, ldOut = c.acc[worker*c.tile*c.n:][:c.tile*c.n], c.n
	}
	c.lib.Sgemm(false, c.from == nil, hi-lo, c.n, cols, 1, rows, ld, c.w, c.ldW, 0, out, ldOut)
	c.finish(out, ldOut, lo, hi, 0, c.n)
}

// apart reports whether products are computed in separate memory and then copied to their
// pixels.
func (c *convolution) apart() bool { return c.place != nil || c.onto }

// beginSums makes room for the sums of each row of tiles.
func (c *convolution) beginSums(b *Backend) {
	if c.sums != nil {
		c.parts = scratch[float64](b, "conv.sums", ceil(c.in.rows(), c.tile)*c.n)
	}
}

// endSums adds them up in order.
func (c *convolution) endSums() {
	for at := 0; at < len(c.parts); at += c.n {
		for i, v := range c.parts[at : at+c.n] {
			c.sums[c.first+i] += v
		}
	}
}

// summedRows is the number of rows whose columns are summed at a time.
const summedRows = 8

// finish applies the epilogue to filters [j, j+n) of output pixels [lo, hi), a tile. Their
// products lie ld apart, in memory of their own or where they belong in out.
func (c *convolution) finish(products []float32, ld, lo, hi, j, n int) {
	apart := c.apart()
	if !apart && c.bias == nil && c.residual == nil && c.act == device.Identity && c.mask == nil && c.sums == nil {
		return
	}
	var sums []float64
	if c.sums != nil {
		sums = c.parts[lo/c.tile*c.n+j:][:n]
		clear(sums)
	}
	for r := lo; r < hi; r++ {
		at := r
		if c.place != nil {
			at = c.place.pixel(&c.in, r)
		}
		at = at*c.channels + c.first + j
		line, product := c.out[at:][:n], products[(r-lo)*ld:][:n]
		if c.bias != nil {
			axpby(line, 1, product, 1, c.bias[c.first+j:][:n])
			product = line
		}
		switch {
		case c.residual != nil:
			axpby(line, 1, product, 1, c.residual[at:][:n])
		case apart:
			copy(line, product)
		}
		if c.act != device.Identity {
			activate(line, line, c.act)
		}
		if c.mask != nil {
			vec.Mask(line, line, c.mask[at:][:n])
		}
		switch {
		case sums == nil:
		case c.place != nil:
			vec.ColumnSums(sums, line, 1, n)
		case (r+1-lo)%summedRows == 0 || r+1 == hi: // the rows since the last sum are in the cache
			rows := (r-lo)%summedRows + 1
			vec.ColumnSums(sums, c.out[at-(rows-1)*c.channels:], rows, c.channels)
		}
	}
}

// pixel returns where row r of the patches lies in the larger image.
func (p *place) pixel(in *patches, r int) int {
	image, at := r/(in.outH*in.outW), r%(in.outH*in.outW)
	i, j := at/in.outW*p.stepH+p.atH, at%in.outW*p.stepW+p.atW
	return (image*p.h+i)*p.w + j
}
