package fakecommons

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Limits are the rules that a client of the APIs has to keep. What breaks one is
// served, and counted as a violation.
type Limits struct {
	InFlight int     // requests at a time; 0: any number
	Rate     float64 // requests a second, over ten seconds; 0: any number
	Agent    bool    // a user agent with a contact is wanted
	MaxURL   int     // bytes of an address; 0: any number
}

// Request is one line of the log.
type Request struct {
	At     time.Time
	Method string
	Action string // and what is asked: "query titles"
	Keys   int
	Failed string // how the server failed, "" if it answered
}

// traffic is what the server notes of its clients.
type traffic struct {
	mu         sync.Mutex
	now        int // requests in flight
	times      []time.Time
	holdUntil  map[string]time.Time // what a Retry-After asked for, by host
	violations []string
	log        []Request
	keys       map[string]int // answered, by action and key
	draw       *rand.Rand
}

// Violations lists the rules that clients have broken.
func (s *Server) Violations() []string {
	s.traffic.mu.Lock()
	defer s.traffic.mu.Unlock()
	return append([]string(nil), s.traffic.violations...)
}

// Log returns the requests to the APIs, in order.
func (s *Server) Log() []Request {
	s.traffic.mu.Lock()
	defer s.traffic.mu.Unlock()
	return append([]Request(nil), s.traffic.log...)
}

// Answered returns how often the APIs have answered about each key, by "action key".
func (s *Server) Answered() map[string]int {
	s.traffic.mu.Lock()
	defer s.traffic.mu.Unlock()
	all := make(map[string]int, len(s.traffic.keys))
	for key, n := range s.traffic.keys {
		all[key] = n
	}
	return all
}

// begin notes that a request has come, and whether it should have. The function that
// it returns notes its end.
func (t *traffic) begin(r *http.Request, limits Limits) func() {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now++
	broken := func(format string, args ...any) {
		t.violations = append(t.violations, fmt.Sprintf(format, args...))
	}
	if limits.InFlight > 0 && t.now > limits.InFlight {
		broken("%d requests at a time", t.now)
	}
	if limits.Rate > 0 {
		const window = 10 * time.Second
		t.times = append(t.times, now)
		for len(t.times) > 0 && now.Sub(t.times[0]) >= window {
			t.times = t.times[1:]
		}
		if n := float64(len(t.times)); n > limits.Rate*window.Seconds()+1 {
			broken("%v requests within %v", n, window)
		}
	}
	if until := t.holdUntil[r.Host]; now.Before(until) {
		broken("a request %v before the moment that Retry-After named", until.Sub(now).Round(time.Millisecond))
	}
	if agent := r.UserAgent(); limits.Agent && (!strings.Contains(agent, "bot") || !strings.Contains(agent, "(")) {
		broken("user agent %q", agent)
	}
	if n := len(r.URL.String()); limits.MaxURL > 0 && n > limits.MaxURL {
		broken("an address of %d bytes", n)
	}
	return func() {
		t.mu.Lock()
		t.now--
		t.mu.Unlock()
	}
}

func kindOf(r *http.Request) string {
	what := r.Form.Get("prop") + r.Form.Get("props") + r.Form.Get("list")
	return r.Form.Get("action") + " " + what
}

func (t *traffic) answered(r *http.Request, keys []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	kind := kindOf(r)
	t.log = append(t.log, Request{At: time.Now(), Method: r.Method, Action: kind, Keys: len(keys)})
	if t.keys == nil {
		t.keys = map[string]int{}
	}
	if r.Form.Get("clcontinue") != "" {
		return
	}
	for _, key := range keys {
		t.keys[kind+" "+key]++
	}
}

func (t *traffic) refused(r *http.Request, f *apiFailure) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.log = append(t.log, Request{At: time.Now(), Method: r.Method, Action: kindOf(r), Failed: f.name})
	if f.retryAfter > 0 {
		if t.holdUntil == nil {
			t.holdUntil = map[string]time.Time{}
		}
		t.holdUntil[r.Host] = time.Now().Add(time.Duration(f.retryAfter * float64(time.Second)))
	}
}

