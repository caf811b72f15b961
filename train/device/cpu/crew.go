package cpu

import (
	"sync"
	"sync/atomic"
)

// crew is the threads of a Backend: the one that calls, and helpers that wait for
// work. Helpers know the crew alone, so that a Backend which nobody holds any more
// is collected; its cleanup closes wake, and they end.
type crew struct {
	threads int
	wake    chan struct{} // a token for each helper that a task wants
	started bool

	job    task // what work is doing; nil between tasks
	items  int
	grain  int
	next   atomic.Int64 // the first span that nobody has taken
	worker atomic.Int64 // the number of the next worker
	done   sync.WaitGroup
}

func newCrew(threads int) *crew {
	return &crew{threads: threads, wake: make(chan struct{}, threads)}
}

// close lets the helpers end.
func (c *crew) close() { close(c.wake) }

// each hands the spans of t to the threads, the calling one among them. The first
// task of several spans starts the helpers.
func (c *crew) each(n, grain int, t task) {
	workers := min(c.threads, (n+grain-1)/grain)
	if workers <= 1 {
		for lo := 0; lo < n; lo += grain {
			t.span(0, lo, min(lo+grain, n))
		}
		return
	}
	if !c.started {
		c.started = true
		for range c.threads - 1 {
			go c.help()
		}
	}
	c.job, c.items, c.grain = t, n, grain
	c.next.Store(0)
	c.worker.Store(0)
	c.done.Add(workers - 1)
	for range workers - 1 {
		c.wake <- struct{}{}
	}
	c.work()
	c.done.Wait()
	c.job = nil
}

// help works for each token. A helper that is quick may take two of a task: they
// are two workers, one after the other.
func (c *crew) help() {
	for range c.wake {
		c.work()
		c.done.Done()
	}
}

// work takes spans until none is left.
func (c *crew) work() {
	worker := int(c.worker.Add(1)) - 1
	for {
		lo := int(c.next.Add(1)-1) * c.grain
		if lo >= c.items {
			return
		}
		c.job.span(worker, lo, min(lo+c.grain, c.items))
	}
}
