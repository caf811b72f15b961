package polite

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hgld/internal/testing/must"
)

// apiSite is site with the settings for an API.
func apiSite(t *testing.T, answer http.HandlerFunc) (*httptest.Server, Settings, *stillClock) {
	t.Helper()
	server, s, clock := site(t, answer)
	api := APIDefaults()
	api.Hosts, api.Clock, api.Rate = s.Hosts, clock, 1000
	return server, api, clock
}

func sayJSON(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	io.WriteString(w, body)
}

const goodReply = `{"batchcomplete":true,"query":{"pages":[]}}`

func TestTemporaryAPIErrorsAreRetried(t *testing.T) {
	for name, body := range map[string]string{
		"ratelimited": `{"error":{"code":"ratelimited","info":"You've exceeded your rate limit."}}`,
		"readonly":    `{"error":{"code":"readonly","info":"The wiki is read-only."},"servedby":"mw1"}`,
		"internal":    `{"error":{"code":"internal_api_error_DBQueryError","info":"x"}}`,
		"cut":         `{"batchcomplete":true,"query":`,
		"empty":       ``,
		"HTML":        `<!DOCTYPE html><html></html>`,
	} {
		var n atomic.Int32
		server, s, clock := apiSite(t, func(w http.ResponseWriter, r *http.Request) {
			if n.Add(1) <= 2 {
				w.Header().Set("Retry-After", "7")
				sayJSON(w, body)
				return
			}
			sayJSON(w, goodReply)
		})
		tr, text, status, err := get(t, s, server.URL+"/w/api.php")
		if err != nil || status != 200 || text != goodReply || tr.Requests() != 3 {
			t.Errorf("%s: %q, HTTP %d, %v after %d requests", name, text, status, err, tr.Requests())
		}
		if name == "ratelimited" && clock.total() < 14*time.Second {
			t.Errorf("%s: waited %v, want twice the 7 s of Retry-After", name, clock.total())
		}
	}
}

func TestPermanentAPIErrorsAreReturned(t *testing.T) {
	body := `{"error":{"code":"no-such-entity","info":"x","id":"Q0"}}`
	server, s, _ := apiSite(t, func(w http.ResponseWriter, r *http.Request) { sayJSON(w, body) })
	if tr, text, _, err := get(t, s, server.URL); err != nil || text != body || tr.Requests() != 1 {
		t.Errorf("%q, %v", text, err)
	}
}

func TestRateLimitErrorsOpenTheBreaker(t *testing.T) {
	server, s, _ := apiSite(t, func(w http.ResponseWriter, r *http.Request) {
		sayJSON(w, `{"error":{"code":"ratelimited","info":"no"}}`)
	})
	tr, err := New(s, http.DefaultTransport)
	must.Do(t, err)
	for i := 0; i < 10 && !isStop(err); i++ {
		_, _, err = fetch(tr, fmt.Sprint(server.URL, "/", i))
	}
	if !isStop(err) || tr.Requests() != 8 {
		t.Errorf("%v after %d requests, want a stop after 8", err, tr.Requests())
	}
}

func TestLagIsWaitedForUpToMaxWait(t *testing.T) {
	server, s, clock := apiSite(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "1")
		sayJSON(w, `{"error":{"code":"maxlag","info":"Waiting for all: 3.45 seconds lagged."}}`)
	})
	s.LagWait = time.Minute
	tr, _, _, err := get(t, s, server.URL)
	var lag *LagError
	if !errors.As(err, &lag) || isStop(err) || tr.Requests() != 13 || clock.total() < time.Minute ||
		clock.total() > 70*time.Second {
		t.Errorf("%v after %d requests and %v; want a LagError after a minute of 5 s each", err, tr.Requests(), clock.total())
	}
	begin := clock.Now()
	if _, _, err := fetch(tr, server.URL); !errors.As(err, &lag) || clock.Now().Sub(begin) < time.Minute+5*time.Second {
		t.Errorf("the next request came %v later, without the pause that the last answer named",
			clock.Now().Sub(begin)-time.Minute)
	}
}

