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

// StatusError is an answer that says nothing about the page: the server is busy,
// refuses, or is broken. The same request may succeed later. Its text, as that of
// the other errors here, leaves out the URL: http.Client puts it in front.
type StatusError struct {
	URL        string
	Status     int
	RetryAfter time.Duration // as the server asked, 0 if it did not
}

// Error names the status, and how long the server wants to be left alone.
func (e *StatusError) Error() string {
	s := fmt.Sprintf("HTTP %d %s", e.Status, http.StatusText(e.Status))
	if e.RetryAfter > 0 {
		s += fmt.Sprintf(", retry after %v", e.RetryAfter)
	}
	return s
}

// BodyError is a body above the limit.
type BodyError struct {
	URL   string
	Limit int64
}

// Error names the limit.
func (e *BodyError) Error() string {
	return fmt.Sprintf("the body is longer than %d bytes", e.Limit)
}

// fault is what kept one attempt from an answer.
type fault struct {
	err        error
	retryAfter time.Duration
	refused    bool // 429 or 403: the server does not want us, as against cannot
	paused     bool // every request to the host has to wait, not this one alone
	again      bool // another attempt is worth it
	lag        bool // the servers are behind: wait, as long as it takes within LagWait
}

// faultOf classifies an attempt; nil is an answer, though it may be 404.
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

// RetryAfter reads the header of that name: seconds as a whole number, seconds
// with a fraction (Wikimedia's edge sends such), or an HTTP date. Anything else,
// and a moment that has passed, is 0. Above a day is a day.
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

// readBody replaces the body by what was read of it to its end.
func readBody(resp *http.Response, limit int64) error {
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return fmt.Errorf("the body broke off after %d bytes: %w", len(data), err)
	}
	if int64(len(data)) > limit {
		return &BodyError{URL: resp.Request.URL.Redacted(), Limit: limit}
	}
	resp.Body = io.NopCloser(bytes.NewReader(data))
	resp.ContentLength = int64(len(data))
	return nil
}
