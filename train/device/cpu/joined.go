package cpu

import (
	"errors"
	"runtime"
	"sync"
	"time"

	"hgld/internal/crash"
	"hgld/train/device"
)

// Mover moves numbers between the processes of a group, such as an MPI library. It may read and write the
// memory until a call returns.
type Mover interface {
	// Rank returns the number of this process, from 0, and how many there are.
	Rank() (rank, ranks int)
	// AllReduce replaces x by its sum over all processes, with the same bytes in all.
	AllReduce(x []float32) error
	// AllGather writes the part of every process to all, one after another in the order of ranks.
	AllGather(all, part []byte) error
	// Broadcast replaces x by that of rank 0.
	Broadcast(x []byte) error
}

// Joined is a Backend in a group of processes.
type Joined struct {
	*Backend
	mover   Mover
	overlap bool
	err     error // the first of a call
	waiting time.Duration

	aside  chan []float32 // arrays to add; nil: none yet
	adding sync.WaitGroup // until they are added
	failed error          // of the first that was not
}

// leastToOverlap is the number of processors from which on one of them may move numbers while all compute. MPI waits
// actively: of two processors it would take one. Where between two and more the gain begins has not been measured.
const leastToOverlap = 4

var (
	_ device.Overlapping = (*Joined)(nil)
	_ device.Straggling  = (*Joined)(nil)
)

// Join makes b the backend of a process in a group.
func Join(b *Backend, m Mover) *Joined {
	return &Joined{Backend: b, mover: m, overlap: runtime.GOMAXPROCS(0) >= leastToOverlap}
}

// Alone returns the backend of this process.
func (j *Joined) Alone() device.Backend { return j.Backend }

// Overlap makes Overlaps answer so.
func (j *Joined) Overlap(on bool) { j.overlap = on }

// Overlaps reports whether there are processors to move numbers while others compute.
func (j *Joined) Overlaps() bool { return j.overlap }

// AllReduceAside replaces a by the sum over all processes, in another thread.
func (j *Joined) AllReduceAside(a device.Array) {
	if j.aside == nil {
		j.aside = make(chan []float32, 64)
		go func() {
			defer crash.Guard()
			j.add()
		}()
	}
	j.adding.Add(1)
	j.aside <- j.Floats(a)
}

// add adds what AllReduceAside is given.
func (j *Joined) add() {
	for x := range j.aside {
		if j.failed == nil {
			j.failed = j.mover.AllReduce(x)
		}
		j.adding.Done()
	}
}

// Settle waits for what AllReduceAside was given.
func (j *Joined) Settle() { j.do(func() error { return nil }) }

// Rank returns the number of this process and how many there are.
func (j *Joined) Rank() (rank, ranks int) { return j.mover.Rank() }

// AllReduce replaces a by the sum over all processes.
func (j *Joined) AllReduce(a device.Array) {
	j.do(func() error { return j.mover.AllReduce(j.Floats(a)) })
}

// AllGather writes the src of every process to dst.
func (j *Joined) AllGather(dst, src device.Array) {
	if _, ranks := j.Rank(); dst.Len() != ranks*src.Len() || dst.Type != src.Type {
		panic("cpu: AllGather of " + src.String() + " to " + dst.String())
	}
	j.do(func() error { return j.mover.AllGather(gapless(dst), gapless(src)) })
}

// Broadcast replaces a by that of rank 0.
func (j *Joined) Broadcast(a device.Array) {
	j.do(func() error { return j.mover.Broadcast(gapless(a)) })
}

func (j *Joined) do(call func() error) {
	if j.err != nil {
		return
	}
	began := time.Now()
	j.adding.Wait() // one call at a time
	if j.err = j.failed; j.err == nil {
		j.err = call()
	}
	j.waiting += time.Since(began)
}

// Waiting returns the time spent in calls so far.
func (j *Joined) Waiting() time.Duration { return j.waiting }

// Wait is Sync, since no work is ever outstanding.
func (j *Joined) Wait(device.Ticket) error { return j.Sync() }

// Sync returns the first error.
func (j *Joined) Sync() error { return errors.Join(j.err, j.Backend.Sync()) }

// gapless returns the memory of an array without gaps.
func gapless(a device.Array) []byte {
	if !a.Contiguous() {
		panic("cpu: " + a.String() + " has gaps")
	}
	return bytesOf(a)
}
