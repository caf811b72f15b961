package polite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hgld/internal/testing/must"
)

// stillClock advances only when somebody sleeps.
type stillClock struct {
	mu    sync.Mutex
	now   time.Time
	slept []time.Duration
}

func newClock() *stillClock { return &stillClock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)} }

func (c *stillClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *stillClock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d > 0 {
		c.now = c.now.Add(d)
		c.slept = append(c.slept, d)
	}
	return ctx.Err()
}

func (c *stillClock) total() (sum time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, d := range c.slept {
		sum += d
	}
	return sum
}

// site is a server with answers of the test's own, without robots.txt.
func site(t *testing.T, answer http.HandlerFunc) (*httptest.Server, Settings, *stillClock) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	clock := newClock()
	s := Defaults()
	s.Hosts, s.Clock, s.Rate = []string{strings.TrimPrefix(server.URL, "http://")}, clock, 1000
	return server, s, clock
}

func get(t *testing.T, s Settings, url string) (*Transport, string, int, error) {
	t.Helper()
	tr := must.Get(New(s, http.DefaultTransport))(t)
	body, status, err := fetch(tr, url)
	return tr, body, status, err
}

func fetch(tr *Transport, url string) (string, int, error) {
	resp, err := (&http.Client{Transport: tr}).Get(url)
	if err != nil {
		return "", 0, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), resp.StatusCode, err
}

func TestWikimediaNeedsAContact(t *testing.T) {
	s := Defaults()
	s.Hosts = []string{"commons.wikimedia.org"}
	for agent, want := range map[string]string{
		"":                            "no contact is given",
		"hgld-bot/1":                  "no contact is given",
		"hgld-bot/1 (me@example.com)": "placeholder",
		"hgld-bot/1 (me at home)":     "neither an e-mail address nor a URL",
	} {
		s.UserAgent = agent
		if _, err := New(s, http.DefaultTransport); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("user agent %q: error %v, want %q", agent, err, want)
		}
	}
	var err error
	if s.UserAgent, err = UserAgent("0.1 dev", "me@uni.edu"); err != nil {
		t.Fatal(err)
	}
	if want := "hgld-bot/0.1-dev (me@uni.edu) Go-http-client/1.1"; s.UserAgent != want {
		t.Errorf("user agent %q, want %q", s.UserAgent, want)
	}
	if _, err := New(s, http.DefaultTransport); err != nil {
		t.Errorf("with a contact: %v", err)
	}
}

func TestContactIsAnAddressOrURL(t *testing.T) {
	for contact, good := range map[string]bool{
		"me@uni.edu": true, " me@uni.edu ": true, "https://uni.edu/~me": true,
		"": false, "me": false, "me@localhost": false, "me@example.com": false, "me@mail.example.org": false,
		"me@example.net":        false,
		"http://example.com/me": false, "me@uni.edu (hello)": false, "a b@uni.edu": false, "ftp://uni.edu": false,
		"me@uni.edu\r\nX: y": false, "https://uni.test/me": false,
	} {
		if _, err := UserAgent("1", contact); (err == nil) != good {
			t.Errorf("contact %q: error %v", contact, err)
		}
	}
}

func TestWikimediaLimitsCannotBeExceeded(t *testing.T) {
	s := Defaults()
	s.UserAgent, _ = UserAgent("1", "me@uni.edu")
	for _, c := range []struct {
		host     string
		inFlight int
		rate     float64
		good     bool
	}{
		{"commons.wikimedia.org", 10, 20, true},
		{"commons.wikimedia.org", 11, 20, false},
		{"commons.wikimedia.org:443", 1, 20.5, false},
		{"WWW.Wikidata.org.", 1, 21, false},
		{"127.0.0.1:8080", 100, 5000, true},
		{"wikimedia.org.evil.net", 100, 5000, true},
		{"127.0.0.1:8080", 0, 1, false},
		{"127.0.0.1:8080", 1, 0, true},
		{"127.0.0.1:8080", 1, -1, false},
		{"127.0.0.1:8080", 1, math.NaN(), false},
		{"commons.wikimedia.org", 1, 0, false},
		{"commons.wikimedia.org", 1, math.Inf(1), false},
	} {
		s.Hosts, s.InFlight, s.Rate = []string{c.host}, c.inFlight, c.rate
		if _, err := New(s, nil); (err == nil) != c.good {
			t.Errorf("%s, %d in flight, %g/s: error %v", c.host, c.inFlight, c.rate, err)
		}
	}
}

func TestRequestsAreSpacedEvenly(t *testing.T) {
	server, s, clock := site(t, func(w http.ResponseWriter, r *http.Request) {})
	s.Rate = 2
	tr, _, _, err := get(t, s, server.URL+"/a")
	for i := range 8 {
		if err == nil {
			_, _, err = fetch(tr, fmt.Sprint(server.URL, "/", i))
		}
	}
	must.Do(t, err)
	// robots.txt and nine pages are ten requests with nine gaps of half a second.
	if got := clock.total(); got < 4400*time.Millisecond || got > 4600*time.Millisecond {
		t.Errorf("ten requests at 2/s took %v, want 4.5 s", got)
	}
	if tr.Requests() != 10 {
		t.Errorf("%d requests counted, want 10", tr.Requests())
	}
}

func TestRequestsInFlightAreLimited(t *testing.T) {
	var now, most atomic.Int32
	full, fill := make(chan struct{}), new(sync.Once) // three have been in flight
	server, s, _ := site(t, func(w http.ResponseWriter, r *http.Request) {
		n := now.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		if n == 3 {
			fill.Do(func() { close(full) })
		}
		select {
		case <-full:
			time.Sleep(5 * time.Millisecond) // for a fourth
		case <-r.Context().Done():
		}
		now.Add(-1)
	})
	s.InFlight, s.Clock = 3, SystemClock{}
	tr := must.Get(New(s, http.DefaultTransport))(t)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if _, _, err := fetch(tr, server.URL); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if most.Load() != 3 {
		t.Errorf("%d requests in flight at most, want 3", most.Load())
	}
}

func TestEveryRequestHasTheUserAgent(t *testing.T) {
	server, s, _ := site(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.Header.Get("User-Agent")+"|"+r.Header.Get("Accept-Language")+"|"+r.Header.Get("Accept-Encoding"))
	})
	s.UserAgent = "hgld-bot/1 (me@uni.edu)"
	if _, body, _, err := get(t, s, server.URL); err != nil || body != "hgld-bot/1 (me@uni.edu)||gzip" {
		t.Errorf("the server saw %q, %v", body, err)
	}
}

func TestOtherHostsAreRefused(t *testing.T) {
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	server, s, _ := site(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Query().Get("to"), http.StatusFound)
	})
	for _, to := range []string{other.URL, "file:///etc/passwd", "http://169.254.169.254/latest", "//evil.net/",
		"http://user@" + s.Hosts[0] + "/"} {
		_, _, _, err := get(t, s, server.URL+"/?to="+url.QueryEscape(to))
		if !errors.Is(err, ErrHost) {
			t.Errorf("redirect to %s: error %v, want ErrHost", to, err)
		}
	}
	if elsewhere.Load() != 0 {
		t.Errorf("another host got %d requests", elsewhere.Load())
	}
}
