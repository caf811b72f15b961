package cpu

import "hgld/internal/blas"

// panelConvolution computes a convolution by a BLAS whose products can be split. It packs
// the weights once, for the tiles of all threads. If a pixel has enough channels, it copies
// no patches: the kernel reads the pixels under each tap by their addresses, and a row of
// zeros outside the image (Dukhan, "The Indirect Convolution
// Algorithm", 2019).
type panelConvolution struct {
	convolution
	lib    blas.Panels
	passes []columnBlock // the columns of the patches, cut for the kernel
	panels []float32     // the weights, pass after pass
	width  int           // the columns of all panels
	side   int           // rows of a kernel

	tileM, tileN, down, across int        // tiles of pixels × filters
	runs                       bool       // whether the kernel reads patches by their addresses
	places                     []*float32 // the addresses, for each worker
	zeros                      []float32
}

const (
	// runChannels is the least number of channels for which patches are not copied. With
	// fewer, the kernel would load addresses as often as numbers.
	runChannels = 16

	// farPixel is the distance between pixels above which they are copied. Rows of a that are
	// this far apart share a few sets of a cache and evict one another.
	farPixel = 768

	// fewPixels is the number of pixels up to which a single tile is used, so that the weights,
	// which are larger, are read only once.
	fewPixels = 192
)

// convolvePanels packs the weights and computes the tiles. Its passes over the columns depend
// on the taps as well as on Depth, so that a pass consists of whole runs. Its rounding
// therefore differs from that of convolvePlain.
func (b *Backend) convolvePanels(c convolution, lib blas.Panels) {
	t := panelConvolution{convolution: c, lib: lib}
	rows, cols := c.in.rows(), c.in.cols()
	side, panel, gather := lib.Shape()
	t.side, t.width = side, ceil(c.n, panel)*panel
	t.passes = columnBlocks(scratch[columnBlock](b, "conv.passes", cols), &c.in)
	t.panels = scratch[float32](b, "conv.panels", t.width*cols)
	pack := packFilters{t.convolution, lib, t.passes, t.panels, t.width, panel}
	split(b, pack.items(), 1, pack)

	t.tileM, t.tileN = tileShape(rows, c.n, cols, false)
	if rows <= fewPixels {
		t.tileM, t.tileN = ceil(rows, side)*side, wholePanels
	}
	t.down, t.across = ceil(rows, t.tileM), ceil(c.n, t.tileN)
	t.tile = t.tileM
	t.beginSums(b)
	t.runs = gather && c.in.chans >= runChannels && c.in.c < farPixel
	switch {
	case t.runs:
		t.places = scratch[*float32](b, "conv.places", b.Threads()*t.tilePlaces())
		t.zeros = scratch[float32](b, "conv.zeros", c.in.chans)
		clear(t.zeros)
	case !c.in.direct():
		t.buf = scratch[float32](b, "conv.patches", b.Threads()*t.tileM*blas.Depth)
	}
	if c.apart() {
		t.acc = scratch[float32](b, "conv.products", b.Threads()*t.tileM*t.tileN)
	}
	places := t.places
	split(b, t.down*t.across, 1, t)
	clear(places) // so that no array stays reachable
	t.endSums()
}

// tilePlaces returns the number of addresses that a tile needs.
func (t *panelConvolution) tilePlaces() int { return ceil(t.tileM, t.side) * t.side * len(t.in.taps) }

// span computes tiles [lo, hi), in row-major order.
func (t *panelConvolution) span(worker, lo, hi int) {
	for tile := lo; tile < hi; tile++ {
		i, j := tile/t.across*t.tileM, tile%t.across*t.tileN
		t.tileAt(worker, i, min(t.tileM, t.in.rows()-i), j, min(t.tileN, t.n-j))
	}
}

