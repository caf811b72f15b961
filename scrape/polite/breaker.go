package polite

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// StopError says that no request is sent any more, and from when on it makes
// sense to start again (zero: at once).
type StopError struct {
	Reason string
	Until  time.Time
	Cause  error // the last fault, if one was the reason
}

// Error says why nothing more is asked; RetryAt, until when.
func (e *StopError) Error() string {
	s := "stopped asking: " + e.Reason
	if e.Cause != nil {
		s += ": " + e.Cause.Error()
	}
	return s
}

// Unwrap returns the fault that was one too many, nil if there is none.
func (e *StopError) Unwrap() error { return e.Cause }

// RetryAt is the moment from which on the same command may be run again.
func (e *StopError) RetryAt() time.Time { return e.Until }

func isStop(err error) bool {
	var stop *StopError
	return errors.As(err, &stop)
}

// breaker opens, for good, after too many refusals or failures in a row over all
// requests. A crawl of 300,000 pages would otherwise keep hammering a site that
// has blocked it, or walk through its whole list without a network.
type breaker struct {
	refusals, failures int // limits

	mu              sync.Mutex
	refused, failed int // since the last good answer
	open            *StopError
}

// err returns why the breaker is open, or nil.
func (b *breaker) err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open != nil {
		return b.open
	}
	return nil
}

func (b *breaker) good() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refused, b.failed = 0, 0
}

// bad counts a fault; the error is the open breaker. tooLong says that the
// server asked for a pause beyond the longest that we sit out.
func (b *breaker) bad(f *fault, until time.Time, tooLong bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if f.refused { // only an answer ends a row: refusals and failures in turn open it too
		b.refused++
	} else {
		b.failed++
	}
	switch {
	case b.open != nil:
	case tooLong:
		b.open = &StopError{Reason: "the server asks for a long pause", Until: until, Cause: f.err}
	case b.refused >= b.refusals || b.failed >= b.failures:
		b.open = &StopError{Reason: b.row() + " in a row", Until: until.Add(rest), Cause: f.err}
	default:
		return nil
	}
	return b.open
}

// row describes the faults since the last good answer.
func (b *breaker) row() string {
	switch {
	case b.failed == 0:
		return fmt.Sprintf("%d refusals", b.refused)
	case b.refused == 0:
		return fmt.Sprintf("%d failures", b.failed)
	}
	return fmt.Sprintf("%d refusals and %d failures", b.refused, b.failed)
}

// rest is the time that is added to the pause asked for once the breaker has
// opened: a site that has refused so often needs more than the next few seconds.
const rest = 15 * time.Minute

// gate holds back all requests to a host until the moment that it asked for.
type gate struct {
	mu    sync.Mutex
	until map[string]time.Time
}

func (g *gate) close(host string, until time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.until == nil {
		g.until = map[string]time.Time{}
	}
	if until.After(g.until[host]) {
		g.until[host] = until
	}
}

func (g *gate) wait(host string, now time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.until[host].Sub(now)
}
