package scrape

import (
	"fmt"
	"time"

	"hgld/labels"
)

// mostMalformed is the number of consecutive unreadable answers that stops a crawl. A
// single page may be broken. Twenty in a row mean a login page, a proxy, or a site that has
// changed its markup.
const mostMalformed = 20

// MalformedRunError reports that a crawl stopped after mostMalformed unreadable answers in
// a row. Their titles are stored with the outcome malformed.
type MalformedRunError struct {
	Count  int    // answers in a row
	Title  string // of the last one
	Reason string // why it could not be read
}

// Error names the last title and why its answer could not be read.
func (e *MalformedRunError) Error() string {
	return fmt.Sprintf("%d answers in a row could not be read, the last of %.80q: %s", e.Count, e.Title, e.Reason)
}

// RetryAt is the zero time, because waiting does not help. The method marks the error as
// one that ends the crawl.
func (e *MalformedRunError) RetryAt() time.Time { return time.Time{} }

// malformedRow counts consecutive malformed findings.
type malformedRow struct {
	count int
	err   error // set once count reaches mostMalformed
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