// TestLongLagStopsInsteadOfWaiting: beyond MaxWait the crawl ends and says when to go on.
func TestLongLagStopsInsteadOfWaiting(t *testing.T) {
	server, s, clock := apiSite(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "86400")
		sayJSON(w, `{"error":{"code":"maxlag","info":"Waiting for all: 90000 seconds lagged."}}`)
	})
	tr, _, _, err := get(t, s, server.URL)
	var stop *StopError
	if !errors.As(err, &stop) || tr.Requests() != 1 || clock.total() > 0 ||
		!stop.RetryAt().Equal(clock.Now().Add(24*time.Hour)) {
		t.Errorf("%v after %d requests and %v; want a stop until the next day, at once", err, tr.Requests(), clock.total())
	}
}

func TestSlowAnswerIsFollowedByAPause(t *testing.T) {
	var clock *stillClock
	server, s, c := apiSite(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			clock.Sleep(r.Context(), 1200*time.Millisecond)
		}
		sayJSON(w, goodReply)
	})
	clock = c
	var took []time.Duration
	s.Took = func(d time.Duration) { took = append(took, d) }
	tr := must.Get(New(s, http.DefaultTransport))(t)
	var at []time.Time
	for _, path := range []string{"/fast", "/slow", "/fast", "/fast"} {
		if _, _, err := fetch(tr, server.URL+path); err != nil {
			t.Fatal(err)
		}
		at = append(at, clock.Now())
	}
	if pause := at[2].Sub(at[1]); pause < 5*time.Second || pause > 6*time.Second {
		t.Errorf("%v behind a slow answer, want 5 s", pause)
	}
	if pause := at[3].Sub(at[2]); pause > time.Second || len(took) != 4 || took[1] < time.Second {
		t.Errorf("%v behind a fast answer; the answers took %v", pause, took)
	}
}

func TestRepeatedPostSendsItsBodyAgain(t *testing.T) {
	var bodies []string
	server, s, _ := apiSite(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if bodies = append(bodies, string(body)); len(bodies) < 3 {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		sayJSON(w, goodReply)
	})
	tr := must.Get(New(s, http.DefaultTransport))(t)
	resp := must.Get((&http.Client{Transport: tr}).PostForm(server.URL, url.Values{"titles": {"Category:A"}}))(t)
	resp.Body.Close()
	if strings.Join(bodies, " ") != "titles=Category%3AA titles=Category%3AA titles=Category%3AA" {
		t.Errorf("bodies %q", bodies)
	}
}

func TestWikimediaAPIHasItsOwnLimits(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Settings)
		want   string
	}{
		"two in flight": {func(s *Settings) { s.InFlight = 2 }, "its robot policy allows 1 and 3"},
		"four a second": {func(s *Settings) { s.Rate = 4 }, "its robot policy allows 1 and 3"},
		"no contact":    {func(s *Settings) { s.UserAgent = "x" }, "no contact"},
		"as it should":  {func(*Settings) {}, ""},
	} {
		s := APIDefaults()
		s.Hosts, s.UserAgent, s.Rate = []string{"commons.wikimedia.org", "www.wikidata.org"}, "hgld-bot/1 (me@uni.edu) Go", 3
		c.change(&s)
		if _, err := New(s, nil); c.want == "" && err != nil || c.want != "" &&
			(err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestSlowHalvesTheRate(t *testing.T) {
	server, s, clock := apiSite(t, func(w http.ResponseWriter, r *http.Request) { sayJSON(w, goodReply) })
	s.Rate = 1
	tr := must.Get(New(s, http.DefaultTransport))(t)
	tr.Slow()
	begin := clock.Now()
	for range 5 {
		if _, _, err := fetch(tr, server.URL); err != nil {
			t.Fatal(err)
		}
	}
	if passed := clock.Now().Sub(begin); passed < 8*time.Second || passed > 9*time.Second {
		t.Errorf("five requests at one in two seconds took %v", passed)
	}
}
