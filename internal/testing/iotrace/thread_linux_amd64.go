package iotrace

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// thread is a thread of the traced program.
type thread struct {
	id      int
	pid     int // process id, once known
	started bool
	call    *call // current call, if it works on a file below the root
}

// callInfo is struct ptrace_syscall_info. At an entry it holds Nr and Args. At an exit, Nr
// holds the result.
type callInfo struct {
	Op     uint8
	_      [3]uint8
	Arch   uint32
	IP, SP uint64
	Nr     uint64
	Args   [6]uint64
	_      uint64
}

// info returns where a thread has stopped.
func (th *thread) info() (callInfo, error) {
	var info callInfo
	_, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_GET_SYSCALL_INFO, uintptr(th.id),
		unsafe.Sizeof(info), uintptr(unsafe.Pointer(&info)), 0, 0)
	if errno != 0 {
		return info, fmt.Errorf("ptrace system call info: %w", errno)
	}
	return info, nil
}

// process returns the id of the thread's process.
func (th *thread) process() int {
	if th.pid == 0 {
		th.pid = int(th.number("status", "Tgid:", 10))
	}
	return th.pid
}

// proc returns the path of a file about the thread in /proc.
func (th *thread) proc(name string) string { return fmt.Sprintf("/proc/%d/%s", th.id, name) }

// number reads one field of a file in /proc. It returns 0 if the field is missing.
func (th *thread) number(file, field string, base int) int64 {
	text, err := os.ReadFile(th.proc(file))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, field); ok {
			n, _ := strconv.ParseInt(strings.TrimSpace(value), base, 64)
			return n
		}
	}
	return 0
}

// fdName returns the path in /proc that links to a descriptor's file.
func (th *thread) fdName(fd int) string { return th.proc("fd/" + strconv.Itoa(fd)) }

// fdPath returns the path of a descriptor's file, or "" if it has none.
func (th *thread) fdPath(fd int) string {
	path, _ := os.Readlink(th.fdName(fd))
	return path
}

// offset returns the current offset of a descriptor.
func (th *thread) offset(fd int) int64 { return th.number("fdinfo/"+strconv.Itoa(fd), "pos:", 10) }

// appends reports whether a descriptor was opened with O_APPEND.
func (th *thread) appends(fd int) bool {
	return th.number("fdinfo/"+strconv.Itoa(fd), "flags:", 8)&unix.O_APPEND != 0
}

// stat returns the metadata of a descriptor's file.
func (th *thread) stat(fd int) (s unix.Stat_t) {
	_ = unix.Stat(th.fdName(fd), &s)
	return s
}

// memory reads up to n bytes of the program's memory. It returns fewer if the mapping ends.
func (th *thread) memory(at uintptr, n int) []byte {
	if n <= 0 || at == 0 {
		return nil
	}
	data := make([]byte, n)
	local := []unix.Iovec{{Base: &data[0], Len: uint64(n)}}
	got, err := unix.ProcessVMReadv(th.id, local, []unix.RemoteIovec{{Base: at, Len: n}}, 0)
	if err != nil {
		return nil
	}
	return data[:got]
}

// word reads a word of the program's memory.
func (th *thread) word(at uintptr) uint64 {
	data := th.memory(at, 8)
	if len(data) < 8 {
		return 0
	}
	return binary.LittleEndian.Uint64(data)
}

// text reads a zero-terminated string. It reads page by page, since the page after the string
// may not be mapped.
func (th *thread) text(at uintptr) string {
	const page = 4096
	var text []byte
	for len(text) < unix.PathMax {
		part := th.memory(at, page-int(at%page))
		if end := bytes.IndexByte(part, 0); end >= 0 {
			return string(append(text, part[:end]...))
		}
		if len(part) == 0 {
			break
		}
		text = append(text, part...)
		at += uintptr(len(part))
	}
	return string(text)
}

// pathAt returns the absolute path in the arguments of a call. It follows links in the folders
// of the path.
func (c *call) pathAt(dir, path int) string {
	name := c.thread.text(uintptr(c.args[path]))
	base := c.thread.proc("cwd")
	if dir != none && int32(c.args[dir]) != unix.AT_FDCWD {
		base = c.thread.fdName(int(int32(c.args[dir])))
	} else if name == "" { // names no file, so the call will fail
		return ""
	}
	if !filepath.IsAbs(name) {
		folder, err := os.Readlink(base)
		if err != nil {
			return ""
		}
		if name == "" { // AT_EMPTY_PATH: refers to the descriptor itself
			return folder
		}
		name = filepath.Join(folder, name)
	}
	name = filepath.Clean(name)
	if folder, err := filepath.EvalSymlinks(filepath.Dir(name)); err == nil {
		return filepath.Join(folder, filepath.Base(name))
	}
	return name
}

// exists reports whether path exists.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// argument returns the register that holds an argument of a system call.
func argument(regs *unix.PtraceRegs, i int) *uint64 {
	return []*uint64{&regs.Rdi, &regs.Rsi, &regs.Rdx, &regs.R10, &regs.R8, &regs.R9}[i]
}

// fail makes the call return an error. The call does not run unless it is a close.
func (c *call) fail(errno unix.Errno) error {
	c.instead = -int64(errno)
	if c.shape.kind == Close {
		return nil
	}
	return c.change(func(regs *unix.PtraceRegs) { regs.Orig_rax = ^uint64(0) })
}

// shorten reduces the length that the call requests.
func (c *call) shorten(to int64) error {
	return c.change(func(regs *unix.PtraceRegs) { *argument(regs, c.shape.length) = uint64(to) })
}

// change modifies the registers at the start of a call.
func (c *call) change(set func(regs *unix.PtraceRegs)) error {
	var regs unix.PtraceRegs
	if err := unix.PtraceGetRegs(c.thread.id, &regs); err != nil {
		return err
	}
	before := regs
	c.restore = &before
	set(&regs)
	return unix.PtraceSetRegs(c.thread.id, &regs)
}

// replace restores the arguments that were changed and, if requested, replaces the result that
// the program sees.
func (c *call) replace(result *int64) error {
	if c.restore == nil && c.instead == 0 {
		return nil
	}
	var regs unix.PtraceRegs
	if err := unix.PtraceGetRegs(c.thread.id, &regs); err != nil {
		return err
	}
	if c.restore != nil {
		for i := range c.args {
			*argument(&regs, i) = *argument(c.restore, i)
		}
	}
	if c.instead != 0 {
		regs.Rax = uint64(c.instead)
		*result = c.instead
	}
	return unix.PtraceSetRegs(c.thread.id, &regs)
}
