package fakecommons

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// steps is a clock that the test advances.
type steps struct {
	mu  sync.Mutex
	now time.Time
}

func (c *steps) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *steps) Sleep(_ context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	return nil
}

// limited is a server with Wikimedia's limits, and a client that ignores them.
type limited struct {
	*Server
	t     *testing.T
	url   string
	clock *steps
}

func newLimited(t *testing.T) *limited {
	t.Helper()
	l := &limited{Server: New([]Category{{Title: "Category:A", Item: "Q5", Values: []Value{{Text: "park"}}}}), t: t,
		clock: &steps{now: time.Unix(1e9, 0)}}
	l.Limits, l.Clock = WikimediaLimits(), l.clock
	server := httptest.NewServer(l.Server)
	t.Cleanup(server.Close)
	l.url = server.URL
	return l
}

const politeAgent = "hgld-bot/1 (me@uni.edu) Go"

func (l *limited) ask(method, path, agent, body string) (*http.Response, string) {
	l.t.Helper()
	req, err := http.NewRequest(method, l.url+path, strings.NewReader(body))
	if err != nil {
		l.t.Fatal(err)
	}
	req.Header.Set("User-Agent", agent)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		l.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		l.t.Fatal(err)
	}
	return resp, string(text)
}

const (
	askItem = "/w/api.php?action=wbgetentities&format=json&formatversion=2&props=info&ids=Q5"
	askPage = "/wiki/Category:A"
)

// The server refuses every violation as Wikimedia does and counts it. It forgets violations when
// the limits are lifted.
func TestBrokenRulesAreRefusedAndCounted(t *testing.T) {
	ids := make([]string, 51)
	for i := range ids {
		ids[i] = fmt.Sprintf("Q%d", i+1)
	}
	longTitle := "&titles=" + strings.Repeat("x", 9000)
	for name, c := range map[string]struct {
		before             int // requests that precede it at the same moment
		path, agent, form  string
		status             int
		violation, inReply string
		retryAfter         string
	}{
		"no user agent": {0, askItem, "", "", 403, `user agent ""`, "robot policy", ""},
		"a library's": {0, askPage, "Go-http-client/1.1", "", 403, `user agent "Go-http-client/1.1"`,
			"robot policy", ""},
		"no contact": {0, askItem, "hgld-bot/1 (none)", "", 403, `user agent "hgld-bot/1 (none)"`, "robot policy",
			""},
		"too many API requests": {31, askItem, politeAgent, "", 429, "32 requests within 10s", "Too many requests", "10"},
		"too many pages":        {210, askPage, politeAgent, "", 429, "211 requests within 10s", "Too many requests", "10"},
		"a long address": {0, askItem + longTitle, politeAgent, "", 414, "an address of 9085 bytes", "URI Too Long",
			""},
		"a long body": {0, "/w/api.php", politeAgent, strings.Repeat("x", 2<<20), 413, "a body of 2097152 bytes",
			"Too Large", ""},
		"a large batch": {0, "/w/api.php", politeAgent, url.Values{"action": {"wbgetentities"}, "formatversion": {"2"},
			"ids": {strings.Join(ids, "|")}}.Encode(),
			200, "51 titles or ids in a request", `"code":"toomanyvalues"`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLimited(t)
			for range c.before {
				if resp, _ := l.ask(http.MethodGet, c.path, c.agent, ""); resp.StatusCode != 200 {
					t.Fatalf("a request that keeps the rules: %s", resp.Status)
				}
			}
			method := http.MethodGet
			if c.form != "" {
				method = http.MethodPost
			}
			resp, body := l.ask(method, c.path, c.agent, c.form)
			if resp.StatusCode != c.status || !strings.Contains(body, c.inReply) ||
				resp.Header.Get("Retry-After") != c.retryAfter {
				t.Errorf("%s, Retry-After %q: %.200s", resp.Status, resp.Header.Get("Retry-After"), body)
			}
			if v := l.Violations(); len(v) != 1 || v[0] != c.violation {
				t.Errorf("violations %q, want %q", v, c.violation)
			}
			log := l.Log()
			if last := log[len(log)-1]; len(log) != c.before+1 || last.Failed == "" && c.status != 200 {
				t.Errorf("%d lines in the log, the last %+v", len(log), last)
			}
			l.Limits = Limits{} // no request is pending
			if resp, _ := l.ask(method, c.path, c.agent, c.form); resp.StatusCode != 200 {
				t.Errorf("with the limits lifted: %s", resp.Status)
			}
		})
	}
}

