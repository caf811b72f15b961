package cpu

import "runtime"

// A task is the work of one operation on a run of its items (rows, elements, tiles): a struct
// of the operation's arguments with this method. It processes items [lo, hi) and must not
// modify its arguments. It may use scratch memory reserved for the worker, whose number is
// below Backend.Threads().
type task interface{ span(worker, lo, hi int) }

// split runs t over n items in spans of grain items, on all threads. Spans begin at multiples
// of grain for any number of threads, so lo/grain is the number of a span. Sums that are kept
// per span and joined in order do not depend on the number of threads either.
//
// The Backend keeps one T, so that a call allocates nothing. A span must therefore not split a
// task of its own type.
func split[T any, P interface {
	*T
	task
}](b *Backend, n, grain int, t T) {
	kept, ok := b.tasks[(*T)(nil)]
	if !ok {
		kept = new(T)
		b.tasks[(*T)(nil)] = kept
	}
	p := kept.(*T)
	*p = t
	b.pool.each(n, grain, P(p))
	var none T
	*p = none            // releases the arrays
	runtime.KeepAlive(b) // collecting b would stop its helpers
}

// scratch returns n elements of memory that the Backend keeps under name, with undefined
// contents. Each name belongs to one operation and one element type.
func scratch[T any](b *Backend, name string, n int) []T {
	s, _ := b.scratch[name].([]T)
	if cap(s) < n {
		s = make([]T, n)
		b.scratch[name] = s
	}
	return s[:n]
}
