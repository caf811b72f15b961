// Package polite is the part of stage 1 of hgld that follows a site's rules. Its
// http.RoundTripper sends a user agent with a contact, obeys robots.txt, paces requests with
// one token bucket, obeys Retry-After, retries with exponential backoff and jitter, sends
// requests to listed hosts only, and stops permanently when a site keeps refusing. It knows
// nothing about landmarks.
//
// The rules are those of Wikimedia's robot policy and user-agent policy. Pages without a
// query string: what robots.txt allows, at most 10 requests in flight and 20 a second. The
// Action API has its own rules instead of robots.txt: one request in flight, and a pause of
// five seconds after an answer that took more than one. Clients say who runs them, and 429
// means wait.
//
// Nothing is cached, so an error cannot be served twice.
package polite

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"hgld/internal/retry"
)

// Surface is a part of a site with its own rules.
type Surface int

// The surfaces of Wikimedia's robot policy.
const (
	Pages Surface = iota // /wiki/Title, without a query string
	API                  // /w/api.php
)

// Wikimedia's limits for its pages. New rejects settings above them.
const (
	WikimediaInFlight = 10
	WikimediaRate     = 20.0 // requests a second
)

// Wikimedia's limits for its API. The robot policy allows fewer than 5 requests a second. A
// client with a contact is granted 200 a minute, over all hosts.
const (
	WikimediaAPIInFlight = 1
	WikimediaAPIRate     = 3.0
)

// The robot policy requires a pause of slowPause after an answer of the API that took longer
// than slowAnswer.
const (
	slowAnswer = time.Second
	slowPause  = 5 * time.Second
)

// limits returns the highest number of requests in flight and the highest rate.
func (s Surface) limits() (inFlight int, rate float64) {
	if s == API {
		return WikimediaAPIInFlight, WikimediaAPIRate
	}
	return WikimediaInFlight, WikimediaRate
}

// InFlight returns how many requests a rate above 0 needs in flight, with answers that take a second, within
// Wikimedia's limit.
func (s Surface) InFlight(rate float64) int {
	most, _ := s.limits()
	return int(min(math.Ceil(rate), float64(most)))
}

// Settings configure a Transport. Start from Defaults or APIDefaults: a zero field does not
// stand for a default.
type Settings struct {
	Surface      Surface             // whose rules apply
	UserAgent    string              // from UserAgent; required for Wikimedia's hosts
	Hosts        []string            // allowed hosts, "name" or "name:port"; all others are refused
	InFlight     int                 // concurrent requests, including the transfer of the body
	Rate         float64             // requests a second, spaced evenly, over all hosts; 0: no limit
	Retries      int                 // attempts after the first, for temporary failures
	Backoff      time.Duration       // first pause; doubles each time; multiplied by a random factor of 0.5 to 1
	MaxWait      time.Duration       // longest pause; a longer Retry-After stops the transport
	Refusals     int                 // consecutive 429 or 403 that stop the transport
	Failures     int                 // consecutive failures (no answer, or 5xx) that stop it
	MaxBody      int64               // limit of a body after decompression, in bytes
	Timeout      time.Duration       // of one attempt, body included
	IgnoreRobots bool                // do not read robots.txt; only for an API with its own rules
	LagWait      time.Duration       // API: how long a request waits for lagging servers before it fails with *LagError
	Seed         uint64              // of the jitter
	Took         func(time.Duration) // called with the duration of every answer; may be nil
	Clock        Clock               // SystemClock{}, except in tests
}

// Defaults returns cautious settings for pages: 2 requests in flight, 2 a second.
func Defaults() Settings {
	return Settings{
		InFlight: 2, Rate: 2,
		Retries: 5, Backoff: time.Second, MaxWait: 10 * time.Minute,
		Refusals: 8, Failures: 30,
		MaxBody: 32 << 20, Timeout: time.Minute,
		Clock: SystemClock{},
	}
}

