package iotrace

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// none marks an argument that a system call does not have.
const none = -1

// shape holds the index of each kind of argument of a system call.
type shape struct {
	name   string
	kind   Kind
	fd     int // file descriptor
	dir    int // descriptor of the folder that path is relative to; none: the working folder
	path   int
	toDir  int
	to     int
	flags  int
	offset int
	length int
}

// onFD returns the shape of a call on a descriptor.
func onFD(name string, kind Kind) shape {
	return shape{name, kind, 0, none, none, none, none, none, none, none}
}

// onPath returns the shape of a call on a path, relative to the descriptor dir.
func onPath(name string, kind Kind, dir, path, flags int) shape {
	return shape{name, kind, none, dir, path, none, none, flags, none, none}
}

// onTwo returns the shape of a call on two paths.
func onTwo(name string, kind Kind, dir, path, toDir, to, flags int) shape {
	return shape{name, kind, none, dir, path, toDir, to, flags, none, none}
}

// with adds the indices of flags, offset and length.
func (s shape) with(flags, offset, length int) shape {
	s.flags, s.offset, s.length = flags, offset, length
	return s
}

// working sets the index of a descriptor that is not the first argument.
func (s shape) working(fd int) shape {
	s.fd = fd
	return s
}

// shapes maps the numbers of the system calls on files to their shapes.
var shapes = map[uint64]shape{
	unix.SYS_OPEN:    onPath("open", Open, none, 0, 1),
	unix.SYS_CREAT:   onPath("creat", Open, none, 0, none),
	unix.SYS_OPENAT:  onPath("openat", Open, 0, 1, 2),
	unix.SYS_OPENAT2: onPath("openat2", Open, 0, 1, none), // its flags are in memory

	unix.SYS_WRITE:           onFD("write", Write).with(none, none, 2),
	unix.SYS_PWRITE64:        onFD("pwrite64", Write).with(none, 3, 2),
	unix.SYS_WRITEV:          onFD("writev", Write).with(none, none, 2),
	unix.SYS_PWRITEV:         onFD("pwritev", Write).with(none, 3, 2),
	unix.SYS_PWRITEV2:        onFD("pwritev2", Write).with(none, 3, 2),
	unix.SYS_COPY_FILE_RANGE: onFD("copy_file_range", Write).with(none, none, 4).working(2),
	unix.SYS_SPLICE:          onFD("splice", Write).with(none, none, 4).working(2),
	unix.SYS_SENDFILE:        onFD("sendfile", Write).with(none, none, 3),

	unix.SYS_TRUNCATE:        onPath("truncate", Truncate, none, 0, none).with(none, none, 1),
	unix.SYS_FTRUNCATE:       onFD("ftruncate", Truncate).with(none, none, 1),
	unix.SYS_FALLOCATE:       onFD("fallocate", Allocate).with(1, 2, 3),
	unix.SYS_FSYNC:           onFD("fsync", Sync),
	unix.SYS_FDATASYNC:       onFD("fdatasync", SyncData),
	unix.SYS_SYNC_FILE_RANGE: onFD("sync_file_range", SyncPart).with(3, 1, 2),

	unix.SYS_RENAME:    onTwo("rename", Rename, none, 0, none, 1, none),
	unix.SYS_RENAMEAT:  onTwo("renameat", Rename, 0, 1, 2, 3, none),
	unix.SYS_RENAMEAT2: onTwo("renameat2", Rename, 0, 1, 2, 3, 4),
	unix.SYS_LINK:      onTwo("link", Link, none, 0, none, 1, none),
	unix.SYS_LINKAT:    onTwo("linkat", Link, 0, 1, 2, 3, 4),
	unix.SYS_SYMLINK:   onPath("symlink", Symlink, none, 1, none),
	unix.SYS_SYMLINKAT: onPath("symlinkat", Symlink, 1, 2, none),
	unix.SYS_UNLINK:    onPath("unlink", Remove, none, 0, none),
	unix.SYS_RMDIR:     onPath("rmdir", Remove, none, 0, none),
	unix.SYS_UNLINKAT:  onPath("unlinkat", Remove, 0, 1, 2),
	unix.SYS_MKDIR:     onPath("mkdir", Mkdir, none, 0, none),
	unix.SYS_MKDIRAT:   onPath("mkdirat", Mkdir, 0, 1, none),
	unix.SYS_CHMOD:     onPath("chmod", Chmod, none, 0, 1),
	unix.SYS_FCHMODAT:  onPath("fchmodat", Chmod, 0, 1, 2),
	unix.SYS_FCHMOD:    onFD("fchmod", Chmod).with(1, none, none),

	unix.SYS_CLOSE: onFD("close", Close),
	unix.SYS_DUP:   onFD("dup", Dup),
	unix.SYS_DUP2:  onFD("dup2", Dup),
	unix.SYS_DUP3:  onFD("dup3", Dup),
	unix.SYS_FCNTL: onFD("fcntl", Dup), // only F_DUPFD and F_DUPFD_CLOEXEC
	unix.SYS_LSEEK: onFD("lseek", Seek),
	unix.SYS_FLOCK: onFD("flock", Lock).with(1, none, none),
	unix.SYS_MMAP:  onFD("mmap", MapRead).with(3, 5, 1).working(4),

	unix.SYS_READ:       onFD("read", Read).with(none, none, 2),
	unix.SYS_PREAD64:    onFD("pread64", Read).with(none, 3, 2),
	unix.SYS_READV:      onFD("readv", Read).with(none, none, 2),
	unix.SYS_PREADV:     onFD("preadv", Read).with(none, 3, 2),
	unix.SYS_PREADV2:    onFD("preadv2", Read).with(none, 3, 2),
	unix.SYS_GETDENTS64: onFD("getdents64", ReadDir),
	unix.SYS_STAT:       onPath("stat", Stat, none, 0, none),
	unix.SYS_LSTAT:      onPath("lstat", Stat, none, 0, none),
	unix.SYS_FSTAT:      onFD("fstat", Stat),
	unix.SYS_NEWFSTATAT: onPath("newfstatat", Stat, 0, 1, 3),
	unix.SYS_STATX:      onPath("statx", Stat, 0, 1, 2),
	unix.SYS_READLINK:   onPath("readlink", Stat, none, 0, none),
	unix.SYS_READLINKAT: onPath("readlinkat", Stat, 0, 1, none),
	unix.SYS_ACCESS:     onPath("access", Stat, none, 0, none),
	unix.SYS_FACCESSAT:  onPath("faccessat", Stat, 0, 1, none),
	unix.SYS_FACCESSAT2: onPath("faccessat2", Stat, 0, 1, none),
}

