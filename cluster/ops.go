package cluster

import (
	"math"

	"hgld/internal/blas"
	"hgld/internal/vec"
)

// Ops are the two array operations that k-means spends its time in. They have the
// meaning of those of a training device, so that a GPU can replace CPU. In one run of
// KMeans every call has the same matrix x, so that an implementation can keep it on its
// device.
type Ops interface {
	// Nearest finds for each row of x [N,D] the row of c [K,D] with the smallest
	// cc − 2x·c, where cc [K] has the squared norms of c; a tie goes to the lower row.
	// index [N] receives the row and dist [N] the value. If cc is all zero, the nearest is
	// the row with the largest dot product.
	Nearest(index []int32, dist []float32, x, c Matrix, cc []float32)
	// ScatterAdd adds row i of x to row index[i] of dst [K,D], in row order; −1 skips a
	// row.
	ScatterAdd(dst []float64, x Matrix, index []int32)
}

// CPU implements Ops on all cores: Nearest by matrix products in float32, ScatterAdd in
// float64. The tiles depend on the shapes alone, so that with one BLAS library the
// result is the same on any number of cores.
type CPU struct {
	BLAS blas.Library // nil means gonum
}

// A tile is the product of 64 rows of x and 256 of c: its 64 KiB of results and
// its rows stay in the second-level cache.
const (
	tileRows = 64
	tileCols = 256
)

// Nearest implements Ops.
func (o CPU) Nearest(index []int32, dist []float32, x, c Matrix, cc []float32) {
	if len(index) != x.Rows || len(dist) != x.Rows || len(cc) != c.Rows || x.Cols != c.Cols {
		panic("cluster: Nearest: shapes differ")
	}
	right := o.factor(c, nil)
	parallel((x.Rows+tileRows-1)/tileRows, func(tile int) {
		lo := tile * tileRows
		hi := min(lo+tileRows, x.Rows)
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

// products computes dst[i-lo, j-from] = x_i·c_j for rows [lo,hi) of x and [from,to) of
// c.
func (o CPU) products(dst []float32, x Matrix, lo, hi int, c Matrix, from, to int) {
	lib, d := o.BLAS, x.Cols
	if lib == nil {
		lib = blas.Gonum()
	}
	lib.Sgemm(false, true, hi-lo, to-from, d, 1, x.Data[lo*d:hi*d], d, c.Data[from*d:to*d], d, 0, dst, to-from)
}

// ScatterAdd implements Ops.
func (CPU) ScatterAdd(dst []float64, x Matrix, index []int32) {
	if len(index) != x.Rows || x.Cols > 0 && len(dst)%x.Cols != 0 {
		panic("cluster: ScatterAdd: shapes differ")
	}
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