// APIDefaults returns cautious settings for the API: one request in flight, one a second.
func APIDefaults() Settings {
	s := Defaults()
	s.Surface, s.IgnoreRobots, s.InFlight, s.Rate, s.LagWait = API, true, 1, 1, 5*time.Minute
	return s
}

// Transport is the polite http.RoundTripper. It reads the whole body before it returns a
// response, so that it can retry when a body breaks off.
type Transport struct {
	settings Settings
	base     http.RoundTripper
	limiter  *rate.Limiter
	slots    chan struct{}
	gate     gate
	breaker  breaker
	robots   robots
	requests atomic.Int64
}

// New checks the settings and wraps base. For Wikimedia's hosts it requires a contact and
// rejects settings above Wikimedia's limits.
func New(s Settings, base http.RoundTripper) (*Transport, error) {
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("polite: %w", err)
	}
	limit := rate.Limit(s.Rate)
	if s.Rate == 0 {
		limit = rate.Inf
	}
	return &Transport{
		settings: s, base: base,
		limiter: rate.NewLimiter(limit, 1),
		slots:   make(chan struct{}, s.InFlight),
		breaker: breaker{refusals: s.Refusals, failures: s.Failures},
	}, nil
}

func (s *Settings) check() error {
	switch {
	case s.InFlight < 1 || !(s.Rate >= 0):
		return fmt.Errorf("%d requests in flight and %g a second; want at least 1, and 0 or more", s.InFlight, s.Rate)
	case s.Clock == nil || s.MaxBody < 1 || s.Refusals < 1 || s.Failures < 1:
		return fmt.Errorf("settings without a clock, body limit or breaker limits; start from Defaults")
	case len(s.Hosts) == 0:
		return fmt.Errorf("no host is allowed; name at least one")
	}
	for _, host := range s.Hosts {
		if !Wikimedia(host) {
			continue
		}
		if err := checkAgent(s.UserAgent); err != nil {
			return fmt.Errorf("%s: %w", host, err)
		}
		if inFlight, rate := s.Surface.limits(); s.InFlight > inFlight || s.Rate > rate || s.Rate == 0 {
			return fmt.Errorf("%s: %d requests in flight and %g a second; its robot policy allows %d and %g",
				host, s.InFlight, s.Rate, inFlight, rate)
		}
	}
	return nil
}

// Slow halves the rate from now on, for a site that cannot keep up.
func (t *Transport) Slow() {
	if limit := t.limiter.Limit(); limit != rate.Inf {
		t.limiter.SetLimitAt(t.settings.Clock.Now(), limit/2)
	}
}

// Requests returns the number of attempts so far, including robots.txt.
func (t *Transport) Requests() int64 { return t.requests.Load() }

// RoundTrip sends a request and retries temporary failures. It returns ErrHost or
// ErrRobots for a request that it does not send, a *StatusError, *APIError, *LagError or
// network error if it gave up and a later attempt may succeed, and a *StopError if it will
// send no further requests.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := t.allowed(req.URL); err != nil {
		return nil, err
	}
	if !t.settings.IgnoreRobots {
		if err := t.checkRobots(req); err != nil {
			return nil, err
		}
	}
	return t.retry(req)
}

