package blas

import (
	"sync"
	"unsafe"
)

// Native returns the matrix product of this package: the blocking of Goto and van de
// Geijn, "Anatomy of High-Performance Matrix Multiplication", ACM TOMS 2008, over a
// kernel that keeps a small tile of c in registers, in assembly where the processor has
// AVX-512 or AVX2. It is the fastest that needs no installation. Its rounding is known:
// an element of c depends only on its row of a, its column of b and k, not on its place
// in c, on m, n or the strides.
func Native() Library {
	return &native{kernel: bestKernel()}
}

// kernel multiplies a strip of rows rows of a by a panel of cols columns of b.
type kernel struct {
	name       string
	rows, cols int
	// multiply computes c = Σ_p a[p]·b[p], or adds that to c, for k ≥ 1: b is packed,
	// cols numbers for each p; a has element (i, p) at i·rowA + p·nextA, c element
	// (i, j) at i·ldc + j.
	multiply func(k int, a *float32, rowA, nextA int, b, c *float32, ldc int, add bool)
	// gather computes the same for a whose rows lie anywhere: of each of taps runs
	// of k numbers, at from rows[run·rows + i] for row i; nil if there is none.
	gather func(taps int, rows **float32, at, k int, b, c *float32, ldc int, add bool)
	// transpose packs b[·,p] for p = 0 … 8·blocks−1 and eight columns of a panel
	// that lie ld apart in src; nil if there is nothing faster than Go.
	transpose func(dst *float32, cols int, src *float32, ld, blocks int)
	// copyRows copies k rows, ld apart in src and step in dst, of vectors times eight
	// numbers, each row over what the one before wrote too much; nil as above.
	copyRows func(dst *float32, step int, src *float32, ld, k, vectors int)
	// copyStrips copies k rows, ld apart in src, into strips that lie next apart in dst, each
	// of k rows of cols numbers. The last has only last numbers of each row, and zeros beyond;
	// nil as above.
	copyStrips func(dst *float32, cols, next int, src *float32, ld, k, strips, last int)
}

const (
	// depth is the part of k that one pass covers: a panel of b, 16 or 32 KiB, stays in the
	// L1 cache while the strips of a stream through.
	depth = 256

	// height is how many rows of a, and width how many columns of b, one pass works
	// on: 192 KiB of a stay in the L2 cache while panels of b pass by. Both are
	// multiples of all kernels' sides.
	height, width = 192, 512

	// maxTile is the largest tile of c that a kernel keeps.
	maxTile = 12 * 32
)

type native struct {
	kernel kernel
	mutex  sync.Mutex
	free   []*work
}

// work is the scratch memory of a call. There are as many as calls were ever
// made at once.
type work struct {
	b    [depth * width]float32    // packed in panels
	a    [depth*height + 8]float32 // packed in strips, where that is needed; copyRows may write 8 too many
	tile [maxTile]float32
}

func (n *native) take() *work {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if len(n.free) == 0 {
		return new(work)
	}
	w := n.free[len(n.free)-1]
	n.free = n.free[:len(n.free)-1]
	return w
}

func (n *native) give(w *work) {
	n.mutex.Lock()
	n.free = append(n.free, w)
	n.mutex.Unlock()
}

func (n *native) String() string { return "native, " + n.kernel.name + " kernel" }

// Sgemm works through k in passes; alpha is applied to b as it is packed.
func (n *native) Sgemm(transA, transB bool, rows, cols, k int, alpha float32, a []float32, lda int,
	b []float32, ldb int, beta float32, c []float32, ldc int) {
	if rows == 0 || cols == 0 {
		return
	}
	check(transA, transB, rows, cols, k, a, lda, b, ldb, c, ldc)
	if k == 0 || beta != 0 && beta != 1 {
		for i := range rows {
			scale(c[i*ldc:i*ldc+cols], beta)
		}
	}
	w := n.take()
	for j := 0; j < cols; j += width {
		for p := 0; p < k; p += depth {
			s := pass{n.kernel, w, w.b[:], min(width, cols-j), min(depth, k-p), beta != 0 || p > 0}
			if transB {
				s.packTransposed(s.cols*s.k, alpha, b[j*ldb+p:], ldb)
			} else {
				s.pack(s.cols*s.k, alpha, b[p*ldb+j:], ldb)
			}
			if transA {
				s.multiplyRows(true, rows, a[p*lda:], lda, c[j:], ldc)
			} else {
				s.multiplyRows(false, rows, a[p:], lda, c[j:], ldc)
			}
		}
	}
	n.give(w)
}

