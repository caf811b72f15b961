package fakecommons

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Limits are the rules that a client has to keep. A request that breaks one is
// refused in the way Wikimedia refuses it, and counted as a violation. The zero value
// lifts them all.
type Limits struct {
	API, Pages Pace
	Agent      bool // the user agent names a contact, or the answer is 403
	RetryAfter bool // nothing is asked before the moment that an answer named, or the answer is 429
	MaxURL     int  // bytes of an address, beyond which the answer is 414; 0: any number
	MaxForm    int  // bytes in the body of a POST, beyond which the answer is 413; 0: any number
}

// Pace bounds the requests to one surface, over all hosts. A request beyond it is
// answered by 429.
type Pace struct {
	InFlight int           // requests at a time; 0: any number
	Rate     float64       // requests a second, on average over ten, and InFlight more; 0: any number
	Slow     time.Duration // an answer that takes longer is followed by Rest; 0: no such rule
	Rest     time.Duration // time without a request
}

// WikimediaLimits are those of Wikimedia's robot policy and user-agent policy. The
// API gives a client with a contact 200 requests a minute over all hosts, which is
// written here as 3 a second and leaves a burst of one.
func WikimediaLimits() Limits {
	return Limits{
		API:   Pace{InFlight: 1, Rate: 3, Slow: time.Second, Rest: 5 * time.Second},
		Pages: Pace{InFlight: 10, Rate: 20},
		Agent: true, RetryAfter: true, MaxURL: 8190, MaxForm: 1 << 20,
	}
}

// window is the time over which a rate is averaged.
const window = 10 * time.Second

// surface is what the server knows of its clients' requests to the pages, or to the
// API.
type surface struct {
	now       int         // requests in flight
	times     []time.Time // of those within the window
	restUntil time.Time
	holds     map[string]*hold // by host
}

// hold is the moment until which an answer asks for silence. A client with one request
// at a time has read the answer before it sends the next. With several, others go on
// until it has: late of them are let through.
type hold struct {
	until time.Time
	late  int
}

// latePerSlot is how many requests each of a client's other slots may send before the
// client has read an answer. On a loaded machine three were seen.
const latePerSlot = 8

// contact is a user agent with an e-mail address or a URL in parentheses.
var contact = regexp.MustCompile(`\([^)]*(@|https?://)[^)]*\)`)

// admit notes a request and returns how it is refused, nil if it keeps the rules.
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

// hush notes that an answer asks for silence.
func (s *Server) hush(r *http.Request, on *surface, pace Pace, retryAfter string) {
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

// tooMany is the answer to a request that comes too early. Wikimedia names whole
// seconds.
func tooMany(wait time.Duration) *failure {
	seconds := max(1, int64((wait+time.Second-1)/time.Second))
	return &failure{name: "too early", status: http.StatusTooManyRequests, kind: htmlType,
		retryAfter: strconv.FormatInt(seconds, 10),
		header:     http.Header{"X-Wmf-Ratelimit-Class": {"unauthed-bot"}},
		body: "<!DOCTYPE html><html><head><title>Too many requests</title></head><p>Too many requests. " +
			strings.Repeat("Please slow down. ", 2) + "</html>"}
}
