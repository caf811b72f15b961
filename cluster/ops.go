package cluster

import (
	"math"

	"hgld/internal/blas"
	"hgld/internal/vec"
)

// A tile is the product of 64 rows of x and 256 of c: its 64 KiB of results and
// its rows stay in the second-level cache.
const (
	tileRows = 64
	tileCols = 256
)

// nearestRows finds for each row of x [N,D] the row of c [K,D] with the smallest cc − 2x·c, where
// cc [K] has the squared norms of c; a tie goes to the lower row. index [N] receives the row and
// dist [N] the value. If cc is all zero, the nearest is the row with the largest dot product. The
// products are float32. Their tiles depend on the shapes alone, so that with one library the
// result is the same on any number of cores.
func nearestRows(lib blas.Library, index []int32, dist []float32, x, c Matrix, cc []float32) {
	right := newFactor(lib, c, nil)
	tiles(x.Rows, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			index[i], dist[i] = 0, float32(math.Inf(1))
		}
		var buf [tileRows * tileCols]float32
		for from := 0; from < c.Rows; from += tileCols {
			to := min(from+tileCols, c.Rows)
			right.products(buf[:], to-from, x.Data[lo*x.Cols:hi*x.Cols], hi-lo, from, to)
			for i := lo; i < hi; i++ {
				row := buf[(i-lo)*(to-from):][:to-from]
				for j, dot := range row {
					if d := cc[from+j] - 2*dot; d < dist[i] {
						index[i], dist[i] = int32(from+j), d
					}
				}
			}
		}
	})
}

// scatterAdd adds row i of x to row index[i] of dst [K,D] in float64, in row order; −1 skips a row.
func scatterAdd(dst []float64, x Matrix, index []int32) {
	rows := rowsOfEach(index, len(dst)/max(x.Cols, 1))
	parallel(len(rows), func(k int) { // every sum keeps the order of the rows
		for _, i := range rows[k] {
			vec.ColumnSums(dst[k*x.Cols:(k+1)*x.Cols], x.Row(int(i)), 1, x.Cols)
		}
	})
}

// rowsOfEach lists the rows of each of k labels in order. Rows with label −1 are left
// out.
func rowsOfEach(index []int32, k int) [][]int32 {
	sizes := make([]int, k)
	for _, l := range index {
		if l >= 0 {
			sizes[l]++
		}
	}
	all, rows := make([]int32, len(index)), make([][]int32, k)
	for l, size := range sizes {
		rows[l], all = all[:0:size], all[size:]
	}
	for i, l := range index {
		if l >= 0 {
			rows[l] = append(rows[l], int32(i))
		}
	}
	return rows
}
