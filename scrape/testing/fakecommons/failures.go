package fakecommons

import (
	"math/rand/v2"
	"net/http"
	"slices"
)

// failure is a failing answer.
type failure struct {
	name       string
	status     int
	kind       string // Content-Type
	body       string
	retryAfter string // header, as written
	code       string // MediaWiki-API-Error
	header     http.Header
	cut        bool // the connection ends in the middle of the body
}

const (
	htmlType = "text/html; charset=utf-8"
	jsonType = "application/json; charset=utf-8"
)

// lagging is the answer to a request with maxlag while the servers lag.
var lagging = &failure{name: "maxlag", status: 200, kind: jsonType, retryAfter: "5", code: "maxlag",
	header: http.Header{"X-Database-Lag": {"3"}},
	body: `{"error":{"code":"maxlag","info":"Waiting for all: 3.45 seconds lagged.","host":"all","lag":3.45` +
		`,"type":"wikibase-queryservice","queryserviceLag":626,` +
		`"docref":"See https://www.wikidata.org/w/api.php for API usage."},"servedby":"mw1280"}`}

// edgeFailures are temporary failures of Wikimedia's caches and proxies. The pauses are short
// so that nobody has to wait for them.
var edgeFailures = []*failure{
	{name: "429", status: 429, kind: htmlType, retryAfter: "0.02",
		body: "<!DOCTYPE html><html><p>Too many requests</html>"},
	{name: "429 without Retry-After", status: 429, kind: htmlType,
		body: "<!DOCTYPE html><html><p>Too many requests</html>"},
	{name: "500", status: 500, kind: htmlType, body: "<html>Internal Server Error</html>"},
	{name: "502", status: 502, kind: htmlType, body: "<html>Bad Gateway</html>"},
	{name: "503", status: 503, kind: htmlType, retryAfter: "0.01", body: "<html>Service Unavailable</html>"},
	{name: "504", status: 504, kind: "text/plain", body: "upstream request timeout"},
}

// pageFailures are the temporary failures of pages.
var pageFailures = slices.Concat(edgeFailures, []*failure{
	{name: "cut connection", status: 200, kind: htmlType,
		body: "<!DOCTYPE html>\n<html class=\"client-nojs\"><head><title>Cut</title></head></html>", cut: true},
	{name: "cut page", status: 200, kind: htmlType,
		body: "<!DOCTYPE html>\n<html class=\"client-nojs\"><head><title>Cut</title></head><body><div " +
			"id=\"mw-content-text\">"},
})

// apiFailures are the temporary failures of the APIs. The last one only applies to requests
// with maxlag.
var apiFailures = slices.Concat(edgeFailures, []*failure{
	{name: "ratelimited", status: 200, kind: jsonType, code: "ratelimited", retryAfter: "0.01",
		body: `{"error":{"code":"ratelimited","info":"You've exceeded your rate limit. Please wait some time and try ` +
			`again.","docref":"See https://www.wikidata.org/w/api.php for API usage."}}`},
	{name: "readonly", status: 200, kind: jsonType, code: "readonly",
		body: `{"error":{"code":"readonly","info":"The wiki is currently in read-only mode."` +
			`,"readonlyreason":"maintenance"}}`},
	{name: "internal error", status: 200, kind: jsonType, code: "internal_api_error_DBQueryError",
		body: `{"error":{"code":"internal_api_error_DBQueryError","info":"[abc] Caught exception of type DBQueryError"` +
			`,"errorclass":"DBQueryError"}}`},
	{name: "HTML with 200", status: 200, kind: htmlType,
		body: "<!DOCTYPE html><html><title>Wikimedia Error</title></html>"},
	{name: "empty", status: 200, kind: jsonType},
	{name: "cut JSON", status: 200, kind: jsonType, body: `{"batchcomplete":true,"query":{"pages":[{"pageid":1`},
	{name: "cut connection", status: 200, kind: jsonType, body: `{"batchcomplete":true,"query":{"pages":[]}}`, cut: true},
	lagging,
})

// failure decides at random whether a request fails, and how.
func (s *Server) failure(r *http.Request, ways []*failure) *failure {
	if s.Failures == 0 {
		return nil
	}
	t := &s.traffic
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.draw == nil {
		t.draw = rand.New(rand.NewPCG(s.Seed, 1))
	}
	if t.draw.Float64() >= s.Failures {
		return nil
	}
	f := ways[t.draw.IntN(len(ways))]
	if f == lagging && r.Form.Get("maxlag") == "" {
		return nil
	}
	return f
}
