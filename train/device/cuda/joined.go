package cuda

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"hgld/internal/crash"
	"hgld/internal/ranks/nccl"
	"hgld/train/device"
)

// Joined is a Backend whose GPU works with those of other processes, by NCCL.
type Joined struct {
	*Backend
	comm   *nccl.Comm
	stream Stream       // of the collective operations
	order  Event        // between it and the compute stream
	aside  bool         // the compute stream does not wait yet for the last of them
	calls  atomic.Int64 // collective operations queued
	stop   chan struct{}
	ended  sync.WaitGroup

	ending sync.Mutex // guards all fields below
	failed error      // of the group
	over   bool       // comm is not used any more
}

var (
	_ device.Overlapping = (*Joined)(nil)
	_ device.Graphs      = (*Joined)(nil)
	_ device.Crowded     = (*Joined)(nil)
)

// FindNCCL opens NCCL. It needs no GPU.
func FindNCCL() (*nccl.Library, error) { return nccl.Open(vendorPaths(nccl.Name)...) }

// asked is the time between two questions whether queued work has failed.
const asked = time.Second

// Join makes b the GPU of a rank. It returns when all ranks have joined.
func Join(b *Backend, l *nccl.Library, rank, ranks int, id nccl.ID) (*Joined, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.enter()()
	if b.err != nil {
		return nil, b.err
	}
	comm, err := l.Join(rank, ranks, id)
	if err != nil {
		return nil, fmt.Errorf("cuda: %w", err)
	}
	j := &Joined{Backend: b, comm: comm, stop: make(chan struct{})}
	if j.stream, err = b.drv.NewStream(); err == nil {
		j.order, err = b.drv.NewEvent(Ordered)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cuda: %w", err), comm.Abort())
	}
	j.ended.Go(func() { defer crash.Guard(); j.watch() })
	return j, nil
}

// watch ends queued work that has failed and would never end by itself.
func (j *Joined) watch() {
	t := time.NewTicker(asked)
	defer t.Stop()
	for {
		select {
		case <-j.stop:
			return
		case <-t.C:
		}
		j.ending.Lock()
		err := j.comm.Err()
		if err != nil {
			j.failed, j.over = fmt.Errorf("cuda: %w", errors.Join(err, j.comm.Abort())), true
		}
		j.ending.Unlock()
		if err != nil {
			return
		}
	}
}

// Leave ends this GPU's part in the group, before the Backend is closed. All processes call it when all operations
// are done. A process that has failed calls it with failed, and waits for nothing.
func (j *Joined) Leave(failed bool) error {
	close(j.stop)
	j.ended.Wait()
	j.ending.Lock()
	defer j.ending.Unlock()
	if j.over {
		return j.failed
	}
	j.over = true
	defer pin()()
	err := j.drv.SetCurrent(j.ctx)
	if failed {
		return errors.Join(err, j.comm.Abort())
	}
	return errors.Join(err, j.comm.Close(), j.drv.FreeEvent(j.order), j.drv.FreeStream(j.stream))
}

// Alone returns the backend of this process.
func (j *Joined) Alone() device.Backend { return j.Backend }

// Calls returns how many collective operations this process has queued. Any goroutine may call it.
func (j *Joined) Calls() int64 { return j.calls.Load() }

// Rank returns the number of this process and how many there are.
func (j *Joined) Rank() (rank, ranks int) { return j.comm.Rank() }

// AllReduce queues the sum of a over all processes.
func (j *Joined) AllReduce(a device.Array) {
	at := j.begin("AllReduce", a)
	j.queue(false, func(s uintptr) error { return j.comm.AllReduce(at, at, a.Len(), ncclType(a), s) })
}

// Overlaps is true: NCCL's operations have a stream of their own.
func (j *Joined) Overlaps() bool { return true }

// AllReduceAside queues the sum of a over all processes beside the operations that follow.
func (j *Joined) AllReduceAside(a device.Array) {
	at := j.begin("AllReduce", a)
	j.queue(true, func(s uintptr) error { return j.comm.AllReduce(at, at, a.Len(), ncclType(a), s) })
}

