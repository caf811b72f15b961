package polite

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"hgld/internal/retry"
)

// StatusError is an answer that says nothing about the page: the server is busy, refuses the
// request, or is broken. The same request may succeed later. The text of this error, like
// that of the others here, omits the URL because http.Client adds it.
type StatusError struct {
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

// BodyError reports a body that is longer than the limit, in bytes.
type BodyError int64

// Error names the limit.
func (e BodyError) Error() string { return fmt.Sprintf("the body is longer than %d bytes", int64(e)) }

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
func faultOf(resp *http.Response, err error, now time.Time) *fault {
	if err != nil {
		return &fault{err: err, again: !errors.As(err, new(BodyError))}
	}
	f := &fault{retryAfter: retry.After(resp.Header.Get("Retry-After"), now)}
	f.err = &StatusError{Status: resp.StatusCode, RetryAfter: f.retryAfter}
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

// readBody reads the whole body and replaces it by the data.
func readBody(resp *http.Response, limit int64) error {
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return fmt.Errorf("the body ended early, after %d bytes: %w", len(data), err)
	}
	if int64(len(data)) > limit {
		return BodyError(limit)
	}
	resp.Body = io.NopCloser(bytes.NewReader(data))
	resp.ContentLength = int64(len(data))
	return nil
}
