package cpu

import (
	"hgld/internal/blas"
	"hgld/train/device"
)

// ConvGradW computes the gradient of Conv by w: dw = acc·dw + dyᵀ · patches of x. It cuts
// the columns of dw into blocks. If these are too few for the threads to share, it also
// cuts the output pixels into chunks, whose sums are added in order.
func (b *Backend) ConvGradW(dw, dy, x device.Array, shape device.ConvShape, acc float32) {
	c := convOf("ConvGradW", dy, x, dw, shape)
	inGroup, cols := c.k/c.groups, c.r*c.s*c.cg
	for g := range c.groups {
		t := weightGrad{
			lib: b.blas, in: c.forward(b, f32(x), g),
			dy: f32(dy), channels: c.k, first: g * inGroup, n: inGroup,
			dw: f32(dw)[g*inGroup*cols:][:inGroup*cols], acc: acc,
		}
		t.blocks = columnBlocks(scratch[columnBlock](b, "convgradw.blocks", cols), &t.in)
		chunks := max(1, min(16/len(t.blocks), t.in.rows()/1024))
		t.chunk = max(1, ceil(ceil(t.in.rows(), chunks), pixelBlock)) * pixelBlock
		t.chunks = ceil(t.in.rows(), t.chunk)
		if t.chunks > 1 {
			t.parts = scratch[float32](b, "convgradw.parts", t.chunks*inGroup*cols)
		}
		t.patchLen = pixelBlock * t.widest()
		if lib, ok := b.blas.(blas.Panels); ok {
			if _, panel, _ := lib.Shape(); c.cg%panel == 0 && (acc == 0 || acc == 1) {
				t.panels, t.panel = lib, panel
			}
		}
		t.buf = scratch[float32](b, "convgradw.patches", b.Threads()*t.patchLen)
		split(b, t.chunks*len(t.blocks), 1, t)
		if t.chunks > 1 {
			split(b, inGroup*cols, lineWidth, joinTask{t.dw, t.parts, t.chunks, acc})
		}
	}
}

const (
	// pixelBlock is the number of output pixels in one product.
	pixelBlock = 256

	// blockCols is the approximate number of columns of dw that one task computes.
	blockCols = 256

	// wholePanels is a multiple of the columns of every kernel.
	wholePanels = 32
)

// columnBlocks cuts the columns of the patches into blocks: several taps if they have few
// channels, or parts of one tap if it has many.
func columnBlocks(blocks []columnBlock, p *patches) []columnBlock {
	blocks = blocks[:0]
	taps := max(1, blockCols/p.chans)
	chans := ceil(ceil(p.chans, ceil(p.chans, blockCols)), wholePanels) * wholePanels
	for t := 0; t < len(p.taps); t += taps {
		for c := 0; c < p.chans; c += chans {
			blocks = append(blocks, columnBlock{t, min(t+taps, len(p.taps)), c, min(c+chans, p.chans)})
		}
	}
	return blocks
}

type weightGrad struct {
	lib                blas.Library
	in                 patches
	dy                 []float32
	channels, first, n int // of a pixel of dy; the n from first are used
	dw, parts          []float32
	acc                float32
	blocks             []columnBlock
	chunk, chunks      int       // output pixels of a chunk, number of chunks
	buf                []float32 // patches, for each worker
	patchLen           int       // floats of a worker's patches

	panels blas.Panels // if patches are packed straight for its kernel
	panel  int
}

func (t *weightGrad) widest() int {
	most := 0
	for _, k := range t.blocks {
		most = max(most, k.cols())
	}
	return most
}

func (t *weightGrad) span(worker, lo, hi int) {
	buf := t.buf[worker*t.patchLen:][:t.patchLen]
	for at := lo; at < hi; at++ {
		chunk, k := at/len(t.blocks), t.blocks[at%len(t.blocks)]
		dst, beta := t.dw, t.acc
		if t.chunks > 1 {
			dst, beta = t.parts[chunk*len(t.dw):][:len(t.dw)], 0
		}
		dst = dst[k.tapLo*t.in.chans+k.chanLo:]
		end := min((chunk+1)*t.chunk, t.in.rows())
		for p := chunk * t.chunk; p < end; p += pixelBlock {
			n := min(pixelBlock, end-p)
			t.add(buf, p, n, k, beta, dst)
			beta = 1
		}
	}
}

// add computes dst = beta·dst + the product of n output pixels from p on, for columns k.
func (t *weightGrad) add(buf []float32, p, n int, k columnBlock, beta float32, dst []float32) {
	dy := t.dy[p*t.channels+t.first:]
	if t.panels != nil {
		t.in.packInto(t.panels, buf, t.panel, p, p+n, k)
		t.panels.MultiplyPanels(true, t.n, k.cols(), n, dy, t.channels, buf, beta == 1, dst, t.in.cols())
		return
	}
	rows, ld := t.in.fill(buf, p, p+n, k)
	t.lib.Sgemm(true, false, t.n, k.cols(), n, 1, dy, t.channels, rows, ld, beta, dst, t.in.cols())
}

// joinTask computes dst = acc·dst + the sum of parts, which are count arrays of dst's
// length.
type joinTask struct {
	dst, parts []float32
	count      int
	acc        float32
}

func (t *joinTask) span(_, lo, hi int) {
	if t.acc == 0 {
		copy(t.dst[lo:hi], t.parts[lo:hi])
	} else {
		axpby(t.dst[lo:hi], t.acc, t.dst[lo:hi], 1, t.parts[lo:hi])
	}
	for i := 1; i < t.count; i++ {
		axpby(t.dst[lo:hi], 1, t.dst[lo:hi], 1, t.parts[i*len(t.dst)+lo:i*len(t.dst)+hi])
	}
}