// pass is the product over at most depth of k and width columns of b.
type pass struct {
	kernel
	*work
	panels []float32 // of b
	n, k   int
	add    bool // to c
}

// pack copies rows of b into panels that lie next apart: for each row the columns
// of the panel, times alpha.
func (p *pass) pack(next int, alpha float32, b []float32, ldb int) {
	p.copy(p.panels, p.cols, next, b, ldb, p.n)
	for j := 0; alpha != 1 && j < p.n; j += p.cols {
		scale(p.panels[j/p.cols*next:][:p.cols*p.k], alpha)
	}
}

// multiplyRows multiplies rows of a, or columns if transA, by all panels.
func (p *pass) multiplyRows(transA bool, rows int, a []float32, lda int, c []float32, ldc int) {
	for i := 0; i < rows; i += height {
		m := min(height, rows-i)
		if transA {
			p.multiplyTransposed(m, a[i:], lda, c[i*ldc:], ldc)
		} else {
			p.multiply(m, a[i*lda:], lda, c[i*ldc:], ldc)
		}
	}
}

// copy copies n columns of p.k rows of src into strips of cols columns that lie next apart
// in dst, the last filled up with zeros. Four strips at a time share the lines of src, and
// few enough lines of dst that these stay in the L1 cache.
func (p *pass) copy(dst []float32, cols, next int, src []float32, ld, n int) {
	const together = 4
	step := cols
	if p.copyStrips != nil {
		step *= together
	}
	for j := 0; j < n; j += step {
		at := dst[j/cols*next:]
		if p.copyStrips == nil {
			p.copyStrip(at, cols, src[j:], ld, n-j)
			continue
		}
		left := min(step, n-j)
		strips := (left + cols - 1) / cols
		p.copyStrips(&at[0], cols, next, &src[j], ld, p.k, strips, left-(strips-1)*cols)
	}
}

// copyStrip copies the first cols of the left columns of p.k rows of src, filling
// up with zeros. dst has room for a vector more if cols is not a multiple of eight.
func (p *pass) copyStrip(dst []float32, cols int, src []float32, ld, left int) {
	if vectors := (cols + 7) / 8; p.copyRows != nil && left >= 8*vectors {
		p.copyRows(&dst[0], cols, &src[0], ld, p.k, vectors)
		return
	}
	n := min(cols, left)
	for q := range p.k {
		line := dst[:cols]
		copy(line, src[q*ld:q*ld+n])
		clear(line[n:])
		dst = dst[cols:]
	}
}

// packTransposed is pack for b as it lies transposed: a column of it is a row.
func (p *pass) packTransposed(next int, alpha float32, b []float32, ldb int) {
	w := p.cols
	for j := 0; j < p.n; j += w {
		panel := p.panels[j/w*next:][:w*p.k]
		cols := min(w, p.n-j)
		whole, deep := 0, 0 // what transpose did
		if p.transpose != nil {
			whole, deep = cols&^7, p.k&^7
			for i := 0; i < whole && deep > 0; i += 8 {
				p.transpose(&panel[i], w, &b[(j+i)*ldb], ldb, deep/8)
			}
		}
		for i := range w {
			switch {
			case i >= cols:
				for q := range p.k {
					panel[q*w+i] = 0
				}
			case i < whole:
				for q := deep; q < p.k; q++ {
					panel[q*w+i] = b[(j+i)*ldb+q]
				}
			default:
				for q, v := range b[(j+i)*ldb : (j+i)*ldb+p.k] {
					panel[q*w+i] = v
				}
			}
		}
		scaleBy(panel, alpha)
	}
}

