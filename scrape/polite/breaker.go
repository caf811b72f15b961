package polite

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// StopError reports that the transport sends no further requests.
type StopError struct {
	Reason string    // why
	Until  time.Time // when to start again; zero: any time
	Cause  error     // the last fault, if a fault was the reason
}

// Error states the reason and the cause.
func (e *StopError) Error() string {
	s := "no more requests are sent: " + e.Reason
	if e.Cause != nil {
		s += ": " + e.Cause.Error()
	}
	return s
}

// Unwrap returns Cause.
func (e *StopError) Unwrap() error { return e.Cause }

// RetryAt returns Until.
func (e *StopError) RetryAt() time.Time { return e.Until }

func isStop(err error) bool {
	var stop *StopError
	return errors.As(err, &stop)
}

// breaker opens permanently after too many consecutive refusals or failures over all
// requests. Without it, a crawl of 300,000 pages would keep sending requests to a site that
// has blocked it, or go through its whole list without a network.
type breaker struct {
	refusals, failures int // limits

	mu              sync.Mutex
	refused, failed int  // since the last good answer
	answered        bool // there was one
	open            *StopError
}

// err returns the reason if the breaker is open, or nil.
func (b *breaker) err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open != nil {
		return b.open
	}
	return nil
}

func (b *breaker) reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refused, b.failed, b.answered = 0, 0, true
}

// mostLookups is the number of failed lookups of names after which a transport without any answer stops: the machine
// has no network, and waiting does not help.
const mostLookups = 3

// count counts a fault, and returns the reason if the breaker is open. tooLong means that the
// server asked for a longer pause than Settings.MaxWait.
func (b *breaker) count(f *fault, until time.Time, tooLong bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if f.refused { // only an answer resets the counts, so a mix of refusals and failures opens it too
		b.refused++
	} else {
		b.failed++
	}
	switch {
	case b.open != nil:
	case tooLong:
		b.open = &StopError{Reason: "the server asks for a longer pause than is allowed", Until: until, Cause: f.err}
	case !b.answered && b.failed >= mostLookups && errors.As(f.err, new(*net.DNSError)):
		b.open = &StopError{Reason: "the network cannot be reached", Cause: f.err}
	case b.refused >= b.refusals || b.failed >= b.failures:
		b.open = &StopError{Reason: b.describeFaults() + " in a row", Until: until.Add(rest), Cause: f.err}
	default:
		return nil
	}
	return b.open
}

// describeFaults describes the faults since the last answer.
func (b *breaker) describeFaults() string {
	switch {
	case b.failed == 0:
		return fmt.Sprintf("%d refusals", b.refused)
	case b.refused == 0:
		return fmt.Sprintf("%d failures", b.failed)
	}
	return fmt.Sprintf("%d refusals and %d failures", b.refused, b.failed)
}

// rest is added to the requested pause when the breaker opens. A site that has refused that
// many requests needs more than a few seconds.
const rest = 15 * time.Minute

// gate holds back all requests to a host until the time that the host asked for.
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
