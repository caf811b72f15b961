// Package sourcetest contains what the tests of stage 1 share: made-up landmarks, a fake
// Wikimedia that serves them and enforces its limits, and crawls through either source. Only
// tests import it.
package sourcetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hgld/labels"
	"hgld/scrape"
	"hgld/scrape/api"
	"hgld/scrape/page"
	"hgld/scrape/polite"
	"hgld/scrape/testing/fakecommons"
)

// Agent is the user agent of the crawls.
const Agent = "hgld-bot/1 (me@uni.edu) Go"

// Stamp is the time of every answer, so that runs can be compared byte by byte.
func Stamp() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

// Clock is a clock that begins at Stamp and whose waits take no time. Site and crawl share
// one, so a wait of either advances it for both.
type Clock struct{ passed atomic.Int64 }

// Now returns Stamp plus the duration of all waits so far.
func (c *Clock) Now() time.Time { return Stamp().Add(time.Duration(c.passed.Load())) }

// Sleep advances the clock and returns immediately.
func (c *Clock) Sleep(ctx context.Context, d time.Duration) error {
	c.passed.Add(int64(max(0, d)))
	return ctx.Err()
}

// Source is one of the two sources.
type Source struct {
	Name   string                 // scrape.Source.Name
	Polite func() polite.Settings // with the highest rate that Wikimedia allows
	open   func(api.Options, http.RoundTripper) (scrape.Source, error)
}

// Sources lists both sources. Tests of the crawl itself run with each.
var Sources = []Source{
	{"page", func() polite.Settings {
		p := polite.Defaults()
		p.InFlight, p.Rate = 4, polite.WikimediaRate
		return p
	}, func(o api.Options, t http.RoundTripper) (scrape.Source, error) { return page.New(o.Commons, t, o.Now) }},
	{"api", func() polite.Settings {
		p := polite.APIDefaults()
		p.Rate = polite.WikimediaAPIRate
		return p
	}, func(o api.Options, t http.RoundTripper) (scrape.Source, error) { return api.New(o, t) }},
}

// Input returns the category file of some places.
func Input(places []fakecommons.Category) scrape.Input {
	in := scrape.Input{Name: "train_label_to_category.csv"}
	hash := sha256.New()
	for _, c := range places {
		in.Landmarks = append(in.Landmarks, scrape.Landmark{ID: c.Landmark, Split: labels.Train,
			Category: labels.CategoryURL(c.Title)})
		fmt.Fprintln(hash, c.Landmark, c.Title)
	}
	in.SHA256 = hex.EncodeToString(hash.Sum(nil))
	return in
}

// Site is a fake Commons and Wikidata on the loopback address. It enforces Wikimedia's
// limits.
type Site struct {
	*fakecommons.Server // may be replaced between crawls

	URL    string                 // of both Commons and Wikidata
	Places []fakecommons.Category // landmarks of the crawls
	Clock  *Clock                 // of Server and of the crawls
}

// NewSite serves some places until the test ends. change may modify the server before it
// starts.
func NewSite(t testing.TB, places []fakecommons.Category, change ...func(*fakecommons.Server)) *Site {
	t.Helper()
	s := &Site{Places: places, Clock: &Clock{}}
	s.Serve(places)
	for _, f := range change {
		f(s.Server)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter,
		r *http.Request) {
		s.Server.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// Serve replaces the places that are served.
func (s *Site) Serve(places []fakecommons.Category) {
	s.Server = fakecommons.New(places)
	s.Server.Clock, s.Server.Limits = s.Clock, fakecommons.WikimediaLimits()
	s.Server.Limits.Pages.InFlight = Sources[0].Polite().InFlight
}

// Crawl configures a crawl.
type Crawl struct {
	Polite  polite.Settings // of the transport
	Options api.Options     // of the API source; the page source uses Commons and Now
}

// Config returns a crawl into dir through a source, modified by change. It first advances the
// clock by a second: a new process has a full token bucket, and without the pause its first
// request would exceed the rate.
func (s *Site) Config(t testing.TB, source Source, dir string, change ...func(*Crawl)) scrape.Config {
	t.Helper()
	s.Clock.passed.Add(int64(time.Second))
	cfg, err := Config(source, s.URL, dir, s.Places, append([]func(*Crawl){func(c *Crawl) { c.Polite.Clock = s.Clock }},
		change...)...)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// Config returns a crawl for a process without a Site.
func Config(source Source, url, dir string, places []fakecommons.Category, change ...func(*Crawl)) (scrape.Config,
	error) {
	c := Crawl{Polite: source.Polite(), Options: api.Options{Commons: url, Wikidata: url, Now: Stamp}}
	c.Polite.Hosts, c.Polite.Clock, c.Polite.UserAgent = []string{strings.TrimPrefix(url, "http://")}, &Clock{}, Agent
	for _, f := range change {
		f(&c)
	}
	transport, err := polite.New(c.Polite, http.DefaultTransport)
	if err != nil {
		return scrape.Config{}, err
	}
	opened, err := source.open(c.Options, transport)
	return scrape.Config{State: filepath.Join(dir, "state"), Input: Input(places), Source: opened,
		Workers: c.Polite.InFlight,
		Out:     scrape.Output{Tags: filepath.Join(dir, "tags.jsonl"), Policy: "first", Tool: "hgld test"}}, err
}

// Run crawls and returns the report and the content of tags.jsonl.
func Run(t testing.TB, cfg scrape.Config) (*scrape.Report, []byte) {
	t.Helper()
	report, err := scrape.Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(cfg.Out.Tags)
	if err != nil {
		t.Fatal(err)
	}
	return report, data
}

// Records parses a tags.jsonl.
func Records(t testing.TB, data []byte) []labels.Record {
	t.Helper()
	_, records, err := labels.ReadTags(bytes.NewReader(data), "tags.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	return records
}

// KeptRules fails the test if a request has broken one of the site's rules.
func (s *Site) KeptRules(t testing.TB) {
	t.Helper()
	if v := s.Violations(); len(v) > 0 {
		t.Errorf("%d rules were broken, the first: %s", len(v), v[0])
	}
}
