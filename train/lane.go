package train

import "hgld/train/device"

// lane is the single goroutine that calls the operations of a run. A backend may bind its state
// to the thread, and a new thread for every step would be slow.
type lane struct {
	jobs chan func() error
	errs chan error
	done chan error
}

func newLane(b device.Backend) *lane {
	l := &lane{jobs: make(chan func() error), errs: make(chan error), done: make(chan error, 1)}
	go func() {
		l.done <- device.Do(b, func() error {
			for job := range l.jobs {
				l.errs <- job()
			}
			return nil
		})
	}()
	return l
}

// do runs job on the lane and returns its error.
func (l *lane) do(job func() error) error {
	l.jobs <- job
	return <-l.errs
}

// close ends the lane and returns the error of the device, if any.
func (l *lane) close() error {
	close(l.jobs)
	return <-l.done
}
