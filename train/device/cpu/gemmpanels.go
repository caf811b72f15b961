package cpu

import "hgld/internal/blas"

const (
	// sharedTiles is the least number of row tiles for which packing b once for all is faster.
	sharedTiles = 3

	// mostPacked is the greatest number of elements packed at a time: 16 MiB. A longer b is
	// packed in several steps, and each adds to c.
	mostPacked = 4 << 20
)

// shares reports whether b is packed once for all tiles: the BLAS supports it, and it is
// faster. The products have the same bytes as those of Sgemm.
func (p *product) shares(batch int) bool {
	_, ok := p.lib.(blas.Panels)
	return ok && p.shared == nil && batch == 1 && p.down >= sharedTiles && p.k > 0 &&
		p.n*min(p.k, blas.Depth) <= mostPacked && (p.beta == 0 || p.beta == 1)
}

// packedRows returns how many rows of b are packed at a time: as many whole passes as fit.
func (p *product) packedRows() int { return max(1, mostPacked/(p.n*blas.Depth)) * blas.Depth }

// packShared packs the rows of b from p.from to p.to.
func (b *Backend) packShared(p *product) {
	p.shared = p.lib.(blas.Panels)
	_, panel, _ := p.shared.Shape()
	p.width = ceil(p.n, panel) * panel
	rows := p.to - p.from
	p.panels = scratch[float32](b, "gemm.panels", p.width*rows)
	split(b, ceil(rows, blas.Depth)*ceil(p.n, packCols), 1, packProduct{*p, panel})
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
		from, j := t.from+at/groups*blas.Depth, at%groups*packCols
		k, n := min(blas.Depth, t.to-from), min(packCols, t.n-j)
		first := from*t.ldb + j
		if t.transB {
			first = j*t.ldb + from
		}
		t.shared.PackPanels(t.panels[(from-t.from)*t.width+j*k:], k*t.panel, t.transB, n, k, t.alpha, t.b[first:], t.ldb)
	}
}

// sharedTile adds the packed rows' part to the product of a tile; a begins at the first row of the tile.
func (p *product) sharedTile(c, a []float32, rows, cols, j int) {
	for from := p.from; from < p.to; from += blas.Depth {
		k, first := min(blas.Depth, p.to-from), from
		if p.transA {
			first = from * p.lda
		}
		p.shared.MultiplyPanels(p.transA, rows, cols, k, a[first:], p.lda, p.panels[(from-p.from)*p.width+j*k:],
			from > 0 || p.beta == 1, c, p.ldc)
	}
}
