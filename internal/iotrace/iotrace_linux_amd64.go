// Package iotrace runs a program under ptrace(2), so that a test sees every call that
// the program makes on the files below one folder, and may let one of them fail. Record
// lists the calls that change files, for a simulation of power cuts; Count lists the
// calls that can fail, and Inject fails one of them.
//
// A Go program makes its system calls itself and not through the C library, so a
// preloaded library (LD_PRELOAD) would see none of them. A file system of our own (FUSE)
// would need rights that tests do not have. Tracing one's own child needs none.
//
// The package serves tests alone, on Linux with amd64. It needs Linux 5.3 or later.
package iotrace

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// Kind is what a call does, whichever of several system calls does it: Open stands for
// open, creat, openat and openat2.
type Kind string

// The kinds of calls. Record lists those up to Map; all but Seek and Dup can fail.
const (
	Open     Kind = "open"
	Write    Kind = "write"    // also pwrite, writev, copy_file_range, splice and sendfile
	Truncate Kind = "truncate" // to Length
	Allocate Kind = "allocate" // fallocate: Offset, Length; Flags is its mode
	Sync     Kind = "sync"     // fsync, of a file or a folder
	SyncData Kind = "syncdata" // fdatasync
	SyncPart Kind = "syncpart" // sync_file_range, which promises nothing after a power cut
	Rename   Kind = "rename"   // Path to To; Flags are those of renameat2
	Remove   Kind = "remove"   // unlink, or rmdir where Flags has AT_REMOVEDIR
	Mkdir    Kind = "mkdir"
	Link     Kind = "link"    // To is the new name of Path
	Symlink  Kind = "symlink" // Path is the link, To the text in it, as it is
	Chmod    Kind = "chmod"   // Flags is the mode
	Close    Kind = "close"
	Dup      Kind = "dup"  // Result is the new descriptor
	Seek     Kind = "seek" // Result is the new offset
	Lock     Kind = "lock" // flock; Flags is its operation
	Map      Kind = "map"  // mmap that is shared and writable: writes through it are not seen

	Read    Kind = "read"
	ReadDir Kind = "readdir"
	Stat    Kind = "stat"    // also readlink and access
	MapRead Kind = "mapread" // every other mmap of a file
)

// Op is one call that succeeded.
type Op struct {
	Kind Kind   // what it does
	Call string // the system call's name
	PID  int    // the process, which may have several threads
	FD   int    // the descriptor it works on, or that Open returned; -1 where it takes paths

	// Path is absolute and has no symbolic links in its folders. A descriptor's path is
	// the name that its file has at the time of the call, with " (deleted)" behind it once
	// it has none.
	Path string
	To   string // second path, of Rename and Link; of Symlink the text in it

	// Inode identifies the file behind FD whatever it is called; 0 where FD is -1.
	Inode uint64

	Offset int64  // in the file, of Write, Allocate, SyncPart and Map; O_APPEND is heeded
	Length int64  // of Truncate, Allocate, SyncPart and Map
	Data   []byte // what Write wrote: fewer bytes than asked for, if the call was cut short
	Flags  int    // as the system call takes them; of Open O_CREAT, O_TRUNC, O_APPEND …
	Mode   uint32 // permissions that Open and Mkdir ask for

	Created bool  // Open: the file was not there before
	Result  int64 // what the call returned
}

// String is one line about the call, without its data.
func (o Op) String() string {
	text := fmt.Sprintf("%s %s", o.Call, o.Path)
	if o.To != "" {
		text += " -> " + o.To
	}
	if o.Kind == Write {
		text += fmt.Sprintf(" [%d:+%d]", o.Offset, len(o.Data))
	}
	return fmt.Sprintf("%s = %d", text, o.Result)
}

// Record runs cmd, which must not have been started, and returns every call that it and
// its children make on files below root and that succeeds, in the order in which they
// take effect: calls that change files run one at a time. The error is that of
// cmd.Wait; the calls up to the end are returned with it. When ctx ends, the program is
// killed.
//
// Changes through shared memory are not seen: an Op of kind Map says that there may be
// some. Nor are changes that other programs make.
func Record(ctx context.Context, cmd *exec.Cmd, root string) ([]Op, error) {
	r := &recorder{}
	err := trace(ctx, cmd, root, r)
	return r.ops, err
}

// Call is one call that can fail.
type Call struct {
	Kind Kind   // what it does
	Call string // the system call's name
	Path string // as in Op
	To   string // as in Op
	Size int64  // bytes asked for, of Read and Write
}

// String is the call's name and path.
func (c Call) String() string { return c.Call + " " + c.Path }

// Fault is what happens to one call of a run.
type Fault struct {
	// Err is what the call fails with; the call itself does not run, save close, which
	// always frees its descriptor. 0 cuts it short: a read or write is asked for half of
	// its bytes, at least one, which is a legal thing for a system to do.
	Err syscall.Errno
	// N is the call that is hit, counted from 1 among those that the fault applies to.
	N int
}

// Applies reports whether a call can meet the fault: one that opens can meet EMFILE and
// EACCES, one that reads or writes more than one byte can be cut short, and every one
// can meet any other error.
func (f Fault) Applies(c Call) bool {
	switch f.Err {
	case 0:
		return (c.Kind == Read || c.Kind == Write) && c.Size > 1
	case syscall.EMFILE, syscall.EACCES:
		return c.Kind == Open
	}
	return true
}

// Count runs cmd as Record does and returns every call on a file below root that can
// fail, whether or not it succeeded.
func Count(ctx context.Context, cmd *exec.Cmd, root string) ([]Call, error) {
	c := &counter{}
	err := trace(ctx, cmd, root, c)
	return c.calls, err
}

// Inject runs cmd as Record does, with the fault, and returns the call that it hit: nil
// if there were fewer than f.N. The error is that of cmd.Wait, which for a program that
// reports the fault is its exit code.
func Inject(ctx context.Context, cmd *exec.Cmd, root string, f Fault) (*Call, error) {
	i := &injector{fault: f}
	err := trace(ctx, cmd, root, i)
	return i.hit, err
}

// below reports whether path is root or in it.
func below(root, path string) bool {
	return path == root || strings.HasPrefix(path, root+string(filepath.Separator))
}
