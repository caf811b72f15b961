package polite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hgld/internal/testing/must"
)

// failing answers n requests with a status and the next ones with "page".
func failing(n int32, status int, retryAfter string) http.HandlerFunc {
	var seen atomic.Int32
	return func(w http.ResponseWriter, r *http.Request) {
		if seen.Add(1) <= n {
			if retryAfter != "" {
				w.Header().Set("Retry-After", retryAfter)
			}
			w.WriteHeader(status)
			return
		}
		io.WriteString(w, "page")
	}
}

func TestTemporaryFailuresAreRetried(t *testing.T) {
	for _, status := range []int{429, 500, 502, 503, 504, 408} {
		server, s, clock := site(t, failing(3, status, ""))
		tr, body, code, err := get(t, s, server.URL)
		if err != nil || body != "page" || code != 200 || tr.Requests() != 5 {
			t.Errorf("HTTP %d three times: %q, %d, %v, %d requests", status, body, code, err, tr.Requests())
		}
		// 1 + 2 + 4 s, each times 0.5 to 1; after a 429 without a time at least 5 s.
		least, most := 3500*time.Millisecond, 7100*time.Millisecond
		if status == 429 {
			least, most = 15*time.Second, 15100*time.Millisecond
		}
		if got := clock.total(); got < least || got > most {
			t.Errorf("HTTP %d three times: waited %v, want %v to %v", status, got, least, most)
		}
	}
}

func TestRetryAfterIsObeyed(t *testing.T) {
	for _, c := range []struct {
		header string
		want   time.Duration
	}{{"45", 90 * time.Second}, {"19.25", 38500 * time.Millisecond}, {"Fri, 02 Jan 2026 03:05:05 GMT", time.Minute}} {
		server, s, clock := site(t, failing(2, 429, c.header))
		_, body, _, err := get(t, s, server.URL)
		if err != nil || body != "page" {
			t.Fatal(body, err)
		}
		// The first wait ends at the date, so the second is a back-off.
		if got := clock.total(); got < c.want-time.Second || got > c.want+6*time.Second {
			t.Errorf("Retry-After %s twice: waited %v, want about %v", c.header, got, c.want)
		}
	}
}

func TestRetryAfterHoldsBackEveryRequest(t *testing.T) {
	server, s, clock := site(t, failing(1, 429, "40"))
	s.Retries = 0
	tr, _, _, err := get(t, s, server.URL+"/first")
	var status *StatusError
	if !errors.As(err, &status) || status.Status != 429 || status.RetryAfter != 40*time.Second {
		t.Fatalf("error %v, want a StatusError of 429", err)
	}
	start := clock.Now()
	if _, _, err := fetch(tr, server.URL+"/second"); err != nil {
		t.Fatal(err)
	}
	if waited := clock.Now().Sub(start); waited < 40*time.Second {
		t.Errorf("another request went out after %v, want 40 s", waited)
	}
}

func TestRetriesEndInAnError(t *testing.T) {
	server, s, _ := site(t, failing(1000, 503, ""))
	tr, _, _, err := get(t, s, server.URL)
	var status *StatusError
	if !errors.As(err, &status) || status.Status != 503 || tr.Requests() != 7 {
		t.Errorf("error %v after %d requests, want HTTP 503 after robots.txt and 6 attempts", err, tr.Requests())
	}
}

func TestOtherStatusesAreReturned(t *testing.T) {
	for _, status := range []int{200, 404, 410, 400, 414} {
		server, s, _ := site(t, failing(1, status, ""))
		if tr, _, code, err := get(t, s, server.URL); err != nil || code != status || tr.Requests() != 2 {
			t.Errorf("HTTP %d: got %d, %v after %d requests", status, code, err, tr.Requests())
		}
	}
}

