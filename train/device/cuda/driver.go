package cuda

import (
	"fmt"
	"unsafe"
)

// Driver is the part of CUDA's driver API that the backend uses, under the API's names. It has
// two implementations: libcuda opened at run time, and gorgonia.org/cu behind the build tag
// "gorgonia". Handles are the driver's own, and device memory is an address. Methods that
// queue work return before it is done.
type Driver interface {
	// Version returns the CUDA version that the driver supports: 12040 is CUDA 12.4.
	Version() (int, error)
	// Devices returns the number of GPUs.
	Devices() (int, error)
	// Device describes a GPU, counted from 0.
	Device(ordinal int) (Card, error)

	// Retain returns the primary context of a GPU.
	Retain(ordinal int) (Context, error)
	// SetCurrent makes a context current on the calling thread.
	SetCurrent(Context) error
	// Release releases the primary context of a GPU.
	Release(ordinal int) error
	// MemInfo returns the free and the total memory of the current GPU in bytes.
	MemInfo() (free, total int, err error)

	// Alloc allocates memory on the GPU.
	Alloc(bytes int) (Address, error)
	// Free frees memory from Alloc.
	Free(Address) error
	// AllocHost returns pinned memory, which asynchronous copies need.
	AllocHost(bytes int) (unsafe.Pointer, error)
	// FreeHost frees memory from AllocHost.
	FreeHost(unsafe.Pointer) error

	// ToDevice queues a copy from the host.
	ToDevice(dst Address, src unsafe.Pointer, bytes int, s Stream) error
	// ToHost queues a copy to the host.
	ToHost(dst unsafe.Pointer, src Address, bytes int, s Stream) error
	// Copy queues a copy on the GPU.
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
	// WaitEvent makes work queued on s from now on wait for e.
	WaitEvent(s Stream, e Event) error
	// NewEvent returns an event for a use.
	NewEvent(EventUse) (Event, error)
	// FreeEvent frees an event.
	FreeEvent(Event) error
	// Record makes e mark the end of the work queued on s so far.
	Record(e Event, s Stream) error
	// SyncEvent waits for the work before the last Record of an event.
	SyncEvent(Event) error
	// Done reports whether the work before the last Record of e is finished.
	Done(Event) (bool, error)
	// Elapsed returns the milliseconds between two timed events.
	Elapsed(from, to Event) (float32, error)

	// Load loads machine code, or compiles PTX, for the current GPU. The error has what the driver's
	// compiler says.
	Load(image []byte) (Module, error)
	// Unload frees a module and its functions.
	Unload(Module) error
	// Function finds a kernel in a module.
	Function(m Module, name string) (Function, error)
	// Attributes returns the resources that a kernel needs.
	Attributes(Function) (FunctionAttributes, error)
	// AllowShared permits launches of f with up to this much dynamic shared memory.
	AllowShared(f Function, bytes int) error
	// Launch queues a kernel. params points to an array of pointers to its arguments. The array
	// and the arguments must not be on a goroutine's stack, and are copied before Launch
	// returns.
	Launch(f Function, grid, block [3]uint32, shared int, s Stream, params unsafe.Pointer) error

	// BeginCapture records work queued on s into a graph, until EndCapture, instead of running
	// it.
	BeginCapture(s Stream) error
	// EndCapture returns the graph of the work queued since BeginCapture.
	EndCapture(s Stream) (Graph, error)
	// LaunchGraph queues all work of a graph.
	LaunchGraph(g Graph, s Stream) error
	// FreeGraph frees a graph.
	FreeGraph(Graph) error
}

// Handles of the driver. 0 means none.
type (
	Context  uintptr
	Stream   uintptr
	Event    uintptr
	Module   uintptr
	Function uintptr
	Graph    uintptr // an instantiated graph
	Address  uint64  // in device memory
)

// EventUse is what an event is made for. Each works in any use.
type EventUse int

// The uses of events.
const (
	Ordered EventUse = iota // streams wait for it, or it is asked about; the host spins in SyncEvent
	Awaited                 // the host waits for it, and leaves the processor to others meanwhile
	Timed                   // it records the time at which it was reached
)

// Card describes a device.
type Card struct {
	Ordinal         int    // from 0
	Name            string // as reported by the driver
	Major, Minor    int    // compute capability
	Memory          int    // bytes
	Multiprocessors int    // number of them
	SharedPerBlock  int    // bytes, with opt-in
}

// Rows is a copy of rows between two matrices. Each is on the device or, if its host address
// is set, in pinned memory. Sizes are in bytes.
type Rows struct {
	Dst, Src           Address        // on the device
	DstHost, SrcHost   unsafe.Pointer // in pinned memory; nil: on the device
	DstPitch, SrcPitch int            // from one row to the next
	Width, Rows        int            // bytes of a row, number of rows
}

// FunctionAttributes holds the resources that a kernel needs on the GPU for which it was
// compiled.
type FunctionAttributes struct {
	Registers  int // per thread
	Shared     int // static bytes per block
	Local      int // bytes per thread; nonzero if registers are spilled
	MaxThreads int // per block
}

// Error is a failed call of the driver.
type Error struct {
	Call string // cuMemAlloc
	Code int    // CUresult
	Name string // CUDA_ERROR_OUT_OF_MEMORY
	Text string // driver's description
}

// Error returns the call, the name of its code and the driver's description.
func (e *Error) Error() string {
	if e.Name == "" {
		return fmt.Sprintf("%s: error %d", e.Call, e.Code)
	}
	return fmt.Sprintf("%s: %s (%s)", e.Call, e.Name, e.Text)
}

// Codes that the backend handles specially.
const (
	codeOutOfMemory = 2
	codeStub        = 34 // the library of the toolkit, which only links programs
	codeNoDevice    = 100
	codeNotReady    = 600
)
