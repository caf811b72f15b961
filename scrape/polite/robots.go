package polite

import (
	"errors"
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
	robotsSize = 500 << 10      // RFC 9309, 2.5: crawlers must read at least this much
)

// ErrRobots reports that robots.txt forbids a URL. It was not requested.
var ErrRobots = errors.New("the site's robots.txt forbids it")

// robots caches the rules of each host for a day.
type robots struct {
	mu    sync.Mutex
	rules map[string]*rules
}

type rules struct {
	mu   sync.Mutex // held while the file is fetched, so that it is fetched only once
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

// checkRobots returns ErrRobots for a forbidden URL. If robots.txt cannot be fetched
// (5xx, 429, no network), that is an error as well, and the next request tries again. It
// means neither "all allowed" nor, for the life of the process, "all forbidden".
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
	err := fmt.Errorf("%w to %.80q", ErrRobots, t.settings.UserAgent)
	if stop := t.breaker.count(&fault{err: err}, t.settings.Clock.Now(), false); stop != nil {
		return stop
	}
	return err
}

// readRobots fetches and parses the host's robots.txt. It follows redirects to allowed hosts
// without consulting their robots.txt.
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
		if stop := t.breaker.count(&fault{err: err}, t.settings.Clock.Now(), false); stop != nil {
			return stop
		}
		return err
	}
	r.data, r.read = data, t.settings.Clock.Now()
	return nil
}

// lawless sends requests for robots.txt itself, without consulting robots.txt.
type lawless struct{ t *Transport }

// RoundTrip sends a request.
func (l lawless) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := l.t.allowed(req.URL); err != nil {
		return nil, err
	}
	return l.t.retry(req)
}