// apiFailure is a way in which a request to an API fails.
type apiFailure struct {
	name       string
	status     int
	kind       string // Content-Type
	body       string
	retryAfter float64 // seconds
	code       string  // MediaWiki-API-Error
	cut        bool    // the connection ends in the middle
}

const (
	htmlType = "text/html; charset=utf-8"
	jsonType = "application/json; charset=utf-8"
)

var lagging = &apiFailure{name: "maxlag", status: 200, kind: jsonType, retryAfter: 5, code: "maxlag",
	body: `{"error":{"code":"maxlag","info":"Waiting for all: 3.45 seconds lagged.","host":"all","lag":3.45,"type":"wikibase-queryservice","queryserviceLag":626},"servedby":"mw1280"}`}

// apiFailures are the ways in which the APIs fail, all of them passing. The pauses
// are short, so that a test need not wait.
var apiFailures = []*apiFailure{
	{name: "ratelimited", status: 200, kind: jsonType, code: "ratelimited", retryAfter: 0.01, body: `{"error":{"code":"ratelimited","info":"You've exceeded your rate limit. Please wait some time and try again."}}`},
	{name: "readonly", status: 200, kind: jsonType, code: "readonly", body: `{"error":{"code":"readonly","info":"The wiki is currently in read-only mode.","readonlyreason":"maintenance"}}`},
	{name: "internal error", status: 200, kind: jsonType, code: "internal_api_error_DBQueryError", body: `{"error":{"code":"internal_api_error_DBQueryError","info":"[abc] Caught exception of type DBQueryError","errorclass":"DBQueryError"}}`},
	{name: "429", status: 429, kind: htmlType, retryAfter: 0.02, body: "<!DOCTYPE html><html><p>Too many requests</html>"},
	{name: "429 without Retry-After", status: 429, kind: htmlType, body: "<!DOCTYPE html><html><p>Too many requests</html>"},
	{name: "500", status: 500, kind: htmlType, body: "<html>Internal Server Error</html>"},
	{name: "502", status: 502, kind: htmlType, body: "<html>Bad Gateway</html>"},
	{name: "503", status: 503, kind: htmlType, retryAfter: 0.01, body: "<html>Service Unavailable</html>"},
	{name: "504", status: 504, kind: "text/plain", body: "upstream request timeout"},
	{name: "HTML with 200", status: 200, kind: htmlType, body: "<!DOCTYPE html><html><title>Wikimedia Error</title></html>"},
	{name: "empty", status: 200, kind: jsonType},
	{name: "cut JSON", status: 200, kind: jsonType, body: `{"batchcomplete":true,"query":{"pages":[{"pageid":1`},
	{name: "cut connection", status: 200, kind: jsonType, body: `{"batchcomplete":true,"query":{"pages":[]}}`, cut: true},
}

// failure draws whether and how a request fails.
func (s *Server) failure(r *http.Request) *apiFailure {
	if s.API.Failures == 0 {
		return nil
	}
	t := &s.traffic
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.draw == nil {
		t.draw = rand.New(rand.NewPCG(s.API.Seed, 1))
	}
	if t.draw.Float64() >= s.API.Failures {
		return nil
	}
	n := t.draw.IntN(len(apiFailures) + 1)
	if n < len(apiFailures) {
		return apiFailures[n]
	}
	if r.Form.Get("maxlag") == "" {
		return nil
	}
	return lagging
}

func (f *apiFailure) serve(w http.ResponseWriter, _ *http.Request) {
	h := w.Header()
	h.Set("Content-Type", f.kind)
	if f.retryAfter > 0 {
		h.Set("Retry-After", strconv.FormatFloat(f.retryAfter, 'g', -1, 64))
	}
	if f.code != "" {
		h.Set("MediaWiki-API-Error", f.code)
	}
	body := f.body
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(f.status)
	if f.cut {
		body = body[:len(body)/2]
	}
	_, _ = w.Write([]byte(body)) // the client may have gone
}
