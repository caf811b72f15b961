package cuda

import (
	"errors"
	"fmt"
	"sync/atomic"

	"hgld/train/device"
	"hgld/train/device/cuda/vendor"
)

// allocation is memory on the GPU between Alloc and Free. Buffers are parts of it.
type allocation struct {
	addr Address
	size int

	used    atomic.Bool // some operation has used it
	target  atomic.Bool // an upload followed such a use: from now on lastUse marks uses
	pending atomic.Bool // the compute stream has not waited for uploaded yet

	lastUse  Event // on the compute stream, after the last operation that used it
	marked   bool  // lastUse was recorded
	uploaded Event // on the stream of its uploads, after the last one
}

// buffer is a part of an allocation.
type buffer struct {
	root *allocation
	addr Address
	size int
}

func (m *buffer) Size() int { return m.size }

// retired is freed memory that queued work may still use.
type retired struct {
	memory *allocation
	done   Event
}

// Alloc allocates memory on the GPU. If there is not enough, the error is sticky, a
// device.OutOfMemory.
func (b *Backend) Alloc(bytes int) device.Buffer {
	if bytes < 0 {
		panic(fmt.Sprintf("cuda: alloc of %d bytes", bytes))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	m := &allocation{size: bytes}
	if b.err == nil {
		defer b.enter()()
		m.addr = b.allocate("an array", bytes)
		if b.Poison && m.addr != 0 && b.capture == nil {
			b.check("Alloc", b.drv.Set8(m.addr, 0xFF, bytes, b.compute))
			m.used.Store(true)
		}
	}
	return &buffer{m, m.addr, bytes}
}

// allocate gets memory from the driver. It frees retired memory first.
func (b *Backend) allocate(what string, bytes int) Address {
	b.reap(false)
	addr, err := b.drv.Alloc(max(bytes, 1))
	if isOutOfMemory(err) && b.capture == nil {
		b.reap(true)
		addr, err = b.drv.Alloc(max(bytes, 1))
	}
	if isOutOfMemory(err) {
		free, total, _ := b.drv.MemInfo()
		err = &device.OutOfMemory{What: what, Want: bytes, Used: b.inUse, Free: free, Total: total}
	}
	if !b.check("", err) {
		return 0
	}
	b.inUse += bytes
	return addr
}

func isOutOfMemory(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == codeOutOfMemory
}

// shortage makes a device.OutOfMemory of an error of the driver or a library that says so: a module, a graph, a
// handle and local memory of a kernel need memory, too. The context must be current.
func (b *Backend) shortage(err error) error {
	var pinned *Error
	var library *vendor.Error
	switch {
	case errors.As(err, new(*device.OutOfMemory)):
		return err
	case errors.As(err, &pinned) && pinned.Call == "cuMemHostAlloc": // memory of the host
		return err
	case isOutOfMemory(err), errors.As(err, &library) && library.OutOfMemory():
		free, total, _ := b.drv.MemInfo()
		return &device.OutOfMemory{Err: err, Used: b.inUse, Free: free, Total: total}
	}
	return err
}

// What a step takes of the GPU's memory beside its arrays, in bytes, estimated with much to spare: modules, local
// memory and scratch of the kernels, and the kernels that NVIDIA's libraries load.
const (
	roomOfKernels   = 384 << 20
	roomOfLibraries = 512 << 20
)

// Room implements device.Crowded. It opens NVIDIA's libraries if they compute in t, which takes the first part of
// their memory.
func (b *Backend) Room(bytes int, t device.DType) error {
	what, want := "a step with its kernels", bytes+roomOfKernels
	if l := b.library(t); l.PlansProducts() || l.PlansConvolutions() {
		what, want = "a step with its kernels and NVIDIA's libraries", want+roomOfLibraries
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return b.err
	}
	defer b.enter()()
	b.reap(true)
	free, total, err := b.drv.MemInfo()
	if err != nil || want <= free {
		return err
	}
	return &device.OutOfMemory{What: what, Want: want, Used: b.inUse, Free: free, Total: total}
}

// Free frees memory once all work queued so far is done.
func (b *Backend) Free(buf device.Buffer) {
	m := buf.(*buffer).root
	b.mu.Lock()
	defer b.mu.Unlock()
	if m.addr == 0 || b.closed {
		return
	}
	defer b.enter()()
	if b.capture != nil {
		b.capture.freed = append(b.capture.freed, m)
		return
	}
	b.retire(m)
}

// retire schedules m to be freed when the work queued so far is done.
func (b *Backend) retire(m *allocation) {
	b.awaitUpload(m)
	done := b.event()
	b.check("Free", b.drv.Record(done, b.compute))
	b.retired = append(b.retired, retired{m, done})
	b.reap(false)
}

// reap frees retired memory whose work is done, in the order of retirement. If wait is set, it
// waits for all of it.
func (b *Backend) reap(wait bool) {
	for len(b.retired) > 0 {
		r := b.retired[0]
		if wait {
			b.check("", b.drv.SyncEvent(r.done))
		} else if done, err := b.drv.Done(r.done); err == nil && !done {
			return
		}
		b.retired = b.retired[1:]
		b.release(r.memory)
		b.spare = append(b.spare, r.done)
	}
}

func (b *Backend) release(m *allocation) {
	b.check("Free", b.drv.Free(m.addr))
	b.inUse -= m.size
	m.addr = 0
	for _, e := range []Event{m.lastUse, m.uploaded} {
		if e != 0 {
			b.spare = append(b.spare, e)
		}
	}
	m.lastUse, m.uploaded = 0, 0
}

// event returns an unused event.
func (b *Backend) event() Event {
	if n := len(b.spare); n > 0 {
		e := b.spare[n-1]
		b.spare = b.spare[:n-1]
		return e
	}
	e, err := b.drv.NewEvent(Ordered)
	b.check("", err)
	return e
}

// Part returns a range of b that starts at an offset.
func (b *Backend) Part(buf device.Buffer, offset, bytes int) device.Buffer {
	m := buf.(*buffer)
	if offset < 0 || bytes < 0 || offset+bytes > m.size {
		panic(fmt.Sprintf("cuda: part of %d bytes at %d of a buffer of %d", bytes, offset, m.size))
	}
	return &buffer{m.root, m.addr + Address(offset), bytes}
}

// Used returns the number of bytes allocated on the GPU, including scratch memory.
func (b *Backend) Used() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.inUse
}

