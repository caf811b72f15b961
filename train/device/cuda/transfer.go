package cuda

import (
	"fmt"
	"unsafe"

	"hgld/train/device"
)

// staging is a block of pinned memory for asynchronous copies.
type staging struct {
	mem  unsafe.Pointer
	done Event // reached after the last copy that used it
	busy bool  // in use by a copy
}

const (
	stagingBytes = 8 << 20
	mostStaging  = 8

	// smallBytes is the size up to which a copy is small. Small uploads, such as the labels of a batch, do not
	// wait for the images of the next: their stream and their blocks of pinned memory are their own.
	smallBytes = 1 << 20
)

// stagingBlocks are blocks of pinned memory of one size.
type stagingBlocks struct {
	bytes int
	all   []*staging
}

// blocksFor returns the blocks for copies of an array.
func (b *Backend) blocksFor(bytes int) *stagingBlocks {
	if bytes <= smallBytes {
		return &b.staging[0]
	}
	return &b.staging[1]
}

// uploads returns the stream for uploads to m. All those to one allocation have the same, so that they are in order.
func (b *Backend) uploads(m *allocation) Stream {
	if m.size <= smallBytes {
		return b.small
	}
	return b.copies
}

// stage returns a free block. If all are in use, it releases the lock and waits.
func (b *Backend) stage(of *stagingBlocks) *staging {
	for {
		var oldest *staging
		for _, s := range of.all {
			if s.busy {
				continue
			}
			if done, err := b.drv.Done(s.done); done || err != nil {
				s.busy = true
				return s
			}
			if oldest == nil {
				oldest = s
			}
		}
		if oldest == nil || len(of.all) < mostStaging {
			mem, err := b.drv.AllocHost(of.bytes)
			if !b.check("pinned memory", err) {
				return nil
			}
			done, err := b.drv.NewEvent(Awaited) // downloads, and with them a step, are waited for
			b.check("", err)
			s := &staging{mem: mem, done: done, busy: true}
			of.all = append(of.all, s)
			return s
		}
		oldest.busy = true
		b.mu.Unlock()
		err := b.drv.SyncEvent(oldest.done)
		b.mu.Lock()
		oldest.busy = false
		if !b.check("", err) {
			return nil
		}
	}
}

// Upload copies src, the elements of dst in row-major order, to the GPU. Any goroutine may
// call it, and may reuse src when it returns. It waits only for operations that use dst's
// buffer. Later operations on the buffer wait for the copy.
func (b *Backend) Upload(dst device.Array, src []byte) {
	if len(src) != dst.Len()*dst.Type.Size() {
		panic(fmt.Sprintf("cuda: upload of %d bytes to %v", len(src), dst))
	}
	if len(src) == 0 {
		return
	}
	m := dst.Buf.(*buffer)
	at := m.addr + Address(dst.Off*dst.Type.Size())
	row, pitch := rowsOf(dst)
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.mayUpload(m.root) {
		return
	}
	defer b.enter()()
	b.beginUpload(m.root)
	for len(src) > 0 && b.err == nil {
		n := min(len(src), stagingBytes/row*row)
		if n == 0 { // a row longer than a block; dst is contiguous in this case
			n = min(len(src), stagingBytes)
		}
		b.uploadPiece(m.root, at, src[:n], row, pitch)
		src = src[n:]
		at += Address(n / row * pitch)
		if n < row {
			at += Address(n)
			row, pitch = min(len(src), stagingBytes), min(len(src), stagingBytes)
		}
	}
	b.endUpload(m.root)
}

// mayUpload waits until uses of m can be distinguished from those of a program being recorded.
// It reports whether the device works.
func (b *Backend) mayUpload(m *allocation) bool {
	for b.capture != nil && m.used.Load() && !m.target.Load() {
		b.captured.Wait()
	}
	return b.err == nil
}

// rowsOf returns the bytes of a contiguous run and the stride between runs. A contiguous array
// is one row.
func rowsOf(a device.Array) (row, pitch int) {
	size := a.Type.Size()
	if a.Contiguous() {
		return a.Len() * size, a.Len() * size
	}
	return a.Cols() * size, a.Ld * size
}

// beginUpload makes the stream of m's uploads wait for the last use of m. The first upload after a use
// waits for all queued work. From then on uses of m are marked.
func (b *Backend) beginUpload(m *allocation) {
	if m.uploaded == 0 {
		m.uploaded = b.event()
	}
	switch {
	case m.target.Load():
		if m.marked {
			b.check("Upload", b.drv.WaitEvent(b.uploads(m), m.lastUse))
		}
	case m.used.Load():
		m.lastUse, m.marked = b.event(), true
		b.check("Upload", b.drv.Record(m.lastUse, b.compute))
		b.check("Upload", b.drv.WaitEvent(b.uploads(m), m.lastUse))
		m.target.Store(true) // probably an input, which gets further uploads
	}
}

// endUpload makes later operations on m wait for the copies.
func (b *Backend) endUpload(m *allocation) {
	b.check("Upload", b.drv.Record(m.uploaded, b.uploads(m)))
	m.pending.Store(true)
}

// copyIn queues a copy of contiguous rows in pinned memory to rows on the GPU.
func (b *Backend) copyIn(s Stream, dst Address, src unsafe.Pointer, bytes, row, pitch int) error {
	if pitch == row || bytes <= row {
		return b.drv.ToDevice(dst, src, bytes, s)
	}
	return b.drv.CopyRows(Rows{
		Dst: dst, DstPitch: pitch, SrcHost: src, SrcPitch: row, Width: row, Rows: bytes / row,
	}, s)
}

