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
	Version() (int, error) // 12040 is CUDA 12.4
	Devices() (int, error)
	Device(ordinal int) (Card, error)

	// Retain returns the primary context of a card, SetCurrent makes it that of the
	// calling thread, and Release gives it up.
	Retain(ordinal int) (Context, error)
	SetCurrent(Context) error
	Release(ordinal int) error
	MemInfo() (free, total int, err error)

	Alloc(bytes int) (Address, error)
	Free(Address) error
	// AllocHost returns pinned memory, which asynchronous copies need.
	AllocHost(bytes int) (unsafe.Pointer, error)
	FreeHost(unsafe.Pointer) error

	ToDevice(dst Address, src unsafe.Pointer, bytes int, s Stream) error
	ToHost(dst unsafe.Pointer, src Address, bytes int, s Stream) error
	Copy(dst, src Address, bytes int, s Stream) error
	CopyRows(r Rows, s Stream) error
	Set8(dst Address, v uint8, bytes int, s Stream) error

	NewStream() (Stream, error)
	FreeStream(Stream) error
	SyncStream(Stream) error
	// WaitEvent makes what is queued on s from now on wait for e.
	WaitEvent(s Stream, e Event) error
	// NewEvent returns an event; a timed one keeps the time at which it was reached.
	NewEvent(timed bool) (Event, error)
	FreeEvent(Event) error
	Record(e Event, s Stream) error
	SyncEvent(Event) error
	// Done reports whether the work before the last Record of e is finished.
	Done(Event) (bool, error)
	// Elapsed returns the milliseconds between two timed events.
	Elapsed(from, to Event) (float32, error)

	Load(ptx []byte) (Module, error)
	Unload(Module) error
	Function(m Module, name string) (Function, error)
	Attributes(Function) (FunctionAttributes, error)
	// AllowShared lets launches of f ask for that much dynamic shared memory.
	AllowShared(f Function, bytes int) error
	// Launch queues a kernel. params points to an array of pointers to its arguments,
	// which are copied before Launch returns; neither lies on a goroutine's stack.
	Launch(f Function, grid, block [3]uint32, shared int, s Stream, params unsafe.Pointer) error

	// BeginCapture makes what is queued on s until EndCapture a graph instead.
	BeginCapture(s Stream) error
	EndCapture(s Stream) (Graph, error)
	LaunchGraph(g Graph, s Stream) error
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
	Ordinal         int
	Name            string
	Major, Minor    int // compute capability
	Memory          int // bytes
	Multiprocessors int
	SharedPerBlock  int // bytes, with opting in
}

// Rows is a copy of rows between two matrices, each on the device or, where the host's
// address is given, in pinned memory. Sizes are bytes.
type Rows struct {
	Dst, Src           Address
	DstHost, SrcHost   unsafe.Pointer
	DstPitch, SrcPitch int // from one row to the next
	Width, Rows        int
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
	Code int
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