// After a refusal, the client is served again only after the pause that it was told.
func TestRetryAfterHasToBeWaitedFor(t *testing.T) {
	l := newLimited(t)
	for range 32 {
		l.ask(http.MethodGet, askItem, politeAgent, "")
	}
	l.clock.Sleep(t.Context(), 9*time.Second)
	resp, _ := l.ask(http.MethodGet, askItem, politeAgent, "")
	if v := l.Violations(); resp.StatusCode != 429 || resp.Header.Get("Retry-After") != "1" || len(v) != 2 ||
		v[1] != "a request 1s before the moment that Retry-After named" {
		t.Errorf("a second early: %s, Retry-After %q, violations %q", resp.Status, resp.Header.Get("Retry-After"), v)
	}
	l.clock.Sleep(t.Context(), time.Second)
	if resp, _ := l.ask(http.MethodGet, askItem, politeAgent, ""); resp.StatusCode != 200 || len(l.Violations()) != 2 {
		t.Errorf("in time: %s, violations %q", resp.Status, l.Violations())
	}
}

func TestServerRequiresAPauseAfterASlowAnswer(t *testing.T) {
	l := newLimited(t)
	l.Latency = 1500 * time.Millisecond
	l.ask(http.MethodGet, askItem, politeAgent, "")
	l.clock.Sleep(t.Context(), 4*time.Second)
	if resp, _ := l.ask(http.MethodGet, askItem, politeAgent, ""); resp.StatusCode != 429 ||
		resp.Header.Get("Retry-After") != "1" ||
		len(l.Violations()) != 1 || l.Violations()[0] != "a request 4s after a slow answer; want 5s" {
		t.Errorf("%s, violations %q", resp.Status, l.Violations())
	}
	if resp, _ := l.ask(http.MethodGet, askPage, politeAgent, ""); resp.StatusCode != 200 {
		t.Errorf("a page meanwhile: %s", resp.Status)
	}
	l.clock.Sleep(t.Context(), time.Second)
	if resp, _ := l.ask(http.MethodGet, askItem, politeAgent, ""); resp.StatusCode != 200 || len(l.Violations()) != 1 {
		t.Errorf("then: %s, violations %q", resp.Status, l.Violations())
	}
}

// blocking is a clock whose Sleep lasts until the test ends it.
type blocking struct{ begun, end chan bool }

func (blocking) Now() time.Time { return time.Unix(1e9, 0) }

func (b blocking) Sleep(context.Context, time.Duration) error {
	b.begun <- true
	<-b.end
	return nil
}

func TestConcurrentRequestIsRefused(t *testing.T) {
	l := newLimited(t)
	clock := blocking{make(chan bool), make(chan bool)}
	l.Clock, l.Latency = clock, time.Millisecond
	first := make(chan int)
	go func() {
		resp, _ := l.ask(http.MethodGet, askItem, politeAgent, "")
		first <- resp.StatusCode
	}()
	<-clock.begun
	if resp, _ := l.ask(http.MethodGet, askItem, politeAgent, ""); resp.StatusCode != 429 ||
		resp.Header.Get("Retry-After") != "1" {
		t.Errorf("the second: %s", resp.Status)
	}
	clock.end <- true
	if status := <-first; status != 200 || len(l.Violations()) != 1 || l.Violations()[0] != "2 requests at a time" {
		t.Errorf("the first: %d, violations %q", status, l.Violations())
	}
}
