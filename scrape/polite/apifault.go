package polite

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"hgld/internal/retry"
)

// APIError is a temporary error that the API reports with status 200: the servers are
// overloaded, read-only or broken. Errors about the request itself are left to the caller.
type APIError struct {
	Code string // MediaWiki's code, such as "ratelimited"
	Info string // MediaWiki's text
}

// Error quotes the API.
func (e *APIError) Error() string {
	return fmt.Sprintf("the API answers %.40q: %.160q", e.Code, e.Info)
}

// LagError reports that the servers lagged for longer than Settings.LagWait.
type LagError struct {
	Info string // MediaWiki's text, which says how far they lag
}

// Error quotes the API.
func (e *LagError) Error() string { return fmt.Sprintf("the servers lag: %.160q", e.Info) }

// leastLagWait is the shortest pause after maxlag, even if the answer names a shorter one.
// Replication does not catch up in less time.
const leastLagWait = 5 * time.Second

// apiFault looks for a temporary error in an answer of the API. The second result is an error
// from reading the body.
func apiFault(resp *http.Response, now time.Time) (*fault, error) {
	body, err := io.ReadAll(resp.Body) // from memory: readBody has replaced it
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	if resp.StatusCode != http.StatusOK {
		return nil, nil
	}
	media, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	trimmed := bytes.TrimSpace(body)
	if err != nil || media != "application/json" || len(trimmed) == 0 || trimmed[0] != '{' ||
		trimmed[len(trimmed)-1] != '}' {
		return &fault{err: fmt.Errorf("the API sent %.80q of type %.40q; want JSON", trimmed, media), again: true}, nil
	}
	if len(body) > 1<<20 || resp.Header.Get("MediaWiki-API-Error") == "" && !bytes.Contains(body, []byte(`"error"`)) {
		return nil, nil
	}
	var reply struct{ Error *struct{ Code, Info string } }
	if err := json.Unmarshal(body, &reply); err != nil || reply.Error == nil {
		return nil, nil
	}
	f := &fault{err: &APIError{reply.Error.Code, reply.Error.Info},
		retryAfter: retry.After(resp.Header.Get("Retry-After"), now)}
	switch code := reply.Error.Code; {
	case code == "maxlag":
		f.err = &LagError{reply.Error.Info}
		f.lag, f.retryAfter = true, max(f.retryAfter, leastLagWait)
	case code == "ratelimited":
		f.refused, f.paused, f.again = true, true, true
	case code == "readonly" || strings.HasPrefix(code, "internal_api_error"):
		f.paused, f.again = f.retryAfter > 0, true
	default:
		return nil, nil
	}
	return f, nil
}
