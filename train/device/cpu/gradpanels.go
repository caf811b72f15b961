package cpu

import "hgld/internal/blas"

// packInto packs columns k of the patches of output pixels [lo, hi) into panels of the
// BLAS, straight from src. This is possible because, for each tap, the pixels of an image
// row lie side by side. The channels of k are a multiple of the side of a panel.
func (p *patches) packInto(lib blas.Panels, dst []float32, panel, lo, hi int, k columnBlock) {
	rows, chans := hi-lo, k.chanHi-k.chanLo
	for t := k.tapLo; t < k.tapHi; t++ {
		tap := p.taps[t]
		out := dst[(t-k.tapLo)*chans*rows:][:chans*rows]
		// left is the number of output pixels of a row whose tap lies before the image.
		left := min(max(ceil(-tap.dw, p.stepW), 0), p.outW)
		right := max(left, min(p.outW, ceil(p.w-tap.dw, p.stepW)))
		for r := lo; r < hi; {
			image, i, j := r/(p.outH*p.outW), r/p.outW%p.outH, r%p.outW
			y, next := i*p.stepH+tap.dh, min(p.outW, j+hi-r)
			from, to := min(max(j, left), next), min(right, next)
			if uint(y) >= uint(p.h) || from >= to {
				from, to = next, next
			}
			clearRows(out, rows, chans, panel, r-lo, from-j)
			if from < to {
				src := p.src[((image*p.h+y)*p.w+from*p.stepW+tap.dw)*p.c+p.first+k.chanLo:]
				lib.PackPanels(out[(r-lo+from-j)*panel:], rows*panel, false, chans, to-from, 1, src, p.stepW*p.c)
				clearRows(out, rows, chans, panel, r-lo+to-j, next-to)
			}
			r += next - j
		}
	}
}

// clearRows sets n rows from row at on to zero, in panels of chans columns.
func clearRows(dst []float32, rows, chans, panel, at, n int) {
	if n == 0 {
		return
	}
	for c := 0; c < chans; c += panel {
		clear(dst[c*rows+at*panel:][:n*panel])
	}
}
