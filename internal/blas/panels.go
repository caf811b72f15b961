package blas

import "errors"

// Panels is a Library whose products can be split into packing and multiplying. A matrix b that is
// multiplied many times is then packed once, and a matrix a that consists of runs of another array
// need not be copied. b is packed for one pass over k at a time: at most Depth of its rows, in
// panels of some columns. A panel has one number of each column for each row, and zeros beyond the
// columns of b.
type Panels interface {
	Library
	// Shape returns the number of columns of a panel and the number of rows of a that it is
	// multiplied with at a time. gather reports whether MultiplyRuns may be called.
	Shape() (rows, cols int, gather bool)
	// PackPanels packs alpha·op(b), of k ≤ Depth rows, into panels that begin next apart in dst.
	// next is at least k times the columns of a panel.
	PackPanels(dst []float32, next int, transB bool, n, k int, alpha float32, b []float32, ldb int)
	// MultiplyPanels computes c = op(a)·b, or adds that to c. op(a) is [m,k], the panels of b lie
	// k·cols apart, and c is [m,n].
	MultiplyPanels(transA bool, m, n, k int, a []float32, lda int, b []float32, add bool, c []float32, ldc int)
	// MultiplyRuns is MultiplyPanels for an a whose row i consists of `taps` runs of k/taps numbers
	// each. With r rows of Shape, run t begins at rows[(i/r·all + t)·r + i%r] plus at. rows must be
	// padded to a multiple of r with readable addresses.
	MultiplyRuns(rows []*float32, all, taps, at int, m, n, k int, b []float32, add bool, c []float32, ldc int)
}

// Depth is the greatest number of rows of b in a panel.
const Depth = depth

// Shape returns the shape of the kernel.
func (n *native) Shape() (rows, cols int, gather bool) {
	return n.kernel.rows, n.kernel.cols, n.kernel.gather != nil
}

// PackPanels packs as Sgemm does.
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

// MultiplyPanels computes one pass of Sgemm.
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

// MultiplyRuns computes the same pass with the gathering kernel.
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

// checkPanels panics if a kernel would read beyond the panels.
func (n *native) checkPanels(cols, k int, b []float32) {
	if w := n.kernel.cols; k < 1 || k > depth || len(b) < (cols+w-1)/w*w*k {
		panic(errors.New("blas: panels are shorter than their shape"))
	}
}
