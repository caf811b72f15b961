package cuda

import (
	"fmt"
	"unsafe"
)

// Driver is what the backend asks of CUDA's driver, in the words of its API. Two
// implementations exist: libcuda opened at run time, and gorgonia.org/cu behind the
// build tag "gorgonia". Handles are the driver's own; memory on the device is an
// address. Methods that queue work return before it is done.
type Driver interface {
	// Version returns the CUDA version that the driver supports: 12040 is CUDA 12.4.
	Version() (int, error)
	// Devices returns the number of cards.
	Devices() (int, error)
	// Device describes a card, counted from 0.
	Device(ordinal int) (Card, error)

	// Retain returns the primary context of a card.
	Retain(ordinal int) (Context, error)
	// SetCurrent makes a context that of the calling thread.
	SetCurrent(Context) error
	// Release gives up the primary context of a card.
	Release(ordinal int) error
	// MemInfo returns the bytes of the current card, free and in all.
	MemInfo() (free, total int, err error)

	// Alloc allocates memory on the card.
	Alloc(bytes int) (Address, error)
	// Free frees memory of Alloc.
	Free(Address) error
	// AllocHost returns pinned memory, which asynchronous copies need.
	AllocHost(bytes int) (unsafe.Pointer, error)
	// FreeHost frees memory of AllocHost.
	FreeHost(unsafe.Pointer) error

	// ToDevice queues a copy from the host.
	ToDevice(dst Address, src unsafe.Pointer, bytes int, s Stream) error
	// ToHost queues a copy to the host.
	ToHost(dst unsafe.Pointer, src Address, bytes int, s Stream) error
	// Copy queues a copy on the card.
	Copy(dst, src Address, bytes int, s Stream) error
	// CopyRows queues a copy of the rows of a matrix.
	CopyRows(r Rows, s Stream) error
	// Set8 queues setting bytes to v.
	Set8(dst Address, v uint8, bytes int, s Stream) error

	// NewStream returns a stream that does not wait for the default one.
	NewStream() (Stream, error)
	// FreeStream frees a stream when its work is done.
	FreeStream(Stream) error
	// SyncStream waits for all work queued on a stream.
	SyncStream(Stream) error
	// WaitEvent makes what is queued on s from now on wait for e.
	WaitEvent(s Stream, e Event) error
	// NewEvent returns an event; a timed one keeps the time at which it was reached.
	NewEvent(timed bool) (Event, error)
	// FreeEvent frees an event.
	FreeEvent(Event) error
	// Record makes e stand for the work queued on s so far.
	Record(e Event, s Stream) error
	// SyncEvent waits for the work before the last Record of an event.
	SyncEvent(Event) error
	// Done reports whether the work before the last Record of e is finished.
	Done(Event) (bool, error)
	// Elapsed returns the milliseconds between two timed events.
	Elapsed(from, to Event) (float32, error)

	// Load compiles PTX for the current card.
	Load(ptx []byte) (Module, error)
	// Unload frees a module and its functions.
	Unload(Module) error
	// Function finds a kernel in a module.
	Function(m Module, name string) (Function, error)
	// Attributes returns what a kernel needs.
	Attributes(Function) (FunctionAttributes, error)
	// AllowShared lets launches of f ask for that much dynamic shared memory.
	AllowShared(f Function, bytes int) error
	// Launch queues a kernel. params points to an array of pointers to its arguments,
	// which are copied before Launch returns; neither lies on a goroutine's stack.
	Launch(f Function, grid, block [3]uint32, shared int, s Stream, params unsafe.Pointer) error

	// BeginCapture makes what is queued on s until EndCapture a graph instead.
	BeginCapture(s Stream) error
	// EndCapture returns the graph of what was queued since BeginCapture.
	EndCapture(s Stream) (Graph, error)
	// LaunchGraph queues all work of a graph.
	LaunchGraph(g Graph, s Stream) error
	// FreeGraph frees a graph.
	FreeGraph(Graph) error
}

// Handles of the driver. 0 is none.
type (
	Context  uintptr
	Stream   uintptr
	Event    uintptr
	Module   uintptr
	Function uintptr
	Graph    uintptr // one that is ready to be launched
	Address  uint64  // in device memory
)

// Card describes a device.
type Card struct {
	Ordinal         int    // from 0
	Name            string // as the driver gives it
	Major, Minor    int    // compute capability
	Memory          int    // bytes
	Multiprocessors int    // number of them
	SharedPerBlock  int    // bytes, with opting in
}

// Rows is a copy of rows between two matrices, each on the device or, where the host's
// address is given, in pinned memory. Sizes are bytes.
type Rows struct {
	Dst, Src           Address        // on the device
	DstHost, SrcHost   unsafe.Pointer // in pinned memory; nil: on the device
	DstPitch, SrcPitch int            // from one row to the next
	Width, Rows        int            // bytes of a row, number of rows
}

// FunctionAttributes are what a kernel needs on the card it was compiled for.
type FunctionAttributes struct {
	Registers  int // a thread
	Shared     int // static bytes a block
	Local      int // bytes a thread; not 0 where registers are spilled
	MaxThreads int // a block
}

// Error is a call of the driver that failed.
type Error struct {
	Call string // cuMemAlloc
	Code int    // CUresult
	Name string // CUDA_ERROR_OUT_OF_MEMORY
	Text string // what the driver says of it
}

// Error is the call, the name of its code and what the driver says of it.
func (e *Error) Error() string {
	if e.Name == "" {
		return fmt.Sprintf("%s: error %d", e.Call, e.Code)
	}
	return fmt.Sprintf("%s: %s (%s)", e.Call, e.Name, e.Text)
}

// Codes that the backend treats by themselves.
const (
	codeOutOfMemory = 2
	codeNoDevice    = 100
	codeNotReady    = 600
)
