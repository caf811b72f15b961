package cpu

import "hgld/internal/blas"

const (
	// sharedTiles is the least number of row tiles for which packing b once for all is faster.
	sharedTiles = 3

	// mostPacked is the greatest number of elements packed at a time: 16 MiB.
	mostPacked = 4 << 20
)

// packShared packs b once for all tiles if the BLAS supports this and it is faster. The
// products have the same bytes as those of Sgemm.
func (b *Backend) packShared(batch int, p *product) {
	lib, ok := p.lib.(blas.Panels)
	if !ok || p.shared != nil || batch != 1 || p.down < sharedTiles || p.k == 0 || p.n*p.k > mostPacked ||
		p.beta != 0 && p.beta != 1 {
		return
	}
	_, panel, _ := lib.Shape()
	p.shared, p.width = lib, ceil(p.n, panel)*panel
	p.panels = scratch[float32](b, "gemm.panels", p.width*p.k)
	split(b, ceil(p.k, blas.Depth)*ceil(p.n, packCols), 1, packProduct{*p, panel})
}

// packCols is the number of columns of b that one task packs.
const packCols = 128

// packProduct packs b, some columns of a pass at a time.
type packProduct struct {
	product
	panel int
}

func (t *packProduct) span(_, lo, hi int) {
	groups := ceil(t.n, packCols)
	for at := lo; at < hi; at++ {
		from, j := at/groups*blas.Depth, at%groups*packCols
		k, n := min(blas.Depth, t.k-from), min(packCols, t.n-j)
		first := from*t.ldb + j
		if t.transB {
			first = j*t.ldb + from
		}
		t.shared.PackPanels(t.panels[from*t.width+j*k:], k*t.panel, t.transB, n, k, t.alpha, t.b[first:], t.ldb)
	}
}

// sharedTile computes the product of a tile; a begins at the first row of the tile.
func (p *product) sharedTile(c, a []float32, rows, cols, j int) {
	for from := 0; from < p.k; from += blas.Depth {
		k, first := min(blas.Depth, p.k-from), from
		if p.transA {
			first = from * p.lda
		}
		p.shared.MultiplyPanels(p.transA, rows, cols, k, a[first:], p.lda, p.panels[from*p.width+j*k:],
			from > 0 || p.beta == 1, c, p.ldc)
	}
}
