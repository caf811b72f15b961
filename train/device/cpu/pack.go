package cpu

import (
	"fmt"

	"hgld/internal/blas"
	"hgld/train/device"
)

// origin is where a matrix begins.
type origin struct {
	buf device.Buffer
	off int
}

// packed is a matrix that Pack has rearranged, [k,n] as products see it.
type packed struct {
	k, n   int
	transB bool
}

// Pack rearranges w as the BLAS reads it, so that MatMul need not do so each time.
// It does nothing where the BLAS cannot, or w is no whole number of panels.
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
	p := product{shared: lib, panels: values, width: n, b: before, transB: transB, n: n, k: k, ldb: w.Ld, alpha: 1}
	split(b, ceil(k, blas.Depth)*ceil(n, packCols), 1, packProduct{p, panel})
	if b.packed == nil {
		b.packed = map[origin]packed{}
	}
	b.packed[origin{w.Buf, w.Off}] = packed{k, n, transB}
	return true
}

// usePacked takes the right matrix of p as Pack left it, if it did.
func (b *Backend) usePacked(p *product, batch int, at origin) {
	w, found := b.packed[at]
	if !found {
		return
	}
	if batch != 1 || w != (packed{p.k, p.n, p.transB}) || p.alpha != 1 || p.beta != 0 && p.beta != 1 {
		panic(fmt.Sprintf("cpu: MatMul: a matrix packed as %+v in another product", w))
	}
	p.shared, p.panels, p.width = b.blas.(blas.Panels), p.b, p.n
}
