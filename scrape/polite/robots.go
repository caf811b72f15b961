package polite

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/temoto/robotstxt"
)

const (
	robotsLife = 24 * time.Hour // RFC 9309, 2.4: do not use an older copy
	robotsSize = 500 << 10      // RFC 9309, 2.5: the least that has to be read
)

// RobotsError says that robots.txt forbids a URL.
type RobotsError struct{ URL, Agent string }

// Error names the agent that the rules forbid.
func (e *RobotsError) Error() string {
	return fmt.Sprintf("the site's robots.txt forbids it to %.80q", e.Agent)
}

// robots keeps the rules of each host for a day.
type robots struct {
	mu    sync.Mutex
	rules map[string]*rules
}

type rules struct {
	mu   sync.Mutex // held while the file is fetched, so that it is fetched once
	data *robotstxt.RobotsData
	read time.Time
}

func (r *robots) of(host string) *rules {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rules == nil {
		r.rules = map[string]*rules{}
	}
	if r.rules[host] == nil {
		r.rules[host] = &rules{}
	}
	return r.rules[host]
}

// checkRobots returns a *RobotsError for a forbidden URL. A robots.txt that
// cannot be had (5xx, 429, no network) is an error too, and asked for again with
// the next request: it is neither "all allowed" nor, for the life of the
// process, "all forbidden".
func (t *Transport) checkRobots(req *http.Request) error {
	r := t.robots.of(req.URL.Host)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.data == nil || t.settings.Clock.Now().Sub(r.read) > robotsLife {
		if err := t.readRobots(req, r); err != nil {
			return fmt.Errorf("robots.txt: %w", err)
		}
	}
	path := req.URL.EscapedPath()
	if req.URL.RawQuery != "" {
		path += "?" + req.URL.RawQuery
	}
	if r.data.TestAgent(path, t.settings.UserAgent) {
		return nil
	}
	err := &RobotsError{URL: req.URL.Redacted(), Agent: t.settings.UserAgent}
	if stop := t.breaker.bad(&fault{err: err}, t.settings.Clock.Now(), false); stop != nil {
		return stop
	}
	return err
}

// readRobots fetches and parses the host's robots.txt. Redirects are followed,
// to allowed hosts, and are not themselves looked up in robots.txt.
func (t *Transport) readRobots(req *http.Request, r *rules) error {
	u := &url.URL{Scheme: req.URL.Scheme, Host: req.URL.Host, Path: "/robots.txt"}
	ask, err := http.NewRequestWithContext(req.Context(), http.MethodGet, u.String(), nil)
	if err != nil {
		return err
	}
	resp, err := (&http.Client{Transport: lawless{t}}).Do(ask)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, robotsSize))
	if err != nil {
		return err
	}
	data, err := robotstxt.FromStatusAndBytes(resp.StatusCode, body)
	if err != nil {
		if stop := t.breaker.bad(&fault{err: err}, t.settings.Clock.Now(), false); stop != nil {
			return stop
		}
		return err
	}
	r.data, r.read = data, t.settings.Clock.Now()
	return nil
}

// lawless is the transport without a look at robots.txt, for robots.txt.
type lawless struct{ t *Transport }

func (l lawless) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := l.t.allowed(req.URL); err != nil {
		return nil, err
	}
	return l.t.retry(req)
}