// retry sends a request until it gets a usable answer, the attempts are used up, or the
// breaker opens.
func (t *Transport) retry(req *http.Request) (resp *http.Response, err error) {
	var lagged time.Duration
	err = t.rule(req).Do(req.Context(), func(pause time.Duration) (next retry.Next, err error) {
		resp, err = t.attempt(req)
		if err != nil && (req.Context().Err() != nil || isStop(err)) {
			return next, err
		}
		fault := faultOf(resp, err, t.settings.Clock.Now())
		if fault == nil && t.settings.Surface == API {
			if fault, err = apiFault(resp, t.settings.Clock.Now()); err != nil {
				return next, err
			}
		}
		switch {
		case fault == nil:
			t.breaker.reset()
			return next, nil
		case fault.lag && fault.retryAfter <= t.settings.MaxWait:
			t.gate.close(req.URL.Host, t.settings.Clock.Now().Add(fault.retryAfter)) // holds for requests without maxlag, too
			next.Free = lagged < t.settings.LagWait
			lagged += fault.retryAfter
			return next, fault.err
		}
		next = retry.Next{Again: fault.again, Least: fault.retryAfter}
		if fault.refused && fault.retryAfter == 0 {
			next.Least = silentRefusal
		}
		wait := max(pause, next.Least)
		until := t.settings.Clock.Now().Add(wait)
		if err := t.breaker.count(fault, until, wait > t.settings.MaxWait); err != nil {
			return retry.Next{}, err
		}
		if fault.paused {
			t.gate.close(req.URL.Host, until)
		}
		return next, fault.err
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// silentRefusal is the shortest pause after a 429 without Retry-After, from Wikimedia's API
// etiquette.
const silentRefusal = 5 * time.Second

// rule returns the pauses of a request: min(Backoff·2^attempt, MaxWait), times a random factor in
// [0.5, 1) that depends only on seed, URL and attempt.
func (t *Transport) rule(req *http.Request) retry.Rule {
	s := &t.settings
	return retry.Rule{Tries: 1 + s.Retries, First: s.Backoff, Longest: s.MaxWait, Sleep: s.Clock.Sleep,
		Draw: func(try int) float64 {
			hash := fnv.New64a()
			hash.Write([]byte(req.URL.String()))
			return rand.New(rand.NewPCG(s.Seed, hash.Sum64()+uint64(try))).Float64()
		}}
}

// attempt waits for its turn and sends the request once.
func (t *Transport) attempt(req *http.Request) (resp *http.Response, err error) {
	ctx := req.Context()
	select {
	case t.slots <- struct{}{}:
		defer func() { <-t.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err = t.waitTurn(ctx, req.URL.Host); err != nil {
		return nil, err
	}
	t.requests.Add(1)
	ctx, cancel := context.WithTimeout(ctx, t.settings.Timeout)
	defer cancel()
	out := req.Clone(ctx)
	if req.GetBody != nil { // an earlier attempt may have consumed the body
		if out.Body, err = req.GetBody(); err != nil {
			return nil, err
		}
	}
	if t.settings.UserAgent != "" {
		out.Header.Set("User-Agent", t.settings.UserAgent)
	}
	began := t.settings.Clock.Now()
	if resp, err = t.base.RoundTrip(out); err != nil {
		return nil, err
	}
	resp.Request = req
	err = readBody(resp, t.settings.MaxBody)
	t.noteDuration(t.settings.Clock.Now().Sub(began))
	return resp, err
}

// noteDuration applies the rule about slow answers.
func (t *Transport) noteDuration(d time.Duration) {
	if t.settings.Took != nil {
		t.settings.Took(d)
	}
	if t.settings.Surface != API || d <= slowAnswer {
		return
	}
	for _, host := range t.settings.Hosts {
		t.gate.close(host, t.settings.Clock.Now().Add(slowPause))
	}
}

// waitTurn waits until the host's gate is open and the token bucket has a token. If the gate
// closes while it waits for the token, it waits for both again.
func (t *Transport) waitTurn(ctx context.Context, host string) error {
	clock := t.settings.Clock
	for {
		if err := t.breaker.err(); err != nil {
			return err
		}
		if wait := t.gate.wait(host, clock.Now()); wait > 0 {
			if err := clock.Sleep(ctx, wait); err != nil {
				return err
			}
			continue
		}
		now := clock.Now()
		if err := clock.Sleep(ctx, t.limiter.ReserveN(now, 1).DelayFrom(now)); err != nil {
			return err
		}
		if t.gate.wait(host, clock.Now()) <= 0 && t.breaker.err() == nil {
			return nil
		}
	}
}
