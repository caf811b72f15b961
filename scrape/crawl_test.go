package scrape_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hgld/internal/testing/effort"
	"hgld/internal/testing/must"
	"hgld/labels"
	"hgld/scrape"
	"hgld/scrape/polite"
	"hgld/scrape/testing/fakecommons"
	"hgld/scrape/testing/sourcetest"
)

// places returns n categories with every kind of page.
func places(n int) []fakecommons.Category {
	kinds := []fakecommons.Category{
		{Values: []fakecommons.Value{{Text: "church building", Qualifiers: []string{"1172–1954"},
			Link: "/wiki/Category:Churches"}}},
		{Values: []fakecommons.Value{{Text: "neighborhood  park"}, {Text: "urban park"}},
			Variant: fakecommons.SpanningHeader},
		{Values: []fakecommons.Value{{Text: "lake "}}, Variant: fakecommons.SeveralBoxes},
		{Variant: fakecommons.NoTag}, {Variant: fakecommons.NoInfobox}, {Variant: fakecommons.Missing},
		{Variant: fakecommons.Disambiguation},
		{Variant: fakecommons.SoftRedirect}, {Values: []fakecommons.Value{{Text: "Wikimedia category"}}},
	}
	all := make([]fakecommons.Category, n)
	for i := range all {
		all[i] = kinds[i%len(kinds)]
		all[i].Landmark, all[i].Title = labels.LandmarkID(i), fmt.Sprintf("Category:Place %d, Göttingen & 'x' (%%)", i)
		if all[i].Variant == fakecommons.SoftRedirect {
			all[i].Target = all[i-7].Title
		} else if i%2 == 0 {
			all[i].Item = fmt.Sprintf("Q%d", 1000+i)
		}
	}
	return all
}

// site is a fake site that is crawled through its pages.
type site struct {
	*sourcetest.Site
	change func(*polite.Settings) // applied to the settings of crawls, or nil
}

func newSite(t *testing.T, categories []fakecommons.Category) *site {
	t.Helper()
	return &site{Site: sourcetest.NewSite(t, categories)}
}

// config returns the configuration of a crawl into dir.
func (s *site) config(t testing.TB, dir string) scrape.Config {
	t.Helper()
	return s.Config(t, sourcetest.Sources[0], dir, func(c *sourcetest.Crawl) {
		if s.change != nil {
			s.change(&c.Polite)
		}
	})
}

var mustRun = sourcetest.Run

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	data := must.Get(os.ReadFile(path))(t)
	return data
}

func TestCrawlWritesARecordForEveryLandmark(t *testing.T) {
	t.Parallel()
	s := newSite(t, places(18))
	cfg := s.config(t, t.TempDir())
	shared := cfg.Input.Landmarks[0]
	shared.ID, shared.Category = 100, strings.Replace(shared.Category, "Place", "place", 1)
	cfg.Input.Landmarks = append(cfg.Input.Landmarks, shared, scrape.Landmark{ID: 101, Split: labels.Index,
		Category: "http://evil.net/x"})
	report, tags := mustRun(t, cfg)
	header, records, err := labels.ReadTags(bytes.NewReader(tags), "tags.jsonl")
	must.Do(t, err)
	if header.Source != "page" || header.Tool != "hgld test" || string(header.Extra["policy"]) != `"first"` {
		t.Errorf("header %+v", header)
	}
	outcomes := []labels.Outcome{labels.OK, labels.OK, labels.OK, labels.NoTag, labels.NoInfobox, labels.Missing,
		labels.Disambiguation, labels.OK, labels.CategoryItem}
	raws := []string{"church building", "neighborhood  park", "lake ", "", "", "", "", "church building", ""}
	if len(records) != 20 {
		t.Fatalf("%d records", len(records))
	}
	for i, rec := range records[:18] {
		if int(rec.Landmark) != i || rec.Outcome != outcomes[i%9] || rec.Raw != raws[i%9] ||
			rec.Tag != scrape.Normal(raws[i%9]) ||
			rec.Category != cfg.Input.Landmarks[i].Category || rec.Title != s.Places[i].Title || rec.Source != "page" {
			t.Errorf("landmark %d: %+v", i, rec)
		}
	}
	if r := records[7]; !reflect.DeepEqual(r.Redirects, []string{s.Places[0].Title}) ||
		r.Values[0].Qualifiers[0] != "1172–1954" {
		t.Errorf("redirected: %+v", r)
	}
	if r := records[18]; r.Landmark != 100 || r.Tag != "church building" || s.Requests()[r.Title] != 1 {
		t.Errorf("a landmark with the same category, and the target of a redirect: %+v, asked for %d times", r,
			s.Requests()[r.Title])
	}
	if r := records[19]; r.Outcome != labels.Failed || !strings.Contains(r.Error, "evil.net") {
		t.Errorf("a landmark without a category: %+v", r)
	}
	if report.Titles != 18 || report.Several != 2 || report.Tags != 3 || len(report.Failed) != 1 ||
		len(report.Splits) != 2 {
		t.Errorf("report %+v", report)
	}
	if train := report.Splits[0]; train.Landmarks != 19 || train.Tagged != 9 || train.PaperTagged != 129100 ||
		train.Outcomes[labels.Missing] != 2 {
		t.Errorf("report of train %+v", train)
	}
}

