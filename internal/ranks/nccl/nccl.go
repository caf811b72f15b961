// Package nccl moves numbers between GPUs through NVIDIA's NCCL, which is opened at run time, without cgo. It uses
// functions that every version since 2.9 has, and no structure that later versions extend.
package nccl

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"

	"hgld/internal/dlopen"
)

// Name is that of the library.
const Name = "libnccl.so.2"

// Oldest is the lowest version that works: from it on, CUDA graphs may hold collective operations.
const Oldest = Version(20906)

// Version is a version as ncclGetVersion writes it: 23203 is 2.32.3, and before 2.9, 2804 is 2.8.4.
type Version int

// String writes it as NVIDIA does.
func (v Version) String() string {
	if v < 10000 {
		return fmt.Sprintf("%d.%d.%d", v/1000, v/100%10, v%100)
	}
	return fmt.Sprintf("%d.%d.%d", v/10000, v/100%100, v%100)
}

// Type is ncclDataType_t.
type Type uintptr

// The types that are sent.
const (
	Int32   Type = 2 // ncclInt32
	Float32 Type = 7 // ncclFloat32
)

const sum = 0 // ncclSum

// ID is what all processes of a group must know to find one another, a ncclUniqueId.
type ID [128]byte

// Library is an open NCCL.
type Library struct {
	Path    string  // as it was opened
	Version Version // what it says

	fn        functions
	lastError uintptr // ncclGetLastError, from 2.13 on; 0: none
}

// functions are the addresses of the functions that are called.
type functions struct {
	getVersion    uintptr `name:"ncclGetVersion"`
	getUniqueID   uintptr `name:"ncclGetUniqueId"`
	errorString   uintptr `name:"ncclGetErrorString"`
	commInitRank  uintptr `name:"ncclCommInitRank"`
	commDestroy   uintptr `name:"ncclCommDestroy"`
	commAbort     uintptr `name:"ncclCommAbort"`
	getAsyncError uintptr `name:"ncclCommGetAsyncError"`
	allReduce     uintptr `name:"ncclAllReduce"`
	allGather     uintptr `name:"ncclAllGather"`
	broadcast     uintptr `name:"ncclBroadcast"`
}

// Open opens the first of the paths that can be opened. It needs no GPU.
func Open(paths ...string) (*Library, error) {
	lib, err := dlopen.Open(paths...)
	if err != nil {
		return nil, fmt.Errorf("nccl: %w", err)
	}
	l := &Library{Path: lib.Path}
	if err := lib.Functions(&l.fn); err != nil {
		return nil, fmt.Errorf("nccl: %w", err)
	}
	if fn, err := lib.Symbol("ncclGetLastError"); err == nil {
		l.lastError = fn
	}
	version := new(int32)
	if err := l.call("ncclGetVersion", l.fn.getVersion, dlopen.Address(version)); err != nil {
		return nil, err
	}
	if l.Version = Version(*version); l.Version < Oldest {
		return nil, fmt.Errorf("nccl: %s is NCCL %v, want %v or later", l.Path, l.Version, Oldest)
	}
	return l, nil
}

func (l *Library) call(name string, fn uintptr, args ...uintptr) error {
	return l.failure(name, int(int32(dlopen.Call(fn, args...))))
}

// failure describes a failed call, or the failure of queued work.
func (l *Library) failure(name string, code int) error {
	if code == 0 {
		return nil
	}
	text := fmt.Sprintf("nccl: %s: %s (%d)", name, dlopen.Text(dlopen.Call(l.fn.errorString, uintptr(code))), code)
	if l.lastError != 0 {
		if last := dlopen.Text(dlopen.Call(l.lastError, 0)); last != "" {
			text += ": " + last
		}
	}
	return errors.New(text)
}

// NewID makes the ID of a new group. One process makes it and sends it to the others.
func (l *Library) NewID() (ID, error) {
	id := new(ID)
	err := l.call("ncclGetUniqueId", l.fn.getUniqueID, dlopen.Address(&id[0]))
	return *id, err
}

// Comm is this process's membership in a group, with the GPU whose context was current when it joined. Abort and
// Err may be called by any goroutine.
type Comm struct {
	l           *Library
	handle      uintptr
	rank, ranks int
}

// Join makes this process a rank of a group. It returns when all have joined.
func (l *Library) Join(rank, ranks int, id ID) (*Comm, error) {
	out := new(uintptr)
	words := make([]uintptr, len(id)/8)
	for i := range words {
		words[i] = uintptr(binary.NativeEndian.Uint64(id[8*i:]))
	}
	// ncclUniqueId is passed by value. The convention of amd64 copies a structure of that size to the stack, and
	// passes the other arguments in the first of six registers. That of arm64 passes the address of a copy.
	args := append([]uintptr{dlopen.Address(out), uintptr(ranks), uintptr(rank), 0, 0, 0}, words...)
	if runtime.GOARCH == "arm64" {
		args = []uintptr{dlopen.Address(out), uintptr(ranks), dlopen.Address(&words[0]), uintptr(rank)}
	}
	err := l.call("ncclCommInitRank", l.fn.commInitRank, args...)
	runtime.KeepAlive(words)
	if err != nil {
		return nil, err
	}
	return &Comm{l: l, handle: *out, rank: rank, ranks: ranks}, nil
}

// Rank returns the number of this process in its group, from 0, and the size of the group.
func (c *Comm) Rank() (rank, ranks int) { return c.rank, c.ranks }

// AllReduce queues the sum of n numbers over all processes. Addresses are of the GPU's memory; the two may be equal.
func (c *Comm) AllReduce(dst, src uintptr, n int, t Type, stream uintptr) error {
	return c.l.call("ncclAllReduce", c.l.fn.allReduce, src, dst, uintptr(n), uintptr(t), sum, c.handle, stream)
}

// AllGather queues the copy of the n numbers of every process to dst, in the order of ranks.
func (c *Comm) AllGather(dst, src uintptr, n int, t Type, stream uintptr) error {
	return c.l.call("ncclAllGather", c.l.fn.allGather, src, dst, uintptr(n), uintptr(t), c.handle, stream)
}

// Broadcast queues the copy of the n numbers of rank 0 to the others.
func (c *Comm) Broadcast(at uintptr, n int, t Type, stream uintptr) error {
	return c.l.call("ncclBroadcast", c.l.fn.broadcast, at, at, uintptr(n), uintptr(t), 0, c.handle, stream)
}

// Err returns the first failure of queued work, such as a connection that broke. That work never ends by itself.
func (c *Comm) Err() error {
	code := new(int32)
	if err := c.l.call("ncclCommGetAsyncError", c.l.fn.getAsyncError, c.handle, dlopen.Address(code)); err != nil {
		return err
	}
	return c.l.failure("a queued operation", int(*code))
}

// Abort ends queued work that waits for other processes, and the membership.
func (c *Comm) Abort() error { return c.l.call("ncclCommAbort", c.l.fn.commAbort, c.handle) }

// Close ends the membership. All processes call it, when all queued work is done.
func (c *Comm) Close() error { return c.l.call("ncclCommDestroy", c.l.fn.commDestroy, c.handle) }