// uploadPiece copies rows through one block of pinned memory.
func (b *Backend) uploadPiece(m *allocation, dst Address, src []byte, row, pitch int) {
	s := b.stage(b.blocksFor(m.size))
	if s == nil {
		return
	}
	b.mu.Unlock()
	copy(unsafe.Slice((*byte)(s.mem), len(src)), src)
	b.mu.Lock()
	b.check("Upload", b.copyIn(b.uploads(m), dst, s.mem, len(src), row, pitch))
	b.check("Upload", b.drv.Record(s.done, b.uploads(m)))
	s.busy = false
}

// awaitUploads makes the compute stream wait for the uploads to the given memory. A program
// being recorded waits for them before each run.
func (b *Backend) awaitUploads(marked []*allocation) {
	if b.capture != nil {
		return
	}
	for _, m := range marked {
		b.awaitUpload(m)
	}
}

func (b *Backend) awaitUpload(m *allocation) {
	if !m.pending.Load() {
		return
	}
	b.check("Upload", b.drv.WaitEvent(b.compute, m.uploaded))
	m.pending.Store(false)
}

// markUse records on the compute stream that the given memory was used.
func (b *Backend) markUse(op string, marked []*allocation) {
	if b.capture != nil {
		b.capture.uses(marked)
		return
	}
	for _, m := range marked {
		if !m.target.Load() {
			continue
		}
		if m.lastUse == 0 {
			m.lastUse = b.event()
		}
		b.check(op, b.drv.Record(m.lastUse, b.compute))
		m.marked = true
	}
}

// download is a download that is not complete yet.
type download struct {
	dst    []byte
	pieces []piece
}

// piece is a part of a download in pinned memory.
type piece struct {
	from  *staging
	bytes int
}

// Download copies the elements of src to dst, which is valid after Wait or Sync.
// Downloads of more than 32 MiB wait for their first parts.
func (b *Backend) Download(dst []byte, src device.Array) device.Ticket {
	if len(dst) != src.Len()*src.Type.Size() {
		panic(fmt.Sprintf("cuda: download of %v to %d bytes", src, len(dst)))
	}
	c := b.op("Download")
	at := c.address(src)
	row, pitch := rowsOf(src)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ticket++
	t := b.ticket
	if b.err != nil || len(dst) == 0 {
		return t
	}
	defer b.enter()()
	if b.capture != nil {
		b.check("Download", fmt.Errorf("asked for while a program is being recorded"))
		return t
	}
	b.awaitUploads(c.marked)
	d := &download{dst: dst}
	for from, rest := at, len(dst); rest > 0 && b.err == nil; {
		n := min(rest, stagingBytes)
		if pitch != row {
			n = min(rest, max(stagingBytes/row, 1)*row)
		}
		if len(d.pieces) >= mostStaging/2 {
			b.empty(d, 1)
		}
		b.downloadPiece(d, from, n, row, pitch)
		rest -= n
		if pitch == row {
			from += Address(n)
		} else {
			from += Address(n / row * pitch)
		}
	}
	b.markUse("Download", c.marked)
	b.downloads[t] = d
	return t
}

func (b *Backend) downloadPiece(d *download, src Address, bytes, row, pitch int) {
	s := b.stage(b.blocksFor(bytes))
	if s == nil {
		return
	}
	var err error
	if pitch == row || bytes <= row {
		err = b.drv.ToHost(s.mem, src, bytes, b.compute)
	} else {
		err = b.drv.CopyRows(Rows{
			DstHost: s.mem, DstPitch: row, Src: src, SrcPitch: pitch, Width: row, Rows: bytes / row,
		}, b.compute)
	}
	b.check("Download", err)
	b.check("Download", b.drv.Record(s.done, b.compute))
	d.pieces = append(d.pieces, piece{s, bytes})
}

// empty waits for the first n pieces of d and moves them to their destination.
func (b *Backend) empty(d *download, n int) {
	for _, p := range d.pieces[:n] {
		done := p.from.done
		b.mu.Unlock()
		err := b.drv.SyncEvent(done)
		b.mu.Lock()
		if b.check("", err) {
			copy(d.dst[:p.bytes], unsafe.Slice((*byte)(p.from.mem), p.bytes))
		}
		d.dst = d.dst[p.bytes:]
		p.from.busy = false
	}
	d.pieces = d.pieces[n:]
}

// Wait returns when a download, or an upload from a HostBuffer, is complete, with the first error of the device.
func (b *Backend) Wait(t device.Ticket) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	d, e := b.downloads[t], b.copied[t]
	if d == nil && e == 0 {
		return b.err
	}
	defer b.enter()()
	if d != nil {
		delete(b.downloads, t)
		b.empty(d, len(d.pieces))
	}
	if e != 0 {
		delete(b.copied, t)
		b.mu.Unlock()
		err := b.drv.SyncEvent(e)
		b.mu.Lock()
		b.check("Upload", err)
		b.spare = append(b.spare, e)
	}
	return b.err
}

// Sync returns when all work and all downloads are complete, with the first error of
// the device.
func (b *Backend) Sync() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return b.err
	}
	defer b.enter()()
	for _, s := range []Stream{b.small, b.copies, b.compute} {
		b.mu.Unlock()
		err := b.drv.SyncStream(s)
		b.mu.Lock()
		b.check("", err)
	}
	for t, d := range b.downloads {
		delete(b.downloads, t)
		b.empty(d, len(d.pieces))
	}
	for t, e := range b.copied {
		delete(b.copied, t)
		b.spare = append(b.spare, e)
	}
	b.reap(true)
	return b.err
}