// everyFault returns every fault that a server can answer with. All of them pass after a while.
var everyFault = []fakecommons.Fault{
	{Status: 429, RetryAfter: "7"}, {Status: 429}, {Status: 429, RetryAfter: "0.5"},
	{Status: 503, RetryAfter: "Fri, 02 Jan 2026 03:05:05 GMT"},
	{Status: 500}, {Status: 502}, {Status: 503}, {Status: 504}, {Cut: 1}, {Cut: 1000},
	{Status: 503, Body: "upstream", Type: "text/plain"},
}

func TestCrawlSurvivesEveryFault(t *testing.T) {
	t.Parallel()
	calm := newSite(t, places(60))
	_, want := mustRun(t, calm.config(t, t.TempDir()))
	rough := places(60)
	for i := range rough {
		rough[i].Faults = []fakecommons.Fault{everyFault[i%len(everyFault)], everyFault[(3*i+1)%len(everyFault)]}
	}
	s := newSite(t, rough)
	s.change = func(p *polite.Settings) { p.Refusals = 1000 }
	cfg := s.config(t, t.TempDir())
	report, got := mustRun(t, cfg)
	if !bytes.Equal(got, want) || len(report.Failed) != 0 {
		t.Errorf("with faults tags.jsonl differs from that without; failed: %+v", report.Failed)
	}
	s.KeptRules(t)
	if kept, err := filepath.Glob(filepath.Join(cfg.State, "raw", "*", "*")); err != nil || len(kept) != 60 {
		t.Errorf("%d bodies kept, %v; want the 60 pages and no error page", len(kept), err)
	}
}

func TestFailedTitlesAreRequestedAgain(t *testing.T) {
	t.Parallel()
	categories := places(9)
	categories[0].Faults = []fakecommons.Fault{{Status: 403}, {Status: 500}}
	categories[1].Faults = []fakecommons.Fault{{Body: "<html><div id=\"mw-content-text\">"}} // breaks off
	s := newSite(t, categories)
	s.change = func(p *polite.Settings) { p.Retries = 0 }
	cfg := s.config(t, t.TempDir())
	report, _ := mustRun(t, cfg)
	if len(report.Failed) != 3 || report.Splits[0].Outcomes[labels.Retryable] != 3 { // 0, 1, and 7, which redirects to 0
		t.Fatalf("first run: %+v", report.Failed)
	}
	report, got := mustRun(t, cfg)
	if len(report.Failed) != 0 {
		t.Fatalf("second run: %+v", report.Failed)
	}
	_, want := mustRun(t, newSite(t, places(9)).config(t, t.TempDir()))
	if !bytes.Equal(got, want) {
		t.Error("tags.jsonl differs from that of a run without faults")
	}
	before := s.Requests()
	if _, again := mustRun(t, cfg); !bytes.Equal(again, got) || !reflect.DeepEqual(before, s.Requests()) {
		t.Error("a third run changed the output or asked again")
	}
}

func TestCancelledCrawlResumes(t *testing.T) {
	t.Parallel()
	size, seeds := 60, uint64(2)
	if effort.Exhaustive() {
		size, seeds = 120, 4
	}
	_, want := mustRun(t, newSite(t, places(size)).config(t, t.TempDir()))
	for seed := range seeds {
		s := newSite(t, places(size))
		cfg := s.config(t, t.TempDir())
		r := rand.New(rand.NewPCG(seed, 1))
		acknowledged := map[string]int{} // title: requests when it was acknowledged
		interruptions := 0
		for {
			ctx, cancel := context.WithCancel(t.Context())
			left := 1 + r.IntN(size/3)
			cfg.Grace = time.Duration(r.IntN(2)) * time.Second // 0: pending answers are dropped
			cfg.Progress = func(p scrape.Progress) {
				requests := s.Requests()
				for _, title := range p.Titles {
					if _, twice := acknowledged[title]; twice {
						t.Errorf("seed %d: %s was acknowledged twice", seed, title)
					}
					acknowledged[title] = requests[title]
				}
				if left -= len(p.Titles); left <= 0 {
					cancel()
				}
			}
			_, err := scrape.Run(ctx, cfg)
			cancel()
			if err == nil {
				break
			}
			var incomplete *scrape.IncompleteError
			if !errors.As(err, &incomplete) || !errors.Is(err, context.Canceled) || incomplete.Done != len(acknowledged) ||
				incomplete.Total != size {
				t.Fatalf("seed %d: %v with %d acknowledged", seed, err, len(acknowledged))
			}
			if _, err := os.Stat(cfg.Out.Tags); !errors.Is(err, os.ErrNotExist) {
				t.Fatalf("seed %d: an unfinished crawl wrote its output (%v)", seed, err)
			}
			interruptions++
		}
		if got := readFile(t, cfg.Out.Tags); !bytes.Equal(got, want) {
			t.Errorf("seed %d: after %d interruptions tags.jsonl differs", seed, interruptions)
		}
		if interruptions < 2 {
			t.Errorf("seed %d: %d interruptions", seed, interruptions)
		}
	}
}

