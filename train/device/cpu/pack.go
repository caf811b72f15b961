package cpu

import (
	"fmt"

	"hgld/internal/blas"
	"hgld/train/device"
)

// origin identifies a matrix by its first element.
type origin struct {
	buf device.Buffer
	off int
}

// packed is a matrix rearranged by Pack, [k,n] as products use it.
type packed struct {
	k, n   int
	transB bool
}

// Pack rearranges w into the layout of the BLAS, so that MatMul does not repeat this for each
// product. It returns false and does nothing if the BLAS cannot pack, or if w does not divide
// into whole panels.
func (b *Backend) Pack(w device.Array, transB bool) bool {
	lib, ok := b.blas.(blas.Panels)
	if !ok || w.N != 2 || !w.Contiguous() || w.Len() == 0 {
		return false
	}
	k, n := w.Dims[0], w.Dims[1]
	if transB {
		k, n = n, k
	}
	_, panel, _ := lib.Shape()
	if n%panel != 0 {
		return false
	}
	values := f32(w)[:k*n]
	before := scratch[float32](b, "gemm.panels", len(values))
	copy(before, values)
	p := product{shared: lib, panels: values, width: n, b: before, transB: transB, n: n, k: k, to: k, ldb: w.Ld, alpha: 1}
	split(b, ceil(k, blas.Depth)*ceil(n, packCols), 1, packProduct{p, panel})
	if b.packed == nil {
		b.packed = map[origin]packed{}
	}
	b.packed[origin{w.Buf, w.Off}] = packed{k, n, transB}
	return true
}

// usePacked replaces the right matrix of p by its packed form if Pack has made one.
func (b *Backend) usePacked(p *product, batch int, at origin) {
	w, found := b.packed[at]
	if !found {
		return
	}
	if batch != 1 || w != (packed{p.k, p.n, p.transB}) || p.alpha != 1 || p.beta != 0 && p.beta != 1 {
		panic(fmt.Sprintf("cpu: MatMul: a matrix packed as %+v is used in another product", w))
	}
	p.shared, p.panels, p.width = b.blas.(blas.Panels), p.b, p.n
}
