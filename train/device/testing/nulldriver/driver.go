// Package nulldriver is a cuda.Driver that computes nothing and records what is launched. With it
// a training step of a large network can be counted on a machine without a GPU: its kernels, their
// blocks, and by a model of a GPU their time.
package nulldriver

import (
	"unsafe"

	"hgld/train/device/cuda"
)

// Driver is a driver without a GPU. Memory on the device is a number, and what is copied from
// it is zeros.
type Driver struct {
	idle

	// Launches are the kernels and copies since New. A caller may set it to nil.
	Launches []Launch

	card  Card
	calls int // of NVIDIA's libraries
	next  uintptr
	addr  cuda.Address
	names map[cuda.Function]string
	host  [][]byte // pinned memory
}

// idle has what a driver does without leaving a trace.
type idle struct {
	cuda.Driver // nil: a method that neither idle nor Driver has panics
}

func (idle) SetCurrent(cuda.Context) error                                 { return nil }
func (idle) Release(int) error                                             { return nil }
func (idle) Free(cuda.Address) error                                       { return nil }
func (idle) FreeHost(unsafe.Pointer) error                                 { return nil }
func (idle) ToDevice(cuda.Address, unsafe.Pointer, int, cuda.Stream) error { return nil }
func (idle) FreeStream(cuda.Stream) error                                  { return nil }
func (idle) SyncStream(cuda.Stream) error                                  { return nil }
func (idle) WaitEvent(cuda.Stream, cuda.Event) error                       { return nil }
func (idle) FreeEvent(cuda.Event) error                                    { return nil }
func (idle) Record(cuda.Event, cuda.Stream) error                          { return nil }
func (idle) SyncEvent(cuda.Event) error                                    { return nil }
func (idle) Unload(cuda.Module) error                                      { return nil }
func (idle) AllowShared(cuda.Function, int) error                          { return nil }

// Launch is a kernel that was queued, or a copy on the GPU.
type Launch struct {
	Kernel  string  // "copy" for the driver's own
	Blocks  int     // of its grid; 0 for a copy
	Product Product // of a kernel for tensor cores; its Tile is 0 for others
	Parts   int     // the sums that a block of join_f32 adds up for each of its results; 0 for others
	Work    Work    // of a call of NVIDIA's libraries, cublaslt or cudnn

	// Attended are the floating-point operations that a kernel of attention executes on tensor cores; 0 for others.
	Attended float64
}

// New returns a driver with one GPU.
func New(card Card) *Driver {
	return &Driver{card: card, addr: 1 << 32, names: map[cuda.Function]string{}}
}

// handle returns a number that no other handle has.
func (d *Driver) handle() uintptr { d.next++; return d.next }

// Version returns CUDA 13.0.
func (d *Driver) Version() (int, error) { return 13000, nil }

// Devices returns 1.
func (d *Driver) Devices() (int, error) { return 1, nil }

// Device describes the GPU.
func (d *Driver) Device(int) (cuda.Card, error) {
	return cuda.Card{
		Name: d.card.Name, Major: d.card.Major, Minor: d.card.Minor, Memory: d.card.Memory,
		Multiprocessors: d.card.Multiprocessors, SharedPerBlock: d.card.sharedPerBlock(),
	}, nil
}

// Retain returns a handle.
func (d *Driver) Retain(int) (cuda.Context, error) { return 1, nil }

// MemInfo says that all memory is free.
func (d *Driver) MemInfo() (free, total int, err error) { return d.card.Memory, d.card.Memory, nil }

// Alloc returns an address that no other memory has.
func (d *Driver) Alloc(bytes int) (cuda.Address, error) {
	at := d.addr
	d.addr += cuda.Address((bytes + 511) &^ 511)
	return at, nil
}

// AllocHost returns memory of Go's heap, which does not move.
func (d *Driver) AllocHost(bytes int) (unsafe.Pointer, error) {
	b := make([]byte, max(bytes, 1))
	d.host = append(d.host, b)
	return unsafe.Pointer(&b[0]), nil
}

// ToHost copies zeros.
func (d *Driver) ToHost(dst unsafe.Pointer, _ cuda.Address, bytes int, _ cuda.Stream) error {
	clear(unsafe.Slice((*byte)(dst), bytes))
	return nil
}

// Copy records a copy.
func (d *Driver) Copy(_, _ cuda.Address, _ int, _ cuda.Stream) error {
	d.Launches = append(d.Launches, Launch{Kernel: "copy"})
	return nil
}

// CopyRows records a copy on the GPU.
func (d *Driver) CopyRows(r cuda.Rows, _ cuda.Stream) error {
	if r.DstHost == nil && r.SrcHost == nil {
		d.Launches = append(d.Launches, Launch{Kernel: "copy"})
	}
	return nil
}

// Set8 records a copy, which takes as long.
func (d *Driver) Set8(cuda.Address, uint8, int, cuda.Stream) error {
	d.Launches = append(d.Launches, Launch{Kernel: "copy"})
	return nil
}

// NewStream returns a handle.
func (d *Driver) NewStream() (cuda.Stream, error) { return cuda.Stream(d.handle()), nil }

// NewEvent returns a handle.
func (d *Driver) NewEvent(cuda.EventUse) (cuda.Event, error) { return cuda.Event(d.handle()), nil }

// Done returns true.
func (d *Driver) Done(cuda.Event) (bool, error) { return true, nil }

// Load returns a handle.
func (d *Driver) Load([]byte) (cuda.Module, error) { return cuda.Module(d.handle()), nil }

// Function returns a handle and keeps the kernel's name.
func (d *Driver) Function(_ cuda.Module, name string) (cuda.Function, error) {
	f := cuda.Function(d.handle())
	d.names[f] = name
	return f, nil
}

// Launch records a kernel.
func (d *Driver) Launch(f cuda.Function, grid, _ [3]uint32, _ int, _ cuda.Stream, params unsafe.Pointer) error {
	arguments := (*[8]unsafe.Pointer)(params)
	l := Launch{Kernel: d.names[f], Blocks: int(grid[0])}
	l.Attended = attended(l.Kernel, arguments)
	if l.Product = productOf(l.Kernel, arguments[0]); l.Kernel == "join_f32" {
		l.Parts = int(min(*(*int64)(arguments[4]), *(*int64)(arguments[5])))
	}
	d.Launches = append(d.Launches, l)
	return nil
}