func TestBreakerOpensAfterRefusals(t *testing.T) {
	for _, status := range []int{403, 429} {
		server, s, clock := site(t, failing(1000, status, "30"))
		tr, err := New(s, http.DefaultTransport)
		must.Do(t, err)
		var stop *StopError
		for i := 0; i < 20 && !errors.As(err, &stop); i++ {
			_, _, err = fetch(tr, fmt.Sprint(server.URL, "/", i))
		}
		if stop == nil || tr.Requests() != 9 || !strings.Contains(err.Error(), "8 refusals in a row") {
			t.Fatalf("HTTP %d: error %v after %d requests, want the breaker after 8", status, err, tr.Requests())
		}
		if left := stop.RetryAt().Sub(clock.Now()); left < 15*time.Minute || left > 16*time.Minute {
			t.Errorf("HTTP %d: retry in %v, want 15.5 min", status, left)
		}
		if _, _, err := fetch(tr, server.URL); !isStop(err) || tr.Requests() != 9 {
			t.Errorf("HTTP %d: the open breaker let a request pass (%v)", status, err)
		}
	}
}

func TestAnswerResetsTheBreaker(t *testing.T) {
	var n atomic.Int32
	server, s, _ := site(t, func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1)%8 != 0 {
			w.WriteHeader(http.StatusForbidden)
		}
	})
	tr := must.Get(New(s, http.DefaultTransport))(t)
	for range 40 {
		if _, _, err := fetch(tr, server.URL); isStop(err) {
			t.Fatalf("stopped: %v, though every eighth request is answered", err)
		}
	}
}

func TestBreakerOpensWithoutANetwork(t *testing.T) {
	server, s, _ := site(t, nil)
	server.Close()
	tr, err := New(s, http.DefaultTransport)
	must.Do(t, err)
	for i := 0; i < 30 && !isStop(err); i++ {
		_, _, err = fetch(tr, server.URL)
	}
	if !isStop(err) || tr.Requests() != 30 || !strings.Contains(err.Error(), "30 failures in a row") {
		t.Errorf("error %v after %d requests, want the breaker after 30", err, tr.Requests())
	}
}

// An overloaded site alternates between refusals and failures, so neither occurs several times in a
// row.
func TestBreakerOpensAfterRefusalsAndFailuresInTurn(t *testing.T) {
	var n atomic.Int32
	server, s, _ := site(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader([]int{http.StatusTooManyRequests, http.StatusInternalServerError}[n.Add(1)%2])
	})
	tr, err := New(s, http.DefaultTransport)
	must.Do(t, err)
	for i := 0; i < 30 && !isStop(err); i++ {
		_, _, err = fetch(tr, server.URL)
	}
	if !isStop(err) || tr.Requests() > 18 || !strings.Contains(err.Error(), "8 refusals and 8 failures in a row") {
		t.Errorf("error %v after %d requests, want the breaker after 16", err, tr.Requests())
	}
}

func TestLongPauseStopsInsteadOfSleeping(t *testing.T) {
	server, s, clock := site(t, failing(1, 429, "7200"))
	_, _, _, err := get(t, s, server.URL)
	var stop *StopError
	if !errors.As(err, &stop) || stop.RetryAt().Sub(clock.Now()) < 119*time.Minute {
		t.Errorf("error %v, want a StopError with a time two hours ahead", err)
	}
	if clock.total() > time.Second {
		t.Errorf("slept %v", clock.total())
	}
}

func TestTruncatedBodyIsRetried(t *testing.T) {
	var n atomic.Int32
	server, s, _ := site(t, func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1) == 1 {
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, "half")
			return
		}
		io.WriteString(w, "page")
	})
	if tr, body, _, err := get(t, s, server.URL); err != nil || body != "page" || tr.Requests() != 3 {
		t.Errorf("%q, %v after %d requests", body, err, tr.Requests())
	}
}

