package iotrace

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// recorder is the handler of Record.
type recorder struct {
	ops []Op
}

func (r *recorder) wants(k Kind) bool { return k.recorded() }
func (r *recorder) serial() bool      { return true }

// enter records the inode before a close, since it is unavailable afterwards.
func (r *recorder) enter(c *call) error {
	if c.shape.kind == Close {
		c.inode = c.thread.stat(int(int32(c.args[0]))).Ino
	}
	return nil
}

func (r *recorder) leave(c *call, result int64) error {
	if result < 0 && result > -4096 { // an error; addresses that mmap returns may also be "negative"
		return nil
	}
	op := Op{
		Kind: c.shape.kind, Call: c.shape.name, PID: c.thread.process(), FD: none,
		Path: c.path, To: c.to, Result: result, Inode: c.inode,
	}
	if c.shape.offset != none {
		op.Offset = int64(c.args[c.shape.offset])
	}
	if c.shape.length != none {
		op.Length = int64(c.args[c.shape.length])
	}
	if c.shape.flags != none {
		op.Flags = int(c.args[c.shape.flags])
	}
	if c.shape.fd != none {
		op.FD = int(int32(c.args[c.shape.fd]))
	}
	switch op.Kind {
	case Open:
		op.FD, op.Flags, op.Mode = int(result), c.openFlags(), c.mode()
		op.Created = !c.existed
		op.Path = c.thread.fdPath(op.FD) // follows the last link
	case Mkdir:
		op.Mode = c.mode()
	case Symlink:
		op.To = c.thread.text(uintptr(c.args[0]))
	case Remove:
		if c.nr == unix.SYS_RMDIR {
			op.Flags = unix.AT_REMOVEDIR
		}
	case Write:
		op.Offset, op.Data = c.written(result)
		op.Length = 0
		if int64(len(op.Data)) != result {
			return fmt.Errorf("%s: %d of %d bytes of %s could be read", c.shape.name, len(op.Data), result, c.path)
		}
	}
	if op.FD != none && op.Kind != Close {
		op.Inode = c.thread.stat(op.FD).Ino
	}
	if op.Kind == Write && result == 0 {
		return nil
	}
	r.ops = append(r.ops, op)
	return nil
}

// written returns the n bytes that a call wrote, and their offset.
func (c *call) written(n int64) (offset int64, data []byte) {
	fd := int(int32(c.args[c.shape.fd]))
	switch {
	case c.thread.appends(fd):
		offset = c.thread.stat(fd).Size - n
	case c.shape.offset != none && int64(c.args[c.shape.offset]) >= 0:
		offset = int64(c.args[c.shape.offset])
	case c.nr != unix.SYS_SENDFILE && copies(c.nr) && c.args[3] != 0: // the kernel has advanced the caller's offset
		offset = int64(c.thread.word(uintptr(c.args[3]))) - n
	default:
		offset = c.thread.offset(fd) - n
	}
	switch {
	case copies(c.nr):
		return offset, c.thread.content(fd, offset, n)
	case vectored(c.nr):
		return offset, c.gather(n)
	}
	return offset, c.thread.memory(uintptr(c.args[1]), int(n))
}

// gather returns the first n bytes of a call's buffers.
func (c *call) gather(n int64) []byte {
	list := c.thread.memory(uintptr(c.args[1]), int(c.args[2])*16)
	var data []byte
	for ; len(list) >= 16 && int64(len(data)) < n; list = list[16:] {
		at, size := binary.LittleEndian.Uint64(list), int64(binary.LittleEndian.Uint64(list[8:]))
		data = append(data, c.thread.memory(uintptr(at), int(min(size, n-int64(len(data)))))...)
	}
	return data
}

// content reads a part of a descriptor's file.
func (th *thread) content(fd int, offset, n int64) []byte {
	f, err := os.Open(th.fdName(fd))
	if err != nil {
		return nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.NewSectionReader(f, offset, n))
	if err != nil {
		return nil
	}
	return data
}

// faults is the handler of Count and Inject.
type faults struct {
	calls []Call // that can fail, without a fault
	fault *Fault // nil: none
	seen  int
	hit   *Call
}

func (f *faults) wants(k Kind) bool { return k.fails() }
func (f *faults) serial() bool      { return false }

func (f *faults) enter(c *call) error {
	s := c.summary()
	if f.fault == nil {
		f.calls = append(f.calls, s)
		return nil
	}
	if !f.fault.Applies(s) {
		return nil
	}
	if f.seen++; f.seen != f.fault.N {
		return nil
	}
	f.hit = &s
	if f.fault.Err == 0 {
		return c.shorten(s.Size / 2)
	}
	return c.fail(f.fault.Err)
}

func (f *faults) leave(*call, int64) error { return nil }

// summary returns the description of a call that is about to run.
func (c *call) summary() Call {
	s := Call{Kind: c.shape.kind, Call: c.shape.name, Path: c.path, To: c.to}
	if (s.Kind == Read || s.Kind == Write) && c.shape.length != none {
		s.Size = int64(c.args[c.shape.length]) // for several buffers this is their number; one may suffice
	}
	return s
}
