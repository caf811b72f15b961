package cluster

import "hgld/internal/blas"

// factor is a matrix c [K,D] prepared for products of its rows with many others. It is
// packed once, if the library can.
type factor struct {
	lib    blas.Library
	panels blas.Panels // nil if packed is not used
	c      Matrix
	width  int       // columns of a panel: the number of rows of c for which products are fastest
	packed []float32 // for each pass over D panel after panel
}

// fallbackWidth is the width if the library does not have one.
const fallbackWidth = 16

// orGonum returns lib, or gonum's library for nil.
func orGonum(lib blas.Library) blas.Library {
	if lib == nil {
		return blas.Gonum()
	}
	return lib
}

// newFactor packs c for lib. It may be called again for another c of the same shape, and
// then reuses the memory of over.
func newFactor(lib blas.Library, c Matrix, over *factor) *factor {
	f := over
	if f == nil {
		f = &factor{lib: orGonum(lib), width: fallbackWidth}
		if p, can := f.lib.(blas.Panels); can {
			_, width, _ := p.Shape()
			f.panels, f.width = p, width
			f.packed = make([]float32, f.across(c.Rows)*c.Cols)
		}
	}
	f.c = c
	if f.panels == nil {
		return f
	}
	parallel(f.across(c.Rows)/f.width, func(panel int) {
		j := panel * f.width
		for q := 0; q < c.Cols; q += blas.Depth {
			k := min(blas.Depth, c.Cols-q)
			f.panels.PackPanels(f.packed[f.at(j, q, k):], f.width*k, true, min(f.width, c.Rows-j), k, 1, c.Data[j*c.Cols+q:],
				c.Cols)
		}
	})
	return f
}

// across rounds up to whole panels.
func (f *factor) across(rows int) int { return (rows + f.width - 1) / f.width * f.width }

// at returns the offset of the panel of row j in the pass from q on, of depth k.
func (f *factor) at(j, q, k int) int { return f.across(f.c.Rows)*q + j*k }

// products computes dst[i·ld + j-from] = x_i·c_j for m rows of x, D apart, and the rows
// [from,to) of c. from is a multiple of width.
func (f *factor) products(dst []float32, ld int, x []float32, m, from, to int) {
	d := f.c.Cols
	if f.panels == nil {
		f.lib.Sgemm(false, true, m, to-from, d, 1, x, d, f.c.Data[from*d:to*d], d, 0, dst, ld)
		return
	}
	for q := 0; q < d; q += blas.Depth {
		k := min(blas.Depth, d-q)
		f.panels.MultiplyPanels(false, m, to-from, k, x[q:], d, f.packed[f.at(from, q, k):], q > 0, dst, ld)
	}
}

// strip returns the number of rows of x that meet a panel at a time, and whether they
// may be anywhere in memory.
func (f *factor) strip() (rows int, gather bool) {
	if f.panels == nil {
		return 1, false
	}
	rows, _, gather = f.panels.Shape()
	return rows, gather
}

// gathered is products for the rows of x at m addresses. x has room for a whole strip.
func (f *factor) gathered(dst []float32, ld int, x []*float32, m, from, to int) {
	rows, _ := f.strip()
	for len(x)%rows > 0 {
		x = append(x, x[0])
	}
	d := f.c.Cols
	for q := 0; q < d; q += blas.Depth {
		k := min(blas.Depth, d-q)
		f.panels.MultiplyRuns(x, 1, 1, q, m, to-from, k, f.packed[f.at(from, q, k):], q > 0, dst, ld)
	}
}
