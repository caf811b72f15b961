package cpu

import (
	"fmt"
	"maps"
	"unsafe"

	"hgld/train/device"
)

// align is the alignment of a Buffer in bytes: a cache line, which is also the
// widest vector register.
const align = 64

// buffer is a Buffer in host memory. The garbage collector frees it.
type buffer struct{ mem []byte }

func (m *buffer) Size() int { return len(m.mem) }

// Alloc returns bytes of host memory, aligned to 64.
func (b *Backend) Alloc(bytes int) device.Buffer {
	if bytes < 0 {
		panic(fmt.Sprintf("cpu: Alloc of %d bytes", bytes))
	}
	mem := make([]byte, bytes+align)
	skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(mem)))) & (align - 1)
	mem = mem[skip : skip+bytes : skip+bytes]
	largePages(mem)
	if b.Poison {
		for i := range mem {
			mem[i] = 0xFF
		}
	}
	return &buffer{mem}
}

// Part returns a range of b that starts at an offset.
func (b *Backend) Part(buf device.Buffer, offset, bytes int) device.Buffer {
	return &buffer{buf.(*buffer).mem[offset : offset+bytes : offset+bytes]}
}

// Lend returns a buffer over the caller's memory.
func (b *Backend) Lend(mem []byte) device.Buffer { return &buffer{mem} }

// Relend moves a buffer of Lend to other memory of its size.
func (b *Backend) Relend(buf device.Buffer, mem []byte) {
	if was := len(buf.(*buffer).mem); len(mem) != was {
		panic(fmt.Sprintf("cpu: a buffer of %d bytes moved to %d", was, len(mem)))
	}
	buf.(*buffer).mem = mem
}

// Free gives the memory back to the garbage collector.
func (b *Backend) Free(buf device.Buffer) {
	buf.(*buffer).mem = nil
	maps.DeleteFunc(b.packed, func(at origin, _ packed) bool { return at.buf == buf })
}

// Upload copies src, the elements of dst in row-major order, into dst.
func (b *Backend) Upload(dst device.Array, src []byte) {
	if len(src) != dst.Len()*dst.Type.Size() {
		panic(fmt.Sprintf("cpu: upload of %d bytes to %v", len(src), dst))
	}
	to, row, stride := rowBytes(dst)
	for len(src) > 0 {
		copy(to[:row], src)
		src = src[row:]
		to = to[min(stride, len(to)):]
	}
}

// Download copies the elements of src to dst. The CPU completes the copy before returning.
func (b *Backend) Download(dst []byte, src device.Array) device.Ticket {
	if len(dst) != src.Len()*src.Type.Size() {
		panic(fmt.Sprintf("cpu: download of %v to %d bytes", src, len(dst)))
	}
	from, row, stride := rowBytes(src)
	for len(dst) > 0 {
		copy(dst, from[:row])
		dst = dst[row:]
		from = from[min(stride, len(from)):]
	}
	return 0
}

// Wait is Sync, since no work is ever outstanding.
func (b *Backend) Wait(device.Ticket) error { return b.err }

// Sync returns nil, or the reason why the requested BLAS is not in use. Host memory cannot
// fail.
func (b *Backend) Sync() error { return b.err }

// rowBytes returns the bytes of a from its first element on, the bytes of one contiguous run,
// and the stride between runs.
func rowBytes(a device.Array) (mem []byte, row, stride int) {
	mem = bytesOf(a)
	if a.Contiguous() {
		return mem, len(mem), len(mem)
	}
	return mem, a.Cols() * a.Type.Size(), a.Ld * a.Type.Size()
}

// extent returns the number of elements from the first to the last of a, including gaps.
func extent(a device.Array) int {
	if a.Contiguous() || a.Len() == 0 {
		return a.Len()
	}
	return (a.Rows()-1)*a.Ld + a.Cols()
}

// bytesOf returns the memory of a, from its first element to its last.
func bytesOf(a device.Array) []byte {
	size := a.Type.Size()
	return a.Buf.(*buffer).mem[a.Off*size : (a.Off+extent(a))*size]
}

// f32 returns the elements of an F32 array, including the gaps between rows. It returns nil
// for an absent array and panics for other types.
func f32(a device.Array) []float32 { return elements[float32](a, device.F32) }

// i32 is f32 for I32.
func i32(a device.Array) []int32 { return elements[int32](a, device.I32) }

// u8 is f32 for U8.
func u8(a device.Array) []uint8 { return elements[uint8](a, device.U8) }

func elements[T float32 | int32 | uint8](a device.Array, want device.DType) []T {
	if a.Absent() {
		return nil
	}
	if a.Type != want {
		panic(fmt.Sprintf("cpu: array is %v, want type %v", a, want))
	}
	mem := bytesOf(a)
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(mem))), extent(a))
}
