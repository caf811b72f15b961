// Package iotrace runs a program under ptrace(2), so that a test can observe every call on the
// files below one folder and make one of them fail. Record lists the calls that change files,
// for a simulation of power cuts. Count lists the calls that can fail. Inject makes one of
// them fail.
//
// A Go program makes system calls directly, not through the C library, so a preloaded library
// (LD_PRELOAD) would see none of them. A FUSE file system would need privileges that tests do
// not have. Tracing a child process needs none.
//
// Only tests use the package. It supports Linux 5.3 or later on amd64.
package iotrace

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// Kind is the effect of a call, independent of the particular system call: Open covers open,
// creat, openat and openat2.
type Kind string

// The kinds of calls. Record lists the kinds up to Map. All kinds except Seek and Dup can
// fail.
const (
	Open     Kind = "open"
	Write    Kind = "write"    // also pwrite, writev, copy_file_range, splice and sendfile
	Truncate Kind = "truncate" // to size Length
	Allocate Kind = "allocate" // fallocate: Offset and Length; Flags holds its mode
	Sync     Kind = "sync"     // fsync of a file or folder
	SyncData Kind = "syncdata" // fdatasync
	SyncPart Kind = "syncpart" // sync_file_range, which guarantees nothing after a power cut
	Rename   Kind = "rename"   // from Path to To; Flags holds the flags of renameat2
	Remove   Kind = "remove"   // unlink, or rmdir if Flags has AT_REMOVEDIR
	Mkdir    Kind = "mkdir"
	Link     Kind = "link"    // To is the new name of Path
	Symlink  Kind = "symlink" // Path is the link, To its target, verbatim
	Chmod    Kind = "chmod"   // Flags holds the mode
	Close    Kind = "close"
	Dup      Kind = "dup"  // Result is the new descriptor
	Seek     Kind = "seek" // Result is the new offset
	Lock     Kind = "lock" // flock; Flags holds its operation
	Map      Kind = "map"  // shared writable mmap; the writes through it are not seen

	Read    Kind = "read"
	ReadDir Kind = "readdir"
	Stat    Kind = "stat"    // also readlink and access
	MapRead Kind = "mapread" // any other mmap of a file
)

// Op is a call that succeeded.
type Op struct {
	Kind Kind   // effect of the call
	Call string // name of the system call
	PID  int    // process id; a process may have several threads
	FD   int    // descriptor that it works on, or that Open returned; -1 for calls on paths

	// Path is absolute, and its folders contain no symbolic links. For a call on a descriptor it
	// is the file's name at the time of the call, or its last name with " (deleted)" appended.
	Path string
	To   string // second path of Rename and Link; target of Symlink

	// Inode identifies the file behind FD regardless of its name. It is 0 if FD is -1.
	Inode uint64

	Offset int64  // position in the file, for Write, Allocate, SyncPart and Map; accounts for O_APPEND
	Length int64  // for Truncate, Allocate, SyncPart and Map
	Data   []byte // bytes that Write wrote; fewer than requested after a short write
	Flags  int    // as passed to the system call; O_CREAT, O_TRUNC, O_APPEND … for Open
	Mode   uint32 // permissions that Open and Mkdir request

	Created bool  // Open: the file did not exist before
	Result  int64 // return value of the call
}

// String describes the call on one line, without its data.
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

// Record runs cmd, which must not have been started, and returns the successful calls that it
// and its children make on files below root. Calls that change files run one at a time, and
// the result is in the order of their effects. The error is that of cmd.Wait; Record also
// returns the calls up to that point. It kills the program when ctx ends.
//
// Record does not see changes through shared memory; an Op of kind Map indicates that there
// may be some. It does not see changes by other programs either.
func Record(ctx context.Context, cmd *exec.Cmd, root string) ([]Op, error) {
	r := &recorder{}
	err := trace(ctx, cmd, root, r)
	return r.ops, err
}

// Call is a call that can fail.
type Call struct {
	Kind Kind   // effect of the call
	Call string // name of the system call
	Path string // as in Op
	To   string // as in Op
	Size int64  // bytes requested by Read and Write
}

// String returns the call's name and path.
func (c Call) String() string { return c.Call + " " + c.Path }

// Fault is a failure of one call in a run.
type Fault struct {
	// Err is the error of the call. The call itself does not run, except close, which always
	// frees its descriptor. 0 cuts the call short: a read or write receives half of the
	// requested length, at least one byte, which POSIX permits.
	Err syscall.Errno
	// N selects the call, counted from 1 among those that the fault applies to.
	N int
}

// Applies reports whether the fault can occur in a call. EMFILE and EACCES occur in calls that
// open a file. Only reads and writes of more than one byte can be cut short. Any other error
// can occur in every call.
func (f Fault) Applies(c Call) bool {
	switch f.Err {
	case 0:
		return (c.Kind == Read || c.Kind == Write) && c.Size > 1
	case syscall.EMFILE, syscall.EACCES:
		return c.Kind == Open
	}
	return true
}

// Count runs cmd as Record does. It returns every call on a file below root that can fail,
// whether or not it succeeded.
func Count(ctx context.Context, cmd *exec.Cmd, root string) ([]Call, error) {
	c := &faults{}
	err := trace(ctx, cmd, root, c)
	return c.calls, err
}

// Inject runs cmd as Record does and injects the fault. It returns the affected call, or nil
// if there were fewer than f.N. The error is that of cmd.Wait: for a program that reports the
// fault, this is its exit code.
func Inject(ctx context.Context, cmd *exec.Cmd, root string, f Fault) (*Call, error) {
	i := &faults{fault: &f}
	err := trace(ctx, cmd, root, i)
	return i.hit, err
}

// below reports whether path is root or inside it.
func below(root, path string) bool {
	return path == root || strings.HasPrefix(path, root+string(filepath.Separator))
}
