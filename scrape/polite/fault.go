package polite

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// StatusError is an answer that says nothing about the page: the server is busy, refuses the
// request, or is broken. The same request may succeed later. The text of this error, like
// that of the others here, omits the URL because http.Client adds it.
type StatusError struct {
	URL        string        // without a password
	Status     int           // HTTP status
	RetryAfter time.Duration // requested by the server; 0 if it was not
}

// Error names the status and the requested pause.
func (e *StatusError) Error() string {
	s := fmt.Sprintf("HTTP %d %s", e.Status, http.StatusText(e.Status))
	if e.RetryAfter > 0 {
		s += fmt.Sprintf(", retry after %v", e.RetryAfter)
	}
	return s
}

// BodyError reports a body that is longer than the limit.
type BodyError struct {
	URL   string // without a password
	Limit int64  // bytes
}

// Error names the limit.
func (e *BodyError) Error() string {
	return fmt.Sprintf("the body is longer than %d bytes", e.Limit)
}

// fault is the reason why an attempt got no usable answer.
type fault struct {
	err        error
	retryAfter time.Duration
	refused    bool // 429 or 403: the server refuses us, as opposed to being unable to answer
	paused     bool // every request to the host has to wait, not only this one
	again      bool // another attempt may succeed
	lag        bool // the servers lag: wait, for up to LagWait altogether
}

// faultOf classifies an attempt. nil means that there is an answer, such as 200 or 404.
func faultOf(req *http.Request, resp *http.Response, err error, now time.Time) *fault {
	if err != nil {
		var body *BodyError
		return &fault{err: err, again: !errors.As(err, &body)}
	}
	f := &fault{retryAfter: RetryAfter(resp.Header.Get("Retry-After"), now)}
	f.err = &StatusError{URL: req.URL.Redacted(), Status: resp.StatusCode, RetryAfter: f.retryAfter}
	switch resp.StatusCode {
	case http.StatusTooManyRequests:
		f.refused, f.paused, f.again = true, true, true
	case http.StatusForbidden, http.StatusUnauthorized:
		f.refused = true
	case http.StatusServiceUnavailable:
		f.paused, f.again = f.retryAfter > 0, true
	case http.StatusRequestTimeout, http.StatusInternalServerError, http.StatusBadGateway, http.StatusGatewayTimeout:
		f.again = true
	default:
		if resp.StatusCode < 500 {
			return nil
		}
	}
	return f
}

// RetryAfter parses the header of that name: whole seconds, seconds with a fraction (sent by
// Wikimedia's caches), or an HTTP date. Anything else, and a time in the past, is 0. The
// result is at most a day.
func RetryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	const day = 24 * time.Hour
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		if math.IsNaN(seconds) || seconds <= 0 {
			return 0
		}
		return time.Duration(min(seconds, day.Seconds()) * float64(time.Second))
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(0, at.Sub(now)), day)
	}
	return 0
}

// readBody reads the whole body and replaces it by the data.
func readBody(resp *http.Response, limit int64) error {
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return fmt.Errorf("the body ended early, after %d bytes: %w", len(data), err)
	}
	if int64(len(data)) > limit {
		return &BodyError{URL: resp.Request.URL.Redacted(), Limit: limit}
	}
	resp.Body = io.NopCloser(bytes.NewReader(data))
	resp.ContentLength = int64(len(data))
	return nil
}
