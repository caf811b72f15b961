package blas

import "errors"

// Panels is a Library whose products can be taken apart, so that a matrix b which
// meets many others is packed once, and a matrix a that is made of runs of
// another array need not be copied. b is packed for one pass over k at a time:
// at most Depth of its rows in panels of some columns, a panel having one
// number of each for each row and the columns beyond b's being zero.
type Panels interface {
	Library
	// Shape returns the columns of a panel and how many rows of a meet it at a time.
	// gather reports whether MultiplyRuns may be called.
	Shape() (rows, cols int, gather bool)
	// PackPanels packs alpha·op(b), of k ≤ Depth rows and n columns, into panels that
	// begin next apart in dst, at least k·cols.
	PackPanels(dst []float32, next int, transB bool, n, k int, alpha float32, b []float32, ldb int)
	// MultiplyPanels is c = op(a)·b, or adds that to c: op(a) is [m,k], b packed k·cols
	// apart, c [m,n].
	MultiplyPanels(transA bool, m, n, k int, a []float32, lda int, b []float32, add bool, c []float32, ldc int)
	// MultiplyRuns is MultiplyPanels for an a of which row i consists of taps runs of
	// k/taps numbers each, run t at rows[(i/r·all + t)·r + i%r] plus at, where r is
	// the rows of Shape. rows is filled up to a multiple of r with addresses that
	// can be read.
	MultiplyRuns(rows []*float32, all, taps, at int, m, n, k int, b []float32, add bool, c []float32, ldc int)
}

// Depth is the most rows of b in a panel.
const Depth = depth

// Shape is that of the kernel.
func (n *native) Shape() (rows, cols int, gather bool) {
	return n.kernel.rows, n.kernel.cols, n.kernel.gather != nil
}

// PackPanels is the packing of Sgemm.
func (n *native) PackPanels(dst []float32, next int, transB bool, cols, k int, alpha float32, b []float32, ldb int) {
	if !fits(len(b), k, cols, ldb, transB) {
		panic(errors.New("blas: a matrix is shorter than its shape"))
	}
	p := pass{kernel: n.kernel, panels: dst, n: cols, k: k}
	if transB {
		p.packTransposed(next, alpha, b, ldb)
	} else {
		p.pack(next, alpha, b, ldb)
	}
}

// MultiplyPanels is one pass of Sgemm.
func (n *native) MultiplyPanels(transA bool, m, cols, k int, a []float32, lda int, b []float32, add bool,
	c []float32, ldc int) {
	if !fits(len(a), m, k, lda, transA) || !fits(len(c), m, cols, ldc, false) {
		panic(errors.New("blas: a matrix is shorter than its shape"))
	}
	n.checkPanels(cols, k, b)
	w := n.take()
	p := pass{n.kernel, w, b, cols, k, add}
	p.multiplyRows(transA, m, a, lda, c, ldc)
	n.give(w)
}

// MultiplyRuns is the same pass with another kernel.
func (n *native) MultiplyRuns(rows []*float32, all, taps, at int, m, cols, k int, b []float32, add bool,
	c []float32, ldc int) {
	n.checkPanels(cols, k, b)
	r := n.kernel.rows
	strips := (m + r - 1) / r
	if len(rows) < ((strips-1)*all+taps)*r || k%taps != 0 || !fits(len(c), m, cols, ldc, false) {
		panic(errors.New("blas: fewer runs than rows"))
	}
	w := n.take()
	p := pass{n.kernel, w, b, cols, k, add}
	p.tiles(m, c, ldc, func(s int, b, c *float32, ldc int, add bool) {
		p.gather(taps, &rows[s*all*r], at, k/taps, b, c, ldc, add)
	})
	n.give(w)
}

// checkPanels panics where a kernel would read beyond the panels.
func (n *native) checkPanels(cols, k int, b []float32) {
	if w := n.kernel.cols; k < 1 || k > depth || len(b) < (cols+w-1)/w*w*k {
		panic(errors.New("blas: panels are shorter than their shape"))
	}
}
