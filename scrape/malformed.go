package scrape

import (
	"fmt"
	"time"

	"hgld/labels"
)

// mostMalformed is the number of answers in a row that could not be read after which
// a crawl stops. One page may be broken; twenty one after another are a login page,
// a proxy, or a site that has changed its form.
const mostMalformed = 20

// MalformedRunError says that a crawl has stopped because answer after answer could
// not be read. What was read is kept with the outcome malformed.
type MalformedRunError struct {
	Count  int
	Title  string // the last of them
	Reason string // why it could not be read
}

// Error names the last title and what was wrong with its answer.
func (e *MalformedRunError) Error() string {
	return fmt.Sprintf("%d answers in a row could not be read, the last of %.80q: %s", e.Count, e.Title, e.Reason)
}

// RetryAt is the zero time: waiting mends nothing. The method makes the error end a
// crawl.
func (e *MalformedRunError) RetryAt() time.Time { return time.Time{} }

// malformedRow counts malformed findings in a row.
type malformedRow struct {
	count int
	err   error // once there are mostMalformed
}

func (m *malformedRow) add(found []labels.Record) {
	for _, rec := range found {
		if rec.Outcome != labels.Malformed {
			m.count = 0
			continue
		}
		if m.count++; m.count >= mostMalformed && m.err == nil {
			m.err = &MalformedRunError{Count: m.count, Title: rec.Title, Reason: rec.Error}
		}
	}
}
