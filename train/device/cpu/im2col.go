package cpu

import "hgld/train/device"

// patches describes the matrix that turns a convolution into a product. It has a row
// for each output pixel (image, row, column). The row holds, for each tap of the
// window, the channels of the input pixel under the tap, or zeros outside the image.
// The matrix is made a block of rows at a time, never as a whole.
type patches struct {
	src          []float32
	images       int
	h, w, c      int // of an image of src
	first, chans int // the channels in use: those of a group
	outH, outW   int // output pixels of an image
	stepH, stepW int // from one output pixel to the next, in input pixels
	taps         []tap
	ends         []int // for each tap, the end of its run of taps
}

// tap is the offset of a tap from the input pixel (i·stepH, j·stepW) of an output pixel
// (i, j).
type tap struct{ dh, dw int }

func (p *patches) rows() int { return p.images * p.outH * p.outW }
func (p *patches) cols() int { return len(p.taps) * p.chans }

// direct reports whether the matrix is src itself: a 1×1 convolution.
func (p *patches) direct() bool {
	return len(p.taps) == 1 && p.taps[0] == tap{} && p.stepH == 1 && p.stepW == 1 && p.outH == p.h && p.outW == p.w
}

// block is a part of the columns: whole taps, or some channels of one tap.
type columnBlock struct{ tapLo, tapHi, chanLo, chanHi int }

func (p *patches) all() columnBlock { return columnBlock{0, len(p.taps), 0, p.chans} }

func (k columnBlock) cols() int { return (k.tapHi - k.tapLo) * (k.chanHi - k.chanLo) }

// fill returns rows [lo, hi) of the columns k, and the distance between rows. The rows are
// copied to buf, or returned where they lie in src.
func (p *patches) fill(buf []float32, lo, hi int, k columnBlock) (rows []float32, ld int) {
	if p.direct() {
		return p.src[lo*p.c+p.first+k.chanLo:], p.c
	}
	width := k.cols()
	image, at := lo/(p.outH*p.outW), lo%(p.outH*p.outW)
	i, j := at/p.outW, at%p.outW
	for r := range hi - lo {
		p.row(buf[r*width:][:width], image, i*p.stepH, j*p.stepW, k)
		if j++; j == p.outW {
			j, i = 0, i+1
		}
		if i == p.outH {
			i, image = 0, image+1
		}
	}
	return buf, max(width, 1)
}

// joined finds runs of taps that lie side by side, whose channels can be copied together.
func (p patches) joined(b *Backend) patches {
	p.ends = scratch[int](b, "conv.ends", len(p.taps))
	for t := len(p.taps) - 1; t >= 0; t-- {
		p.ends[t] = t + 1
		if n := t + 1; n < len(p.taps) && p.taps[n] == (tap{p.taps[t].dh, p.taps[t].dw + 1}) {
			p.ends[t] = p.ends[n]
		}
	}
	return p
}

// row writes the row of the output pixel whose window begins at (y, x).
func (p *patches) row(dst []float32, image, y, x int, k columnBlock) {
	n := k.chanHi - k.chanLo
	for t := k.tapLo; t < k.tapHi; {
		first, end := p.taps[t], t+1
		if n == p.c {
			end = min(p.ends[t], k.tapHi)
		}
		line := dst[:(end-t)*n]
		dst = dst[(end-t)*n:]
		i, j := y+first.dh, x+first.dw
		row := p.src[(image*p.h+min(max(i, 0), p.h-1))*p.w*p.c+p.first+k.chanLo:]
		switch {
		case i < 0 || i >= p.h || j >= p.w || j+end-t <= 0:
			clear(line)
		case j >= 0 && j+end-t <= p.w:
			copy(line, row[j*p.c:])
		default:
			left, right := max(-j, 0), min(end-t, p.w-j) // taps of the run that lie in the image
			clear(line[:left*n])
			copy(line[left*n:right*n], row[(j+left)*p.c:])
			clear(line[right*n:])
		}
		t = end
	}
}

// conv is a convolution's geometry with the zeros of device.ConvShape replaced.
type conv struct {
	n, h, w, c           int // x
	k, r, s, cg          int // weights, cg channels of a group
	outH, outW           int
	strideH, strideW     int
	padH, padW           int
	dilationH, dilationW int
	groups               int
}

// convOf checks that the shapes of y = x ∗ w fit.
func convOf(op string, y, x, w device.Array, s device.ConvShape) conv {
	one := func(v int) int { return max(v, 1) }
	c := conv{
		n: x.Dims[0], h: x.Dims[1], w: x.Dims[2], c: x.Dims[3],
		k: w.Dims[0], r: w.Dims[1], s: w.Dims[2], cg: w.Dims[3],
		outH: y.Dims[1], outW: y.Dims[2],
		strideH: one(s.StrideH), strideW: one(s.StrideW), padH: s.PadH, padW: s.PadW,
		dilationH: one(s.DilationH), dilationW: one(s.DilationW), groups: one(s.Groups),
	}
	if y.N != 4 || x.N != 4 || w.N != 4 || y.Dims[0] != c.n || y.Dims[3] != c.k ||
		c.cg*c.groups != c.c || c.k%c.groups != 0 ||
		c.outH != device.Windows(c.h, c.r, c.strideH, c.padH, c.dilationH) ||
		c.outW != device.Windows(c.w, c.s, c.strideW, c.padW, c.dilationW) {
		panic(shapes(op, y, x, w))
	}
	return c
}

// forward returns the patches of x for group g.
func (c *conv) forward(b *Backend, x []float32, g int) patches {
	taps := scratch[tap](b, "conv.taps", c.r*c.s)
	for i := range taps {
		taps[i] = tap{i/c.s*c.dilationH - c.padH, i%c.s*c.dilationW - c.padW}
	}
	return patches{
		src: x, images: c.n, h: c.h, w: c.w, c: c.c, first: g * c.cg, chans: c.cg,
		outH: c.outH, outW: c.outW, stepH: c.strideH, stepW: c.strideW, taps: taps,
	}.joined(b)
}
