package cuda

import (
	"fmt"
	"slices"
	"unsafe"

	"hgld/train/device"
)

// kernel is a function of a loaded module.
type kernel struct {
	fn     Function
	shared int // limit of its dynamic shared memory in bytes
}

// usualShared is the dynamic shared memory in bytes that a kernel gets without a special
// request.
const usualShared = 48 << 10

// call collects the arguments of one launch in the order of the kernel's parameters. It
// belongs to its Backend, and each operation reuses it, so that a launch allocates nothing.
type call struct {
	b      *Backend
	op     string
	typed  bool         // some arrays are activations
	dtype  device.DType // of the activations
	n      int
	params [maxParams]unsafe.Pointer
	words  [maxParams]uint64
	data   [maxData]byte // arguments passed as structures
	used   int           // bytes used in data
	marked []*allocation // memory that uploads write to; while a program is recorded, all memory
}

const (
	maxParams = 32
	maxData   = 4 << 10
)

// op begins a call of an operation. Errors carry its name.
func (b *Backend) op(name string) *call {
	c := &b.call
	c.b, c.op, c.typed, c.n, c.used, c.marked = b, name, false, 0, 0, c.marked[:0]
	return c
}

func (c *call) word(v uint64) *call {
	c.words[c.n] = v
	c.params[c.n] = unsafe.Pointer(&c.words[c.n])
	c.n++
	return c
}

// ptr adds the address of an array's first element, or a null pointer if the array is absent.
func (c *call) ptr(a device.Array) *call { return c.word(uint64(c.address(a))) }

// active is ptr for activations. Those of a call are all F32 or all BF16, and their type
// completes the name of the kernel.
func (c *call) active(a device.Array) *call {
	if !a.Absent() {
		if a.Type != device.F32 && a.Type != device.BF16 || c.typed && a.Type != c.dtype {
			panic(fmt.Sprintf("cuda: %s: %v among activations that are all F32 or all BF16", c.op, a))
		}
		c.typed, c.dtype = true, a.Type
	}
	return c.ptr(a)
}

// address returns the address of an array and records that the call uses its buffer.
func (c *call) address(a device.Array) Address {
	if a.Buf == nil {
		return 0
	}
	buf, ok := a.Buf.(*buffer)
	if !ok {
		panic(fmt.Sprintf("cuda: %s: an array of another backend", c.op))
	}
	m := buf.root
	if (m.target.Load() || m.pending.Load() || c.b.capture != nil) && !slices.Contains(c.marked, m) {
		c.marked = append(c.marked, m)
	}
	m.used.Store(true)
	return buf.addr + Address(a.Off*a.Type.Size())
}

// addr adds an address, for example of scratch memory.
func (c *call) addr(a Address) *call { return c.word(uint64(a)) }

func (c *call) i32(v int) *call     { return c.word(uint64(uint32(int32(v)))) }
func (c *call) u32(v uint32) *call  { return c.word(uint64(v)) }
func (c *call) i64(v int) *call     { return c.word(uint64(v)) }
func (c *call) f32(v float32) *call { return c.word(uint64(*(*uint32)(unsafe.Pointer(&v)))) }
func (c *call) f64(v float64) *call { return c.word(*(*uint64)(unsafe.Pointer(&v))) }

// flag adds a bool as an int.
func (c *call) flag(v bool) *call {
	if v {
		return c.i32(1)
	}
	return c.i32(0)
}

// structure adds a structure in C's layout as an argument.
func structure[T any](c *call, v *T) *call {
	size := int(unsafe.Sizeof(*v))
	copy(c.data[c.used:c.used+size], unsafe.Slice((*byte)(unsafe.Pointer(v)), size))
	c.params[c.n] = unsafe.Pointer(&c.data[c.used])
	c.n++
	c.used += (size + 15) &^ 15
	return c
}

// run launches a kernel with a one-dimensional grid. shared is its dynamic shared memory in
// bytes. It does nothing for an empty grid.
func (c *call) run(module, name string, grid, block, shared int) {
	if grid == 0 {
		return
	}
	b := c.b
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return
	}
	defer b.enter()()
	k := b.kernel(c.op, module, c.kernel(name))
	if k == nil {
		return
	}
	if shared > usualShared && shared > k.shared {
		if !b.check(c.op, b.drv.AllowShared(k.fn, shared)) {
			return
		}
		k.shared = shared
	}
	b.awaitUploads(c.marked)
	b.check(c.op, b.drv.Launch(k.fn, [3]uint32{uint32(grid), 1, 1}, [3]uint32{uint32(block), 1, 1}, shared, b.compute,
		unsafe.Pointer(&c.params)))
	b.markUse(c.op, c.marked)
}

// kernelKey names a kernel without putting together a string for every launch.
type kernelKey struct {
	name   string
	suffix string // the type of activations
}

func (k kernelKey) String() string { return k.name + k.suffix }

// kernel returns the key of a kernel that the call launches.
func (c *call) kernel(name string) kernelKey {
	switch {
	case !c.typed:
		return kernelKey{name, ""}
	case c.dtype == device.BF16:
		return kernelKey{name, "_bf16"}
	}
	return kernelKey{name, "_f32"}
}

// kernel returns a kernel. It loads the kernel's module on first use.
func (b *Backend) kernel(op, module string, key kernelKey) *kernel {
	if k := b.kernels[key]; k != nil {
		return k
	}
	m, ok := b.modules[module]
	if !ok {
		var err error
		if m, err = b.load(module); !b.check(op, err) {
			return nil
		}
		b.modules[module] = m
	}
	fn, err := b.drv.Function(m, key.String())
	if !b.check(op, err) {
		return nil
	}
	k := &kernel{fn: fn}
	b.kernels[key] = k
	return k
}
