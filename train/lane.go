package train

import "hgld/train/device"

// lane is the one goroutine from which the operations of a run come: a backend
// may bind its state to the thread, and a thread a step would be costly.
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

// close ends the lane and returns the device's error, if it had one.
func (l *lane) close() error {
	close(l.jobs)
	return <-l.done
}