// tileAt computes filters [j, j+n) of output pixels [i, i+rows).
func (t *panelConvolution) tileAt(worker, i, rows, j, n int) {
	out, ld := t.out[i*t.channels+t.first+j:], t.channels
	if t.apart() {
		out, ld = t.acc[worker*t.tileM*t.tileN:][:rows*n], n
	}
	var places []*float32
	if t.runs {
		places = t.places[worker*t.tilePlaces():][:t.tilePlaces()]
		t.in.locate(places, t.zeros, t.side, i, rows)
	}
	for q, pass := range t.passes {
		k := pass.cols()
		panels := t.panels[(pass.tapLo*t.in.chans+pass.chanLo)*t.width+j*k:]
		if t.runs {
			t.lib.MultiplyRuns(places[pass.tapLo*t.side:], len(t.in.taps), pass.tapHi-pass.tapLo, pass.chanLo,
				rows, n, k, panels, q > 0, out, ld)
			continue
		}
		a, lda := t.rowsOf(worker, i, rows, pass)
		t.lib.MultiplyPanels(false, rows, n, k, a, lda, panels, q > 0, out, ld)
	}
	if len(t.passes) == 0 { // no tap meets these pixels
		for r := range rows {
			clear(out[r*ld:][:n])
		}
	}
	t.finish(out, ld, i, i+rows, j, n)
}

// rowsOf returns the patches of output pixels [i, i+rows), restricted to the columns of a
// pass.
func (t *panelConvolution) rowsOf(worker, i, rows int, pass columnBlock) (a []float32, lda int) {
	if t.buf == nil {
		return t.in.fill(nil, i, i+rows, pass)
	}
	return t.in.fill(t.buf[worker*t.tileM*blas.Depth:], i, i+rows, pass)
}

// locate writes the addresses of the pixels under each tap, for output pixels from lo on.
// It handles side output pixels at a time, and for each tap writes their side addresses.
func (p *patches) locate(places []*float32, zeros []float32, side, lo, rows int) {
	image, at := lo/(p.outH*p.outW), lo%(p.outH*p.outW)
	i, j := at/p.outW, at%p.outW
	nowhere := &zeros[0]
	for r := range ceil(rows, side) * side {
		strip := places[r/side*side*len(p.taps):]
		for t, tap := range p.taps {
			y, x := i*p.stepH+tap.dh, j*p.stepW+tap.dw
			place := nowhere
			if r < rows && uint(y) < uint(p.h) && uint(x) < uint(p.w) {
				place = &p.src[((image*p.h+y)*p.w+x)*p.c+p.first]
			}
			strip[t*side+r%side] = place
		}
		if j++; j == p.outW {
			j, i = 0, i+1
		}
		if i == p.outH {
			i, image = 0, image+1
		}
	}
}

// packFilters packs the weights of a convolution. It reads all weights of a panel's filters
// at once, so that memory is read in long runs. For a gradient, where a row of b is a row of
// weights, it packs one pass at a time.
type packFilters struct {
	convolution
	lib          blas.Panels
	passes       []columnBlock
	panels       []float32
	width, panel int
}

// items returns the number of tasks.
func (t *packFilters) items() int {
	if t.from != nil {
		return len(t.passes)
	}
	return t.width / t.panel
}

func (t *packFilters) span(_, lo, hi int) {
	for at := lo; at < hi; at++ {
		if t.from != nil {
			t.packRows(t.passes[at])
			continue
		}
		j := at * t.panel
		for _, pass := range t.passes {
			k, first := pass.cols(), pass.tapLo*t.in.chans+pass.chanLo
			t.lib.PackPanels(t.panels[first*t.width+j*k:], k*t.panel, true, min(t.panel, t.n-j), k, 1,
				t.w[j*t.ldW+first:], t.ldW)
		}
	}
}

// packRows packs one pass of a gradient's weights. It packs some rows at a time for all
// panels, because the rows lie far apart.
func (t *packFilters) packRows(pass columnBlock) {
	const some = 8
	k, chans := pass.cols(), pass.chanHi-pass.chanLo
	dst := t.panels[(pass.tapLo*t.in.chans+pass.chanLo)*t.width:]
	for tap := pass.tapLo; tap < pass.tapHi; tap++ {
		for c := 0; c < chans; c += some {
			t.lib.PackPanels(dst[((tap-pass.tapLo)*chans+c)*t.panel:], k*t.panel, false, t.n, min(some, chans-c), 1,
				t.w[(pass.chanLo+c)*t.ldW+t.from[tap]*t.n:], t.ldW)
		}
	}
}