func TestRefusalsStopTheCrawlAndKeepTheState(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]fakecommons.Fault{"429": {Status: 429, RetryAfter: "60"}, "403": {Status: 403}} {
		s := newSite(t, places(100))
		var closed atomic.Bool // from the 30th page on
		cfg := s.config(t, t.TempDir())
		s.Always = func(string) (fakecommons.Fault, bool) { return fault, closed.Load() }
		ctx, cancel := context.WithCancel(t.Context())
		cfg.Grace = time.Second
		cfg.Progress = func(p scrape.Progress) {
			if p.Done >= 30 {
				cancel()
			}
		}
		if _, err := scrape.Run(ctx, cfg); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		closed.Store(true)
		cfg.Progress = nil
		var asked int
		for _, n := range s.Requests() {
			asked += n
		}
		_, err := scrape.Run(t.Context(), cfg)
		var incomplete *scrape.IncompleteError
		var stop *polite.StopError
		if !errors.As(err, &incomplete) || !errors.As(err, &stop) ||
			incomplete.RetryAt.Before(sourcetest.Stamp().Add(10*time.Minute)) || incomplete.Done < 30 {
			t.Fatalf("%s: error %v", name, err)
		}
		for _, n := range s.Requests() {
			asked -= n
		}
		if -asked > 12 {
			t.Errorf("%s: %d requests after the site closed, want about 8", name, -asked)
		}
		closed.Store(false)
		cfg = s.config(t, filepath.Dir(cfg.State)) // a new process has a new transport
		report, got := mustRun(t, cfg)
		_, want := mustRun(t, newSite(t, places(100)).config(t, t.TempDir()))
		if !bytes.Equal(got, want) || len(report.Failed) > 0 {
			t.Errorf("%s: the output after the pause differs", name)
		}
	}
}

// A login page answers every title with the same page. It must not count as a page without a tag.
func TestSuccessiveUnreadablePagesStopTheCrawl(t *testing.T) {
	t.Parallel()
	s := newSite(t, places(90))
	var login atomic.Bool
	login.Store(true)
	s.Always = func(string) (fakecommons.Fault, bool) {
		return fakecommons.Fault{Body: "<html><form action=/login></form></html>"}, login.Load()
	}
	cfg := s.config(t, t.TempDir())
	_, err := scrape.Run(t.Context(), cfg)
	var row *scrape.MalformedRunError
	var incomplete *scrape.IncompleteError
	if !errors.As(err, &row) || !errors.As(err, &incomplete) || incomplete.Done < 20 || incomplete.Done == 90 ||
		!strings.Contains(err.Error(), "not a category page") {
		t.Fatalf("error %v after %d titles, want a stop behind the 20th", err, s.requestsOf())
	}
	login.Store(false)
	cfg.Retry = []string{"malformed"}
	_, got := mustRun(t, cfg)
	if _, want := mustRun(t, newSite(t, places(90)).config(t, t.TempDir())); !bytes.Equal(got, want) {
		t.Error("once the site is back, tags.jsonl differs")
	}
}

func TestStateRefusesOtherSettings(t *testing.T) {
	t.Parallel()
	s := newSite(t, places(9))
	cfg := s.config(t, t.TempDir())
	cfg.Settings = map[string]string{"base_url": s.URL}
	mustRun(t, cfg)
	for name, change := range map[string]func(*scrape.Config){
		"base_url": func(c *scrape.Config) { c.Settings = map[string]string{"base_url": "http://127.0.0.1:1"} },
	} {
		other := cfg
		change(&other)
		for call, run := range map[string]func() error{
			"Run":     func() error { _, err := scrape.Run(t.Context(), other); return err },
			"Reparse": func() error { _, err := scrape.Reparse(t.Context(), other); return err },
			"NewPlan": func() error { _, err := scrape.NewPlan(other); return err },
		} {
			var mismatch *scrape.MismatchError
			if err := run(); !errors.As(err, &mismatch) || mismatch.Setting != name {
				t.Errorf("%s with another %s: %v", call, name, err)
			}
		}
	}
	// A misspelt policy is found before the crawl starts.
	cfg.Out.Policy = "frist"
	if _, err := scrape.Run(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), `"first"`) {
		t.Errorf("policy frist: %v", err)
	}
}
