// Package device declares what a device must do to train and evaluate. Memory holds its arrays.
// Dense is the algebra of matrices and vectors, Image convolutions and pixels, Rank the ranking
// losses and metrics, Update the steps of optimizers. A Backend has them all. It is responsible for
// arithmetic, copies, ordering, the choice of kernels and its scratch memory, and knows no tapes,
// names, schedules or files.
//
// Operations are queued and return at once; on the CPU they are finished when they return. Wrong
// shapes panic at the call. Device failures are sticky: the first is kept with the name of its
// operation, later operations do nothing, and Wait and Sync return it. Only Wait and Sync block.
//
// Dimensions throughout: Q queries, G gallery rows, D embedding, L levels, C classes or channels,
// N, H, W images, K filters. The gradient of x is dx. The destination comes first.
package device

import (
	"fmt"

	"hgld/internal/crash"
)

// DType is the storage type of an array's elements.
type DType uint8

// The storage types. Sums are kept in F32 or wider whatever the storage.
const (
	F32 DType = iota
	BF16
	F16
	I32
	U8
)

// Size returns the bytes of one element.
func (d DType) Size() int { return [...]int{4, 2, 2, 4, 1}[d] }

// String is the name of the constant.
func (d DType) String() string { return [...]string{"F32", "BF16", "F16", "I32", "U8"}[d] }

// Buffer is a piece of device memory, opaque to all but the backend that made it.
type Buffer interface {
	// Size returns its bytes.
	Size() int
}

// Array is a dense row-major array in device memory. It is a value; the zero value means absent.
// Only a matrix may have a row stride Ld greater than its number of columns, so that ranges of
// rows and of columns are views.
//
// Images are [N,H,W,C], convolution weights [K,R,S,C/groups].
type Array struct {
	Buf  Buffer // nil: the array is absent
	Off  int    // in elements
	Type DType  // of an element
	N    int    // dimensions in use
	Dims [4]int // sizes; 1 beyond N
	Ld   int    // elements from one row of a matrix to the next
}

// Make returns an array of the given type and dimensions over buf. It panics if buf is too small.
func Make(buf Buffer, off int, t DType, dims ...int) Array {
	if len(dims) > 4 {
		panic("device: more than four dimensions")
	}
	a := Array{Buf: buf, Off: off, Type: t, N: len(dims), Dims: [4]int{1, 1, 1, 1}}
	copy(a.Dims[:], dims)
	if a.N > 0 {
		a.Ld = a.Dims[a.N-1]
	}
	if buf != nil && (off+a.Len())*t.Size() > buf.Size() {
		panic(fmt.Sprintf("device: %v over a buffer of %d bytes at %d", a, buf.Size(), off))
	}
	return a
}

// New allocates an array on b; its contents are undefined.
func New(b Memory, t DType, dims ...int) Array {
	n := t.Size()
	for _, d := range dims {
		n *= d
	}
	return Make(b.Alloc(n), 0, t, dims...)
}

// Absent reports whether a is the zero array, which stands for "not given".
func (a Array) Absent() bool { return a.Buf == nil && a.N == 0 }

// Len returns the number of elements, not counting gaps between rows.
func (a Array) Len() int { return a.Dims[0] * a.Dims[1] * a.Dims[2] * a.Dims[3] }

// Rows returns the product of all dimensions but the last.
func (a Array) Rows() int {
	if a.N == 0 || a.Cols() == 0 {
		return 1
	}
	return a.Len() / a.Cols()
}

// Cols returns the size of the last dimension (1 for a scalar).
func (a Array) Cols() int {
	if a.N == 0 {
		return 1
	}
	return a.Dims[a.N-1]
}

// Shape returns the dimensions in use.
func (a Array) Shape() []int { return a.Dims[:a.N] }

// Contiguous reports whether rows follow each other without gaps.
func (a Array) Contiguous() bool { return a.N < 2 || a.Ld == a.Cols() }

// Reshape returns the same elements with other dimensions.
func (a Array) Reshape(dims ...int) Array {
	b := Make(nil, a.Off, a.Type, dims...)
	if !a.Contiguous() || b.Len() != a.Len() {
		panic(fmt.Sprintf("device: %v reshaped to %v", a, b))
	}
	b.Buf = a.Buf
	return b
}

// RowRange is the view of rows [lo, hi) of the first dimension.
func (a Array) RowRange(lo, hi int) Array {
	if a.N == 0 || lo < 0 || hi < lo || hi > a.Dims[0] {
		panic(fmt.Sprintf("device: rows %d:%d of %v", lo, hi, a))
	}
	step := a.Len() / max(a.Dims[0], 1)
	if a.N == 2 {
		step = a.Ld
	}
	a.Off += lo * step
	a.Dims[0] = hi - lo
	return a
}

// ColRange is the view of columns [lo, hi) of a matrix.
func (a Array) ColRange(lo, hi int) Array {
	if a.N != 2 || lo < 0 || hi < lo || hi > a.Dims[1] {
		panic(fmt.Sprintf("device: columns %d:%d of %v", lo, hi, a))
	}
	a.Off += lo
	a.Dims[1] = hi - lo
	return a
}

// String writes element type and shape: F32[256 512].
func (a Array) String() string { return fmt.Sprintf("%v%v", a.Type, a.Dims[:a.N]) }

// Ticket identifies a download that may not have finished.
type Ticket uint64

// Memory allocates arrays and moves them.
type Memory interface {
	// Name returns the device's name for messages and logs.
	Name() string
	// Supports reports whether activations may have the given type. Copy converts
	// between all types.
	Supports(DType) bool
	// Alloc returns memory with undefined contents; tests poison it. If a GPU lacks memory it
	// records an *OutOfMemory, which Wait and Sync return.
	Alloc(bytes int) Buffer
	// Free frees a buffer once all work queued so far is done.
	Free(Buffer)
	// Part returns a piece of b as a Buffer. It is not freed and becomes invalid with b. The
	// offset, in bytes, must be a multiple of 256.
	Part(b Buffer, offset, bytes int) Buffer
	// Upload copies src into dst. It is safe for concurrent use; src may be reused on return.
	Upload(dst Array, src []byte)
	// Download copies src into dst, which is valid after Wait or Sync.
	Download(dst []byte, src Array) Ticket
	// Wait returns when a download is complete, with the device's first error.
	Wait(Ticket) error
	// Sync returns when all queued work is complete, with the device's first error.
	Sync() error
	// Copy copies src into dst and converts the type: between floats to the nearest,
	// ties to even; from a float to an integer towards zero, to the nearest that fits,
	// NaN to 0.
	Copy(dst, src Array)
	// Fill sets every element of dst to v, converted as by Copy.
	Fill(dst Array, v float32)
}

// Backend is a device that implements every operation.
type Backend interface {
	Memory
	Dense
	Image
	Rank
	Update
}

// Do runs the operations of f in order on one goroutine and returns the first
// error of f or of the device.
func Do(b Backend, f func() error) error {
	done := make(chan error, 1)
	go func() {
		defer crash.Guard()
		lockThread()
		if err := f(); err != nil {
			done <- err
			return
		}
		done <- b.Sync()
	}()
	return <-done
}
