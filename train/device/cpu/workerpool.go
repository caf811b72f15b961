package cpu

import (
	"sync"
	"sync/atomic"

	"hgld/internal/crash"
)

// workerPool holds the threads of a Backend: the calling one, and helpers that wait for work.
// Helpers refer only to the pool, so that an unreachable Backend can be collected. Its cleanup
// closes wake, which ends the helpers.
type workerPool struct {
	threads int
	wake    chan struct{} // one token for each helper that a task requests
	started bool

	job    task // current task; nil between tasks
	items  int
	grain  int
	next   atomic.Int64 // first span that no worker has taken
	worker atomic.Int64 // number of the next worker
	done   sync.WaitGroup
}

func newWorkerPool(threads int) *workerPool {
	return &workerPool{threads: threads, wake: make(chan struct{}, threads)}
}

// close ends the helpers.
func (p *workerPool) close() { close(p.wake) }

// each distributes the spans of t among the threads, including the calling one. The first task
// with several spans starts the helpers.
func (p *workerPool) each(n, grain int, t task) {
	workers := min(p.threads, (n+grain-1)/grain)
	if workers <= 1 {
		for lo := 0; lo < n; lo += grain {
			t.span(0, lo, min(lo+grain, n))
		}
		return
	}
	if !p.started {
		p.started = true
		for range p.threads - 1 {
			go func() {
				defer crash.Guard()
				p.help()
			}()
		}
	}
	p.job, p.items, p.grain = t, n, grain
	p.next.Store(0)
	p.worker.Store(0)
	p.done.Add(workers - 1)
	for range workers - 1 {
		p.wake <- struct{}{}
	}
	p.work()
	p.done.Wait()
	p.job = nil
}

// help runs work for each token. A fast helper may take two tokens of a task, and then acts as
// two workers in turn.
func (p *workerPool) help() {
	for range p.wake {
		p.takeToken()
	}
}

// takeToken is the work of one token. After a panic that crash.Report survives, the caller of each
// must not wait for ever.
func (p *workerPool) takeToken() {
	defer p.done.Done()
	defer crash.Guard()
	p.work()
}

// work processes spans until none are left.
func (p *workerPool) work() {
	worker := int(p.worker.Add(1)) - 1
	for {
		lo := int(p.next.Add(1)-1) * p.grain
		if lo >= p.items {
			return
		}
		p.job.span(worker, lo, min(lo+p.grain, p.items))
	}
}
