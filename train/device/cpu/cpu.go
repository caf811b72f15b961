// Package cpu is the Backend that computes on the host: float32 with float64 sums, and
// matrix products by a BLAS. Package reference defines the operations in plain loops;
// here they are made fast.
//
// The number of threads changes no byte of a result. Work is cut into spans by its shape
// alone, one thread computes a span, and partial sums are joined in span order.
package cpu

import (
	"fmt"
	"runtime"

	"hgld/internal/blas"
	"hgld/train/device"
)

// Backend computes on the host. Operations come from one goroutine and are done on
// return. They allocate nothing once their scratch memory has grown to its size.
type Backend struct {
	// Poison fills the memory of Alloc with NaN (bytes 0xFF, −1 as an integer), so that
	// tests notice an operation that reads what it should have written.
	Poison bool

	pool    *workerPool
	blas    blas.Library
	exact   blas.Library   // of Scores
	err     error          // why the requested BLAS is not used
	scratch map[string]any // growing slices by name, see scratch
	tasks   map[any]any    // one task of each type, see split
	packed  map[origin]packed
}

var (
	_ device.Backend = (*Backend)(nil)
	_ device.Ragged  = (*Backend)(nil)
	_ device.Lender  = (*Backend)(nil)
	_ device.Packer  = (*Backend)(nil)

	_ device.Symmetric = (*Backend)(nil)
)

// New returns a Backend with the given number of threads (0 means one for each processor)
// and the BLAS that blas.Default chooses. If HGLD_BLAS names one that cannot be opened, Sync
// returns that error.
func New(threads int) *Backend {
	lib, err := blas.Default()
	if err != nil {
		lib = blas.Gonum()
	}
	b := NewWith(threads, lib)
	b.err = err
	return b
}

// NewWith is New with a given BLAS.
func NewWith(threads int, lib blas.Library) *Backend {
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	b := &Backend{
		pool:    newWorkerPool(threads),
		blas:    lib,
		exact:   blas.Native(),
		scratch: map[string]any{},
		tasks:   map[any]any{},
	}
	runtime.AddCleanup(b, (*workerPool).close, b.pool)
	return b
}

// Name returns "cpu".
func (b *Backend) Name() string { return "cpu" }

// Supports reports whether activations can be stored in t. Copy converts
// between all types.
func (b *Backend) Supports(t device.DType) bool { return t == device.F32 }

// Threads returns the number of threads that the Backend works with.
func (b *Backend) Threads() int { return b.pool.threads }

// shapes returns a description of a call whose arrays do not fit together.
func shapes(op string, arrays ...device.Array) string {
	return fmt.Sprintf("cpu: %s: shapes do not fit: %v", op, arrays)
}