// shapeOf returns the shape of a system call that is about to run. ok is false for calls that
// do not work on files.
func shapeOf(nr uint64, args [6]uint64) (s shape, ok bool) {
	s, ok = shapes[nr]
	if !ok {
		return s, false
	}
	switch nr {
	case unix.SYS_FCNTL:
		return s, args[1] == unix.F_DUPFD || args[1] == unix.F_DUPFD_CLOEXEC
	case unix.SYS_MMAP:
		if args[3]&unix.MAP_ANONYMOUS != 0 {
			return s, false
		}
		if kind := args[3] & unix.MAP_TYPE; kind != unix.MAP_PRIVATE && args[2]&unix.PROT_WRITE != 0 {
			s.kind = Map
		}
	}
	return s, true
}

// vectored reports whether the length of a call counts buffers instead of bytes.
func vectored(nr uint64) bool {
	switch nr {
	case unix.SYS_READV, unix.SYS_PREADV, unix.SYS_PREADV2, unix.SYS_WRITEV, unix.SYS_PWRITEV, unix.SYS_PWRITEV2:
		return true
	}
	return false
}

// copies reports whether a call copies data from one descriptor to another inside the kernel.
func copies(nr uint64) bool {
	return nr == unix.SYS_COPY_FILE_RANGE || nr == unix.SYS_SPLICE || nr == unix.SYS_SENDFILE
}

// recorded reports whether Record lists calls of this kind.
func (k Kind) recorded() bool { return k != Read && k != ReadDir && k != Stat && k != MapRead }

// fails reports whether Count lists calls of this kind.
func (k Kind) fails() bool { return k != Seek && k != Dup }

// openFlags returns the flags of a call of kind Open.
func (c *call) openFlags() int {
	switch c.nr {
	case unix.SYS_CREAT:
		return syscall.O_CREAT | syscall.O_WRONLY | syscall.O_TRUNC
	case unix.SYS_OPENAT2: // struct open_how begins with its flags
		return int(c.thread.word(uintptr(c.args[2])))
	}
	return int(c.args[c.shape.flags])
}

// mode returns the permissions that a call of kind Open or Mkdir requests.
func (c *call) mode() uint32 {
	switch c.nr {
	case unix.SYS_OPENAT2:
		return uint32(c.thread.word(uintptr(c.args[2]) + 8))
	case unix.SYS_CREAT, unix.SYS_MKDIR:
		return uint32(c.args[1])
	case unix.SYS_OPEN, unix.SYS_MKDIRAT:
		return uint32(c.args[2])
	case unix.SYS_OPENAT:
		return uint32(c.args[3])
	}
	return 0
}
