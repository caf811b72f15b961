package blas

import (
	"sync"
	"unsafe"
)

// Native returns this package's matrix product. It uses the blocking of Goto and van de Geijn,
// "Anatomy of High-Performance Matrix Multiplication", ACM TOMS 2008, and a kernel that keeps a
// small tile of c in registers, in assembly if the processor has AVX-512 or AVX2. It is the fastest
// library that needs no installation. Its rounding is known: an element of c depends only on its
// row of a, its column of b and k. It does not depend on its place in c, on m, n or the strides.
func Native() Library {
	return &native{kernel: bestKernel()}
}

// kernel multiplies a strip of `rows` rows of a by a panel of `cols` columns of b.
type kernel struct {
	name       string
	rows, cols int
	// multiply computes c = Σ_p a[p]·b[p] for k ≥ 1, or adds that to c. b is packed, with cols
	// numbers for each p. Element (i, p) of a is at i·rowA + p·nextA, and element (i, j) of c at
	// i·ldc + j.
	multiply func(k int, a *float32, rowA, nextA int, b, c *float32, ldc int, add bool)
	// gather computes the same for an a whose rows lie anywhere. Row i consists of `taps` runs of k
	// numbers each; run r begins at rows[r·rows + i] plus at. It is nil if the processor has no
	// such kernel.
	gather func(taps int, rows **float32, at, k int, b, c *float32, ldc int, add bool)
	// transpose packs b[·,p] for p = 0 … 8·blocks−1 and eight columns of a panel, which lie ld
	// apart in src. It is nil if nothing is faster than Go.
	transpose func(dst *float32, cols int, src *float32, ld, blocks int)
	// copyRows copies k rows, which lie ld apart in src and step apart in dst. It copies whole
	// vectors of eight numbers, so each row overwrites the excess of the row before. It is nil if
	// nothing is faster than Go.
	copyRows func(dst *float32, step int, src *float32, ld, k, vectors int)
	// copyStrips copies k rows, which lie ld apart in src, into strips that lie next apart in dst.
	// A strip has k rows of cols numbers. The last strip has only `last` numbers in each row and is
	// padded with zeros. It is nil if nothing is faster than Go.
	copyStrips func(dst *float32, cols, next int, src *float32, ld, k, strips, last int)
}

const (
	// depth is the part of k that one pass covers. A panel of b, 16 or 32 KiB, then stays in the L1
	// cache while the strips of a stream through.
	depth = 256

	// height is the number of rows of a, and width the number of columns of b, of one pass. 192 KiB
	// of a then stay in the L2 cache while the panels of b pass by. Both are multiples of the sides
	// of all kernels.
	height, width = 192, 512

	// maxTile is the size of the largest tile of c that a kernel keeps.
	maxTile = 12 * 32
)

type native struct {
	kernel kernel
	mutex  sync.Mutex
	free   []*work
}

// work is the scratch memory of a call. There are as many as there were concurrent calls at most.
type work struct {
	b    [depth * width]float32    // packed in panels
	a    [depth*height + 8]float32 // packed in strips, if needed; copyRows may write 8 numbers too many
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

// Sgemm computes the product in passes over k. It applies alpha to b while packing it.
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

// pass is a product over at most depth of k and width columns of b.
type pass struct {
	kernel
	*work
	panels []float32 // of b
	n, k   int
	add    bool // to c
}

// pack copies rows of b, times alpha, into panels that lie next apart.
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

// copy copies n columns of p.k rows of src into strips of cols columns. The strips lie next apart
// in dst, and the last one is padded with zeros. It fills four strips at a time: they share the
// cache lines of src, and few enough lines of dst are open to stay in the L1 cache.
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

// copyStrip copies the first cols of the `left` columns of p.k rows of src and pads with zeros. dst
// needs room for one more vector if cols is not a multiple of eight.
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

// packTransposed is pack for a b that is stored transposed: its columns are rows.
func (p *pass) packTransposed(next int, alpha float32, b []float32, ldb int) {
	w := p.cols
	for j := 0; j < p.n; j += w {
		panel := p.panels[j/w*next:][:w*p.k]
		cols := min(w, p.n-j)
		whole, deep := 0, 0 // rows and columns that transpose has packed
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

// multiply multiplies a, of m rows, in place. The last strip of rows is padded with zeros if it is
// shorter than the kernel's.
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

// multiplyTransposed first packs a, of m columns, into strips. Without packing, the numbers for
// successive p could fall into the same cache set.
func (p *pass) multiplyTransposed(m int, a []float32, lda int, c []float32, ldc int) {
	p.copy(p.work.a[:], p.rows, p.rows*p.k, a, lda, m)
	p.sweep(m, p.work.a[:], 1, p.rows, p.rows*p.k, c, ldc)
}

// sweep multiplies m rows of a by all panels. The strips of a lie `strip` apart.
func (p *pass) sweep(m int, a []float32, rowA, nextA, strip int, c []float32, ldc int) {
	p.tiles(m, c, ldc, func(s int, b, c *float32, ldc int, add bool) {
		p.kernel.multiply(p.k, &a[s*strip], rowA, nextA, b, c, ldc, add)
	})
}

// tiles calls multiply for each strip of rows, numbered from 0, and each panel b, for m rows in
// all. A tile at the edge of c is computed separately.
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

// store writes a row of a tile to c as the kernel would.
func (p *pass) store(c, tile []float32) {
	if !p.add {
		copy(c, tile)
		return
	}
	for j := range c {
		c[j] += tile[j]
	}
}

// goKernel is the kernel in Go. It is slow, and defines the others.
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
				sum[j] += float32(x * y[j]) // the conversion forbids a fused product, which rounds differently
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
