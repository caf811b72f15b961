package device

import (
	"runtime"

	"hgld/internal/crash"
)

// lockThread binds the goroutine to its thread for good. The thread ends with it. A driver's
// current context is a property of the thread.
func lockThread() { runtime.LockOSThread() }

// Thread is the one goroutine that calls the operations of a backend. A backend may bind its
// state to the operating system's thread, and a new thread for every call would be slow.
type Thread struct {
	jobs chan func() error
	errs chan error
	done chan error
}

// NewThread starts a thread for b. Close ends it.
func NewThread(b Backend) *Thread {
	t := &Thread{jobs: make(chan func() error), errs: make(chan error), done: make(chan error, 1)}
	go func() {
		defer crash.Guard()
		t.done <- Do(b, func() error {
			for job := range t.jobs {
				t.errs <- job()
			}
			return nil
		})
	}()
	return t
}

// Do runs job on the thread and returns its error.
func (t *Thread) Do(job func() error) error {
	t.jobs <- job
	return <-t.errs
}

// Close ends the thread and returns the error of the device, if any.
func (t *Thread) Close() error {
	close(t.jobs)
	return <-t.done
}
