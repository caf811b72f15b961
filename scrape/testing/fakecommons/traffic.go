package fakecommons

import (
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"hgld/scrape/polite"
)

// Request is an entry of the log.
type Request struct {
	At     time.Time `json:"at"`               // by Server.Clock
	Method string    `json:"method"`           // GET or POST
	Action string    `json:"action"`           // "page", or the action of the API and what is asked for: "query pageprops"
	Keys   int       `json:"keys"`             // titles or ids
	Failed string    `json:"failed,omitempty"` // why there was no answer, "" if there was one
}

// traffic records the requests of all clients.
type traffic struct {
	mu         sync.Mutex
	pages, api surface
	violations []string
	log        []Request
	keys       map[string]int // answers by action and key
	draw       *rand.Rand
}

// Violations describes each request that broke a rule.
func (s *Server) Violations() []string {
	s.traffic.mu.Lock()
	defer s.traffic.mu.Unlock()
	return slices.Clone(s.traffic.violations)
}

// Log returns the requests for pages and to the APIs, in order.
func (s *Server) Log() []Request {
	s.traffic.mu.Lock()
	defer s.traffic.mu.Unlock()
	return slices.Clone(s.traffic.log)
}

// Answered returns how often the APIs have answered each "action key".
func (s *Server) Answered() map[string]int {
	s.traffic.mu.Lock()
	defer s.traffic.mu.Unlock()
	return maps.Clone(s.traffic.keys)
}

// exchange is a pending request.
type exchange struct {
	s     *Server
	w     http.ResponseWriter
	r     *http.Request
	on    *surface
	pace  Pace
	keys  []string
	began time.Time
	over  bool
}

// begin admits a request. If the request breaks a rule, begin answers it and returns nil.
func (s *Server) begin(w http.ResponseWriter, r *http.Request, on *surface, pace Pace, keys []string) *exchange {
	x := &exchange{s: s, w: w, r: r, on: on, pace: pace, keys: keys, began: s.clock().Now()}
	if f := s.admit(r, on, pace); f != nil {
		x.fail(f)
		return nil
	}
	return x
}

// wait simulates latency. It returns false if the client disconnects.
func (x *exchange) wait(d time.Duration) bool {
	if d > 0 && x.s.clock().Sleep(x.r.Context(), d) != nil {
		x.end()
		return false
	}
	return true
}

// end removes the request from the pending ones.
func (x *exchange) end() {
	t := &x.s.traffic
	t.mu.Lock()
	defer t.mu.Unlock()
	if x.over {
		return
	}
	x.over = true
	x.on.now--
	if now := x.s.clock().Now(); x.pace.Rest > 0 && now.Sub(x.began) > x.pace.Slow {
		x.on.restUntil = now.Add(x.pace.Rest)
	}
}

// send writes an answer. It ends the request before the last byte, because the client may
// send the next request as soon as it has received that byte.
func (x *exchange) send(status int, body []byte) {
	x.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	x.w.WriteHeader(status)
	x.write(body)
}

func (x *exchange) write(body []byte) {
	last := max(0, len(body)-1)
	_, _ = x.w.Write(body[:last]) // the client may have gone
	x.end()
	_, _ = x.w.Write(body[last:])
}

// fail answers with a failure.
func (x *exchange) fail(f *failure) {
	h := x.w.Header()
	maps.Copy(h, f.header)
	h.Set("Content-Type", f.kind)
	if f.retryAfter != "" {
		h.Set("Retry-After", f.retryAfter)
		x.s.pauseUntil(x.r, x.on, x.pace, f.retryAfter)
	}
	if f.code != "" {
		h.Set("MediaWiki-API-Error", f.code)
	}
	x.note(f.name)
	if !f.cut {
		x.send(f.status, []byte(f.body))
		return
	}
	h.Set("Content-Length", strconv.Itoa(len(f.body)))
	x.w.WriteHeader(f.status)
	x.write([]byte(f.body[:len(f.body)/2])) // net/http then closes the connection
}

// note adds the request to the log.
func (x *exchange) note(failed string) {
	t := &x.s.traffic
	t.mu.Lock()
	defer t.mu.Unlock()
	t.log = append(t.log, Request{At: x.s.clock().Now(), Method: x.r.Method, Action: x.action(), Keys: len(x.keys),
		Failed: failed})
	if failed != "" || x.on != &t.api || x.r.Form.Get("clcontinue") != "" {
		return
	}
	if t.keys == nil {
		t.keys = map[string]int{}
	}
	for _, key := range x.keys {
		t.keys[x.action()+" "+key]++
	}
}

func (x *exchange) action() string {
	if x.on == &x.s.traffic.pages {
		return "page"
	}
	return x.r.Form.Get("action") + " " + x.r.Form.Get("prop") + x.r.Form.Get("props") + x.r.Form.Get("list")
}

func (s *Server) clock() polite.Clock {
	if s.Clock != nil {
		return s.Clock
	}
	return polite.SystemClock{}
}