func scaleBy(x []float32, alpha float32) {
	if alpha != 1 {
		scale(x, alpha)
	}
}

// multiply takes a, of m rows, as it lies. The strip of rows at the end, if it is
// shorter than the kernel's, is filled up with zeros.
func (p *pass) multiply(m int, a []float32, lda int, c []float32, ldc int) {
	whole := m / p.rows * p.rows
	if whole > 0 {
		p.sweep(whole, a, lda, 1, lda*p.rows, c, ldc)
	}
	if rest := m - whole; rest > 0 {
		strip := p.work.a[:p.rows*p.k]
		clear(strip)
		for i := range rest {
			copy(strip[i*p.k:(i+1)*p.k], a[(whole+i)*lda:])
		}
		p.sweep(rest, strip, p.k, 1, 0, c[whole*ldc:], ldc)
	}
}

// multiplyTransposed packs a, of m columns, into strips first: its numbers for one
// p lie side by side, but those for the next p may be in the same set of a cache.
func (p *pass) multiplyTransposed(m int, a []float32, lda int, c []float32, ldc int) {
	p.copy(p.work.a[:], p.rows, p.rows*p.k, a, lda, m)
	p.sweep(m, p.work.a[:], 1, p.rows, p.rows*p.k, c, ldc)
}

// sweep multiplies m rows of a by all panels. Strips of a lie strip apart.
func (p *pass) sweep(m int, a []float32, rowA, nextA, strip int, c []float32, ldc int) {
	p.tiles(m, c, ldc, func(s int, b, c *float32, ldc int, add bool) {
		p.kernel.multiply(p.k, &a[s*strip], rowA, nextA, b, c, ldc, add)
	})
}

// tiles has each strip of rows, numbered from 0, multiplied by each panel b, for m
// rows in all. A tile at the edge of c is computed apart.
func (p *pass) tiles(m int, c []float32, ldc int, multiply func(strip int, b, c *float32, ldc int, add bool)) {
	for j := 0; j < p.n; j += p.cols {
		b := &p.panels[j*p.k]
		cols := min(p.cols, p.n-j)
		for i, s := 0, 0; i < m; i, s = i+p.rows, s+1 {
			rows := min(p.rows, m-i)
			if rows == p.rows && cols == p.cols {
				multiply(s, b, &c[i*ldc+j], ldc, p.add)
				continue
			}
			multiply(s, b, &p.tile[0], p.cols, false)
			for r := range rows {
				p.store(c[(i+r)*ldc+j:][:cols], p.tile[r*p.cols:])
			}
		}
	}
}

// store puts a line of a tile into c as the kernel would.
func (p *pass) store(c, tile []float32) {
	if !p.add {
		copy(c, tile)
		return
	}
	for j := range c {
		c[j] += tile[j]
	}
}

// goKernel is the kernel in Go: the definition of the others, and slow.
var goKernel = kernel{name: "Go", rows: 4, cols: 8, multiply: multiplyGo}

func multiplyGo(k int, a *float32, rowA, nextA int, b, c *float32, ldc int, add bool) {
	const rows, cols = 4, 8
	left := unsafe.Slice(a, (rows-1)*rowA+(k-1)*nextA+1)
	right := unsafe.Slice(b, k*cols)
	out := unsafe.Slice(c, (rows-1)*ldc+cols)
	for i := range rows {
		var sum [cols]float32
		for p := range k {
			x := left[i*rowA+p*nextA]
			y := (*[cols]float32)(right[p*cols:])
			for j := range cols {
				sum[j] += float32(x * y[j]) // the conversion forbids a fused product, which other processors round otherwise
			}
		}
		for j, v := range sum {
			if add {
				v += out[i*ldc+j]
			}
			out[i*ldc+j] = v
		}
	}
}