func TestBodyAboveTheLimitIsAnError(t *testing.T) {
	server, s, _ := site(t, func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.URL.Query().Get("n"))
		io.WriteString(w, strings.Repeat("x", n))
	})
	s.MaxBody = 1000
	tr, body, _, err := get(t, s, server.URL+"/?n=1000")
	if err != nil || len(body) != 1000 {
		t.Fatalf("%d bytes, %v", len(body), err)
	}
	_, _, err = fetch(tr, server.URL+"/?n=1001")
	if !errors.As(err, new(BodyError)) || tr.Requests() != 3 {
		t.Errorf("error %v after %d requests, want one attempt and a BodyError", err, tr.Requests())
	}
}

func TestTimeoutIsRetried(t *testing.T) {
	var n atomic.Int32
	server, s, _ := site(t, func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1) == 1 {
			select {
			case <-r.Context().Done():
			case <-time.After(5 * time.Second):
			}
			return
		}
		io.WriteString(w, "page")
	})
	s.Timeout = 500 * time.Millisecond // in which one of six attempts is answered, also on a busy machine
	if _, body, _, err := get(t, s, server.URL); err != nil || body != "page" {
		t.Errorf("%q, %v", body, err)
	}
}

func TestCancellingEndsAWait(t *testing.T) {
	server, s, _ := site(t, failing(1000, 503, "60"))
	s.Clock = SystemClock{}
	tr, err := New(s, http.DefaultTransport)
	must.Do(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
	must.Do(t, err)
	start := time.Now()
	_, err = tr.RoundTrip(req)
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 30*time.Second {
		t.Errorf("error %v after %v", err, time.Since(start))
	}
}

func TestJitterDependsOnlyOnTheSeed(t *testing.T) {
	req := must.Get(http.NewRequest(http.MethodGet, "http://127.0.0.1/x", nil))(t)
	pause := func(seed uint64) (all []time.Duration) {
		tr := &Transport{settings: Settings{Seed: seed, Backoff: time.Second, MaxWait: time.Minute, Clock: SystemClock{}}}
		for attempt := range 40 {
			d := tr.rule(req).Pause(attempt)
			full := min(time.Minute, time.Second<<min(attempt, 30))
			if d < full/2 || d >= full {
				t.Errorf("attempt %d: pause %v, want half of %v or more", attempt, d, full)
			}
			all = append(all, d)
		}
		return all
	}
	if a, b := fmt.Sprint(pause(1)), fmt.Sprint(pause(1)); a != b {
		t.Errorf("seed 1 gave %s and %s", a, b)
	}
	if a, b := fmt.Sprint(pause(1)), fmt.Sprint(pause(2)); a == b {
		t.Error("seeds 1 and 2 gave the same pauses")
	}
}

// unknownNames fails as a machine without a network does, but for the first requests.
type unknownNames struct {
	answers int
	asked   atomic.Int32
}

func (u *unknownNames) RoundTrip(req *http.Request) (*http.Response, error) {
	if int(u.asked.Add(1)) <= u.answers {
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, Request: req}, nil
	}
	return nil, &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: req.URL.Host, IsNotFound: true}}
}

// Without a network a crawl stops after three tries, and asks for no pause; a network that fails later gets its time.
func TestMachineWithoutANetworkStopsSoon(t *testing.T) {
	for answers, want := range []int32{3, 7} { // with one answer: the tries of one request
		s := Defaults()
		s.Hosts, s.Clock, s.IgnoreRobots = []string{"example.test"}, newClock(), true
		base := &unknownNames{answers: answers}
		tr := must.Get(New(s, base))(t)
		var err error
		for range answers + 1 {
			_, err = tr.RoundTrip(must.Get(http.NewRequest(http.MethodGet, "http://example.test/wiki/A", nil))(t))
		}
		var stop *StopError
		if stopped := errors.As(err, &stop); base.asked.Load() != want || stopped != (answers == 0) {
			t.Errorf("after %d answers: %d requests, want %d (%v)", answers, base.asked.Load(), want, err)
		}
		if stop != nil && (!stop.Until.IsZero() || !strings.Contains(stop.Error(), "no such host")) {
			t.Errorf("the crawl ends with %v, until %v", stop, stop.Until)
		}
	}
}
