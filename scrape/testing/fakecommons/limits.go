package fakecommons

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Limits are the rules for clients. A request that breaks one is refused as Wikimedia would
// refuse it, and counted as a violation. The zero value has no rules.
type Limits struct {
	API        Pace // of requests to the API
	Pages      Pace // of requests for pages
	Agent      bool // 403 unless the user agent contains a contact
	RetryAfter bool // 429 for requests before the time that Retry-After named
	MaxURL     int  // 414 for longer URLs, in bytes; 0: no limit
	MaxForm    int  // 413 for longer bodies of a POST, in bytes; 0: no limit
}

// Pace limits the requests to one surface, over all hosts. The answer to a request beyond it
// is 429.
type Pace struct {
	InFlight int           // concurrent requests; 0: no limit
	Rate     float64       // requests a second, averaged over ten seconds, plus InFlight; 0: no limit
	Slow     time.Duration // answers that take longer must be followed by Rest
	Rest     time.Duration // pause after a slow answer; 0: no such rule
}

// WikimediaLimits returns the limits of Wikimedia's robot policy and user-agent policy. The
// API grants a client with a contact 200 requests a minute over all hosts, or 3 a second.
func WikimediaLimits() Limits {
	return Limits{
		API:   Pace{InFlight: 1, Rate: 3, Slow: time.Second, Rest: 5 * time.Second},
		Pages: Pace{InFlight: 10, Rate: 20},
		Agent: true, RetryAfter: true, MaxURL: 8190, MaxForm: 1 << 20,
	}
}

// window is the time over which rates are averaged.
const window = 10 * time.Second

// surface is the state of the limits for pages, or for the API.
type surface struct {
	now       int         // pending requests
	times     []time.Time // of those within the window
	restUntil time.Time
	holds     map[string]*hold // by host
}

// hold is the time until which an answer forbids further requests. A client with several
// concurrent requests may send more before it has read that answer; late is how many of
// these are still tolerated.
type hold struct {
	until time.Time
	late  int
}

// latePerSlot is the number of tolerated requests for each further concurrent request of the
// client. On a loaded machine up to three were seen.
const latePerSlot = 8

// contact matches a user agent with an e-mail address or a URL in parentheses.
var contact = regexp.MustCompile(`\([^)]*(@|https?://)[^)]*\)`)

// admit registers a request. It returns the refusal if the request breaks a rule, or nil.
func (s *Server) admit(r *http.Request, on *surface, pace Pace) *failure {
	t := &s.traffic
	t.mu.Lock()
	defer t.mu.Unlock()
	now := s.clock().Now()
	on.now++
	on.times = append(on.times, now)
	for now.Sub(on.times[0]) >= window {
		on.times = on.times[1:]
	}
	refuse := func(f *failure, format string, args ...any) *failure {
		t.violations = append(t.violations, fmt.Sprintf(format, args...))
		return f
	}
	hold, early := on.holds[r.Host], false
	if s.Limits.RetryAfter && hold != nil && now.Before(hold.until) {
		hold.late--
		early = hold.late < 0
	}
	switch agent := r.UserAgent(); {
	case s.Limits.Agent && !contact.MatchString(agent):
		return refuse(noAgent, "user agent %q", agent)
	case s.Limits.MaxURL > 0 && len(r.URL.String()) > s.Limits.MaxURL:
		return refuse(longURL, "an address of %d bytes", len(r.URL.String()))
	case s.Limits.MaxForm > 0 && r.ContentLength > int64(s.Limits.MaxForm):
		return refuse(longForm, "a body of %d bytes", r.ContentLength)
	case early:
		return refuse(tooMany(hold.until.Sub(now)), "a request %v before the moment that Retry-After named",
			hold.until.Sub(now).Round(time.Millisecond))
	case pace.Rest > 0 && now.Before(on.restUntil):
		return refuse(tooMany(on.restUntil.Sub(now)), "a request %v after a slow answer; want %v",
			pace.Rest-on.restUntil.Sub(now), pace.Rest)
	case pace.InFlight > 0 && on.now > pace.InFlight:
		return refuse(tooMany(time.Second), "%d requests at a time", on.now)
	// those may have been on their way
	case pace.Rate > 0 && len(on.times) > int(pace.Rate*window.Seconds())+max(1, pace.InFlight):
		return refuse(tooMany(on.times[0].Add(window).Sub(now)), "%d requests within %v", len(on.times), window)
	}
	return nil
}

// pauseUntil registers the Retry-After of an answer.
func (s *Server) pauseUntil(r *http.Request, on *surface, pace Pace, retryAfter string) {
	now := s.clock().Now()
	until := now
	if seconds, err := strconv.ParseFloat(retryAfter, 64); err == nil {
		until = now.Add(time.Duration(seconds * float64(time.Second)))
	} else if at, err := http.ParseTime(retryAfter); err == nil {
		until = at
	}
	s.traffic.mu.Lock()
	defer s.traffic.mu.Unlock()
	if old := on.holds[r.Host]; old != nil && !until.After(old.until) {
		return
	}
	if on.holds == nil {
		on.holds = map[string]*hold{}
	}
	on.holds[r.Host] = &hold{until: until, late: latePerSlot * max(pace.InFlight-1, 0)}
}

// The answers to requests that break a rule.
var (
	noAgent = &failure{name: "no contact", status: http.StatusForbidden, kind: "text/plain; charset=utf-8",
		body: "Please set a user-agent and respect our robot policy https://w.wiki/4wJS.\n"}
	longURL = &failure{name: "long address", status: http.StatusRequestURITooLong, kind: htmlType,
		body: "<!DOCTYPE html><html><p>URI Too Long</html>"}
	longForm = &failure{name: "long body", status: http.StatusRequestEntityTooLarge, kind: htmlType,
		body: "<!DOCTYPE html><html><p>Payload Too Large</html>"}
)

// tooMany returns the answer to a request that comes too early. Its Retry-After has whole
// seconds.
func tooMany(wait time.Duration) *failure {
	seconds := max(1, int64((wait+time.Second-1)/time.Second))
	return &failure{name: "too early", status: http.StatusTooManyRequests, kind: htmlType,
		retryAfter: strconv.FormatInt(seconds, 10),
		header:     http.Header{"X-Wmf-Ratelimit-Class": {"unauthed-bot"}},
		body: "<!DOCTYPE html><html><head><title>Too many requests</title></head><p>Too many requests. " +
			strings.Repeat("Please slow down. ", 2) + "</html>"}
}
