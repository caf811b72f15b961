package cpu

import "runtime"

// A task is what one operation does to a run of its items (rows, elements,
// tiles): a struct of the operation's arguments with this method. It works on
// items [lo, hi), reads its arguments only, and may use scratch memory that is
// kept for the worker, whose number is below Backend.Threads().
type task interface{ span(worker, lo, hi int) }

// split runs t over n items in spans of grain items, on all threads. Spans begin
// at multiples of grain whatever the number of threads, so lo/grain numbers them
// and a sum that is kept for each span and joined in order does not depend on
// the threads either.
//
// The Backend keeps one T, so that a call allocates nothing; hence a span must
// not split a task of its own type.
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
	*p = none            // keeps no array alive
	runtime.KeepAlive(b) // its helpers end with it
}

// scratch returns n elements of memory that the Backend keeps under a name, with
// undefined contents. A name belongs to one operation and one element type.
func scratch[T any](b *Backend, name string, n int) []T {
	s, _ := b.scratch[name].([]T)
	if cap(s) < n {
		s = make([]T, n)
		b.scratch[name] = s
	}
	return s[:n]
}
