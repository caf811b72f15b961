package cuda

import (
	"fmt"
	"unsafe"

	"hgld/train/device"
)

var _ device.Pinned = (*Backend)(nil)

// hostBuffer is page-locked memory, from which the GPU copies directly.
type hostBuffer struct {
	b   *Backend
	mem []byte
	// last is the newest upload from the buffer, or 0 before the first.
	last device.Ticket
}

// HostBuffer returns page-locked host memory with undefined contents, or nil if the driver has
// none left.
func (b *Backend) HostBuffer(bytes int) device.HostBuffer {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil || bytes <= 0 {
		return nil
	}
	defer b.enter()()
	p, err := b.drv.AllocHost(bytes)
	if err != nil {
		return nil // the caller then uses Upload
	}
	return &hostBuffer{b: b, mem: unsafe.Slice((*byte)(p), bytes)}
}

func (h *hostBuffer) Bytes() []byte { return h.mem }

// UploadAsync queues a copy to dst of the bytes that start at from, in the order of Upload,
// and returns at once.
func (h *hostBuffer) UploadAsync(dst device.Array, from int) device.Ticket {
	b, bytes := h.b, dst.Len()*dst.Type.Size()
	if from < 0 || from+bytes > len(h.mem) {
		panic(fmt.Sprintf("cuda: upload of bytes %d to %d of %d to %v", from, from+bytes, len(h.mem), dst))
	}
	m := dst.Buf.(*buffer)
	row, pitch := rowsOf(dst)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ticket++
	t := b.ticket
	if !b.mayUpload(m.root) || bytes == 0 {
		return t
	}
	defer b.enter()()
	b.beginUpload(m.root)
	at, src := m.addr+Address(dst.Off*dst.Type.Size()), unsafe.Pointer(&h.mem[from])
	b.check("Upload", b.copyIn(b.uploads(m.root), at, src, bytes, row, pitch))
	b.endUpload(m.root)
	done := b.event()
	b.check("Upload", b.drv.Record(done, b.uploads(m.root)))
	b.copied[t] = done
	h.last = t
	return t
}

// Free frees the memory after the uploads from it are done.
func (h *hostBuffer) Free() {
	b := h.b
	b.Wait(h.last) // a failure is sticky: Sync returns it
	b.mu.Lock()
	defer b.mu.Unlock()
	if h.mem == nil || b.closed {
		return
	}
	defer b.enter()()
	b.check("Free", b.drv.FreeHost(unsafe.Pointer(unsafe.SliceData(h.mem))))
	h.mem = nil
}