// scratch is the memory for intermediate results of operations. An operation owns its areas
// until the next one begins. The order of the stream separates their uses.
type scratch struct {
	memory *allocation
	old    []*allocation // smaller ones, which recorded programs may still use
}

const (
	scratchAlign = 256
	leastScratch = 1 << 20
)

// scratch returns the addresses of areas with the given sizes in bytes.
func (b *Backend) scratch(op string, sizes ...int) (areas [maxAreas]Address) {
	b.mu.Lock()
	defer b.mu.Unlock()
	total := 0
	for _, n := range sizes {
		total += (n + scratchAlign - 1) / scratchAlign * scratchAlign
	}
	if b.err != nil || !b.growScratch(op, total) {
		return areas
	}
	at := b.arena.memory.addr
	for i, n := range sizes {
		areas[i] = at
		at += Address((n + scratchAlign - 1) / scratchAlign * scratchAlign)
	}
	if b.Poison {
		defer b.enter()()
		b.check(op, b.drv.Set8(b.arena.memory.addr, 0xFF, total, b.compute))
	}
	return areas
}

// maxAreas is the largest number of scratch areas of an operation.
const maxAreas = 8

func (b *Backend) growScratch(op string, bytes int) bool {
	m := b.arena.memory
	if m != nil && m.size >= bytes {
		return true
	}
	if b.capture != nil {
		return b.check(op, fmt.Errorf("wants %d bytes of scratch while it is being recorded; run it once before", bytes))
	}
	defer b.enter()()
	size := leastScratch
	for size < bytes {
		size += size / 2
	}
	if m != nil {
		if b.programs > 0 {
			b.arena.old = append(b.arena.old, m)
		} else {
			b.retire(m)
		}
		b.arena.memory = nil
	}
	next := &allocation{size: size}
	if next.addr = b.allocate("the scratch of "+op, size); next.addr == 0 {
		return false
	}
	b.arena.memory = next
	return true
}

// freeAll frees the memory that the Backend itself holds.
func (b *Backend) freeAll() {
	b.reap(true)
	for _, m := range append(b.arena.old, b.arena.memory) {
		if m != nil {
			b.release(m)
		}
	}
	b.arena = scratch{}
	for i := range b.staging {
		for _, s := range b.staging[i].all {
			b.drv.FreeHost(s.mem)
			b.spare = append(b.spare, s.done)
		}
		b.staging[i].all = nil
	}
}