// Settle makes the operations that follow wait for those of AllReduceAside.
func (j *Joined) Settle() {
	if !j.aside {
		return
	}
	j.aside = false
	j.op("Settle").queue(func() (bool, error) { return true, j.after(j.stream, j.compute) })
}

// after makes what is queued on a stream from now on wait for what is queued on another.
func (j *Joined) after(first, then Stream) error {
	if err := j.drv.Record(j.order, first); err != nil {
		return err
	}
	return j.drv.WaitEvent(then, j.order)
}

// AllGather queues the copy of the src of every process to dst.
func (j *Joined) AllGather(dst, src device.Array) {
	if _, ranks := j.Rank(); dst.Len() != ranks*src.Len() || dst.Type != src.Type {
		panic(shapes("AllGather", dst, src))
	}
	to := j.begin("AllGather", dst)
	from := j.address(src)
	j.queue(false, func(s uintptr) error { return j.comm.AllGather(to, from, src.Len(), ncclType(src), s) })
}

// Broadcast queues the copy of rank 0's a to the others.
func (j *Joined) Broadcast(a device.Array) {
	at := j.begin("Broadcast", a)
	j.queue(false, func(s uintptr) error { return j.comm.Broadcast(at, a.Len(), ncclType(a), s) })
}

// ncclType returns the type of an array in NCCL.
func ncclType(a device.Array) nccl.Type {
	switch a.Type {
	case device.F32:
		return nccl.Float32
	case device.I32:
		return nccl.Int32
	}
	panic("cuda: " + a.String() + " cannot be sent between processes")
}

// begin begins a collective operation with the first of its arrays.
func (j *Joined) begin(op string, a device.Array) uintptr {
	j.op(op)
	return j.address(a)
}

// address adds an array to the operation.
func (j *Joined) address(a device.Array) uintptr {
	if !a.Contiguous() {
		panic("cuda: " + a.String() + " has gaps")
	}
	return uintptr(j.call.address(a))
}

// queue queues the operation after those before it. Those after it wait for it, unless it is aside.
func (j *Joined) queue(aside bool, work func(stream uintptr) error) {
	j.calls.Add(1)
	j.aside = aside
	j.call.queue(func() (bool, error) {
		j.ending.Lock()
		defer j.ending.Unlock()
		if j.over {
			return true, j.failed
		}
		err := j.after(j.compute, j.stream)
		if err == nil {
			err = work(uintptr(j.stream))
		}
		if err == nil && !aside {
			err = j.after(j.stream, j.compute)
		}
		return true, err
	})
}

// Record records operations as Backend does. A run of the program counts as all its collective operations.
func (j *Joined) Record(f func()) (device.Program, error) {
	before := j.calls.Load()
	p, err := j.Backend.Record(f)
	return &joinedProgram{p, j, j.calls.Load() - before}, err
}

type joinedProgram struct {
	device.Program
	j     *Joined
	calls int64
}

// Run queues the program once more.
func (p *joinedProgram) Run() {
	p.j.calls.Add(p.calls)
	p.Program.Run()
}

// roomOfNCCL is what NCCL allocates on the GPU with the first operations, in bytes, with much to spare.
const roomOfNCCL = 256 << 20

// Room is that of the Backend, beside NCCL's own memory.
func (j *Joined) Room(bytes int, t device.DType) error { return j.Backend.Room(bytes+roomOfNCCL, t) }

// Wait returns as that of the Backend, also if the group has failed.
func (j *Joined) Wait(t device.Ticket) error { return j.ofGroup(j.Backend.Wait(t)) }

// Sync returns as that of the Backend, also if the group has failed.
func (j *Joined) Sync() error { return j.ofGroup(j.Backend.Sync()) }

// ofGroup returns the failure of the group, which explains all others, or err.
func (j *Joined) ofGroup(err error) error {
	j.ending.Lock()
	defer j.ending.Unlock()
	if j.failed != nil {
		return j.failed
	}
	return err
}
