package api_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hgld/labels"
	"hgld/scrape"
	"hgld/scrape/api"
	"hgld/scrape/fakecommons"
	"hgld/scrape/page"
	"hgld/scrape/polite"
)

func stamp() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

// hurried is a clock whose waits take no time.
type hurried struct{ passed atomic.Int64 }

func (h *hurried) Now() time.Time { return stamp().Add(time.Duration(h.passed.Load())) }

func (h *hurried) Sleep(ctx context.Context, d time.Duration) error {
	h.passed.Add(int64(max(0, d)))
	return ctx.Err()
}

// landmarks makes n categories of every kind that both sources see alike.
func landmarks(n int) []fakecommons.Category {
	kinds := []fakecommons.Category{
		{Values: []fakecommons.Value{{Text: "church building", Qualifiers: []string{"1172–1954"}}}},
		{Values: []fakecommons.Value{{Text: "park"}, {Text: "urban park"}}, Variant: fakecommons.SpanningHeader},
		{Values: []fakecommons.Value{{Text: "lake"}}, Variant: fakecommons.SeveralBoxes},
		{Variant: fakecommons.NoTag}, {Variant: fakecommons.Missing}, {Variant: fakecommons.Disambiguation},
		{Variant: fakecommons.SoftRedirect}, {Values: []fakecommons.Value{{Text: "Wikimedia category"}}},
		{Variant: fakecommons.RedRedirect}, {Variant: fakecommons.HardRedirect},
		{Values: []fakecommons.Value{{Text: "old mill", Rank: "deprecated"}, {Text: "county hall", Qualifiers: []string{"1900–", "King County"}}}},
		{Values: []fakecommons.Value{{Text: "bridge"}}, Topic: "topic"},
		{Values: []fakecommons.Value{{Text: "castle / fort"}}, Merged: "merged"},
		{Values: []fakecommons.Value{{Text: "Wikimedia disambiguation page"}}},
		{Values: []fakecommons.Value{{Text: "香港的\"橋\""}}},
	}
	all := make([]fakecommons.Category, n)
	for i := range all {
		c := kinds[i%len(kinds)]
		c.Landmark, c.Title, c.Item = labels.LandmarkID(i), fmt.Sprintf("Category:Ort %d, Göttingen & 'x'", i), fmt.Sprintf("Q%d", 1000+i)
		switch {
		case c.Variant == fakecommons.SoftRedirect || c.Variant == fakecommons.HardRedirect:
			c.Target, c.Item = all[i-i%len(kinds)].Title, ""
		case c.Variant == fakecommons.RedRedirect:
			c.Target, c.Item = "Category:Never was", ""
		case c.Variant == fakecommons.Missing:
			c.Item = ""
		case c.Topic != "":
			c.Topic = fmt.Sprintf("Q%d", 1_000_000+i)
		case c.Merged != "":
			c.Merged = fmt.Sprintf("Q%d", 2_000_000+i)
		}
		all[i] = c
	}
	return all
}

func input(categories []fakecommons.Category) scrape.Input {
	in := scrape.Input{Name: "train_label_to_category.csv"}
	hash := sha256.New()
	for _, c := range categories {
		in.Landmarks = append(in.Landmarks, scrape.Landmark{ID: c.Landmark, Split: labels.Train, Category: labels.CategoryURL(c.Title)})
		fmt.Fprintln(hash, c.Landmark, c.Title)
	}
	in.SHA256 = hex.EncodeToString(hash.Sum(nil))
	return in
}

// site is a fake Commons and Wikidata in one.
type site struct {
	*fakecommons.Server
	url    string
	places []fakecommons.Category
}

func newSite(t testing.TB, places []fakecommons.Category) *site {
	t.Helper()
	s := &site{Server: fakecommons.New(places), places: places}
	s.API.Limits = fakecommons.Limits{InFlight: 1, Agent: true, MaxURL: 8100}
	server := httptest.NewServer(s.Server)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func settings(url string) polite.Settings {
	p := polite.APIDefaults()
	p.Hosts, p.Clock, p.Rate, p.UserAgent = []string{strings.TrimPrefix(url, "http://")}, &hurried{}, 1e6, "hgld-bot/1 (me@uni.edu) Go"
	return p
}

// config is a crawl of the site through its API.
func (s *site) config(t testing.TB, dir string, change ...func(*api.Options, *polite.Settings)) scrape.Config {
	t.Helper()
	p := settings(s.url)
	o := api.Options{Commons: s.url, Wikidata: s.url, Now: stamp}
	for _, c := range change {
		c(&o, &p)
	}
	transport, err := polite.New(p, http.DefaultTransport)
	if err != nil {
		t.Fatal(err)
	}
	source, err := api.New(o, transport)
	if err != nil {
		t.Fatal(err)
	}
	return scrape.Config{State: filepath.Join(dir, "state"), Input: input(s.places), Source: source, Workers: 1,
		Out: scrape.Output{Tags: filepath.Join(dir, "tags.jsonl"), Policy: "first", Tool: "hgld test"}}
}

func mustRun(t testing.TB, cfg scrape.Config) (*scrape.Report, []byte, []labels.Record) {
	t.Helper()
	report, err := scrape.Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(cfg.Out.Tags)
	if err != nil {
		t.Fatal(err)
	}
	_, records, err := labels.ReadTags(bytes.NewReader(data), "tags.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	return report, data, records
}

// throughPages is the same crawl through the pages.
func (s *site) throughPages(t testing.TB, dir string) []labels.Record {
	t.Helper()
	p := polite.Defaults()
	p.Hosts, p.Clock, p.Rate, p.InFlight = []string{strings.TrimPrefix(s.url, "http://")}, &hurried{}, 1e6, 4
	transport, err := polite.New(p, http.DefaultTransport)
	if err != nil {
		t.Fatal(err)
	}
	source, err := page.New(s.url, transport, stamp)
	if err != nil {
		t.Fatal(err)
	}
	_, _, records := mustRun(t, scrape.Config{State: filepath.Join(dir, "pages"), Input: input(s.places), Source: source, Workers: 4,
		Out: scrape.Output{Tags: filepath.Join(dir, "pages.jsonl"), Policy: "first"}})
	return records
}

func TestAPIAndPagesGiveTheSameTags(t *testing.T) {
	t.Parallel()
	s := newSite(t, landmarks(300))
	_, _, records := mustRun(t, s.config(t, t.TempDir()))
	for i, want := range s.throughPages(t, t.TempDir()) {
		got := records[i]
		if got.Outcome != want.Outcome || got.Tag != want.Tag || !slices.Equal(got.Redirects, want.Redirects) ||
			len(want.Values) > 0 && got.Outcome == labels.OK && !slices.Equal(got.Values[len(got.Values)-1].Qualifiers, want.Values[len(want.Values)-1].Qualifiers) {
			t.Errorf("%s:\nAPI   %+v\npages %+v", got.Title, got, want)
		}
	}
	if v := s.Violations(); len(v) > 0 {
		t.Errorf("violations: %q", v)
	}
	kinds := map[string]int{}
	for _, r := range s.Log() {
		kinds[r.Action]++
	}
	t.Log(kinds)
	for key, n := range s.Answered() {
		if n > 1 {
			t.Errorf("%s was asked for %d times", key, n)
		}
	}
}

func TestAPIKeepsWhatNoPagePrints(t *testing.T) {
	t.Parallel()
	s := newSite(t, landmarks(15))
	_, _, records := mustRun(t, s.config(t, t.TempDir()))
	church, hall, topic, merged := records[0], records[10], records[11], records[12]
	if v := church.Values[0]; v.QID == "" || church.QID != v.QID || v.Rank != "normal" || len(v.Details) != 2 ||
		v.Details[0] != (labels.Qualifier{Property: "P580", Text: "1172"}) || v.Details[1] != (labels.Qualifier{Property: "P582", Text: "1954"}) {
		t.Errorf("church %+v", church)
	}
	if church.Infobox == nil || !*church.Infobox || church.Item != "Q1000" || church.Revision != 900_000_000 || church.Revised.IsZero() ||
		church.ItemRevision != 900_000_001 || church.ItemRevised.IsZero() {
		t.Errorf("church %+v", church)
	}
	if hall.Tag != "county hall" || hall.Values[0].Rank != "deprecated" || hall.Values[1].Details[1].QID == "" || hall.Values[1].Details[1].Text != "King County" {
		t.Errorf("hall %+v", hall)
	}
	if topic.Item != "Q1011" || topic.Topic != "Q1000011" || topic.Tag != "bridge" {
		t.Errorf("topic %+v", topic)
	}
	if merged.Item != "Q2000012" || merged.Tag != "castle / fort" {
		t.Errorf("merged %+v", merged)
	}
}

func TestAPIAnswersInPieces(t *testing.T) {
	t.Parallel()
	places := landmarks(200)
	places[20].Item = "Q99999999999" // an id that fails its batch
	whole := newSite(t, places)
	_, want, _ := mustRun(t, whole.config(t, t.TempDir()))
	for name, change := range map[string]func(*fakecommons.API){
		"continued":         func(a *fakecommons.API) { a.ContinueAfter = 7 },
		"truncated":         func(a *fakecommons.API) { a.Truncate = 11 },
		"every request bad": func(a *fakecommons.API) { a.Failures, a.Seed = 0.4, 3 },
	} {
		s := newSite(t, places)
		change(&s.API)
		cfg := s.config(t, t.TempDir(), func(_ *api.Options, p *polite.Settings) { p.Refusals, p.Failures, p.Retries = 1000, 1000, 30 })
		if _, got, _ := mustRun(t, cfg); !bytes.Equal(got, want) {
			t.Errorf("%s: tags.jsonl differs", name)
		}
		before := len(s.Log())
		if _, err := scrape.Reparse(t.Context(), cfg); err != nil || len(s.Log()) != before {
			t.Errorf("%s: read again: %v", name, err)
		}
		if got, err := os.ReadFile(cfg.Out.Tags); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: read again, tags.jsonl differs (%v)", name, err)
		}
	}
}

func TestLongAddressesBecomePosts(t *testing.T) {
	t.Parallel()
	places := landmarks(60)
	for i := range places {
		places[i].Title = fmt.Sprintf("Category:%s %d", strings.Repeat("香港賽馬會", 5), i)
	}
	for i := range places {
		if places[i].Variant == fakecommons.SoftRedirect || places[i].Variant == fakecommons.HardRedirect {
			places[i].Target = places[i-i%15].Title
		}
	}
	s := newSite(t, places)
	s.API.Failures, s.API.Seed = 0.3, 7 // a repeated POST sends its body again
	report, _, _ := mustRun(t, s.config(t, t.TempDir(), func(_ *api.Options, p *polite.Settings) { p.Retries, p.Refusals = 30, 100 }))
	posts := 0
	for _, r := range s.Log() {
		if r.Method == http.MethodPost {
			posts++
		}
	}
	if len(report.Failed) > 0 || posts == 0 || len(s.Violations()) > 0 {
		t.Errorf("%d POSTs; failed %+v; violations %q", posts, report.Failed, s.Violations())
	}
}

func TestMissingCategoryIsTraced(t *testing.T) {
	t.Parallel()
	places := []fakecommons.Category{
		{Landmark: 0, Title: "Category:Deleted", Variant: fakecommons.Missing},
		{Landmark: 1, Title: "Category:Moved", Variant: fakecommons.Missing, Target: "Category:There"},
		{Landmark: 2, Title: "Category:There", Item: "Q5", Values: []fakecommons.Value{{Text: "park"}}},
	}
	s := newSite(t, places)
	s.places = append(s.places, fakecommons.Category{Landmark: 3, Title: "Category:Never was"})
	_, _, plain := mustRun(t, s.config(t, t.TempDir()))
	_, _, traced := mustRun(t, s.config(t, t.TempDir(), func(o *api.Options, _ *polite.Settings) { o.TraceMissing = true }))
	for i, want := range []labels.Outcome{labels.Deleted, labels.OK, labels.OK, labels.Missing} {
		if traced[i].Outcome != want || i != 2 && plain[i].Outcome != labels.Missing {
			t.Errorf("%s: %s, untraced %s; want %s", traced[i].Title, traced[i].Outcome, plain[i].Outcome, want)
		}
	}
	if !slices.Equal(traced[1].Redirects, []string{"Category:There"}) {
		t.Errorf("moved: %+v", traced[1])
	}
}

func TestLaggingServersAreWaitedForAndThenAskedAnyway(t *testing.T) {
	t.Parallel()
	s := newSite(t, landmarks(60))
	s.API.Lag = func() bool { return true }
	said := 0
	clock := &hurried{}
	cfg := s.config(t, t.TempDir(), func(o *api.Options, p *polite.Settings) {
		o.Lagging = func(error) { said++ }
		p.Clock = clock
	})
	if report, _, _ := mustRun(t, cfg); len(report.Failed) > 0 || said != 1 {
		t.Errorf("said %d times that the servers lag; failed %+v", said, report.Failed)
	}
	if waited := clock.Now().Sub(stamp()); waited < 5*time.Minute || waited > 7*time.Minute {
		t.Errorf("waited %v, want the five minutes of LagWait", waited)
	}
}

func TestBatchesShrinkWithSlowAnswers(t *testing.T) {
	s := newSite(t, nil)
	source := s.config(t, t.TempDir()).Source.(*api.Source)
	for _, step := range []struct {
		took time.Duration
		size int
	}{{2 * time.Second, 25}, {2 * time.Second, 12}, {700 * time.Millisecond, 12}, {5 * time.Second, 6}, {9 * time.Second, 5}, {9 * time.Second, 5}, {100 * time.Millisecond, 10}, {0, 15}} {
		if source.Took(step.took); source.BatchSize("title") != step.size {
			t.Errorf("after %v the batch has %d, want %d", step.took, source.BatchSize("title"), step.size)
		}
	}
}

func TestRefusingAPIStopsTheCrawl(t *testing.T) {
	t.Parallel()
	s := newSite(t, landmarks(2000))
	s.API.Failures = 1
	_, err := scrape.Run(t.Context(), s.config(t, t.TempDir()))
	var incomplete *scrape.IncompleteError
	var stop *polite.StopError
	if !errors.As(err, &incomplete) || !errors.As(err, &stop) || incomplete.RetryAt.IsZero() || len(s.Log()) > 60 {
		t.Errorf("error %v after %d requests", err, len(s.Log()))
	}
}

// Under 20 % of all failures no tag is lost or wrong, and no rule is broken.
func TestFailuresLoseNoTag(t *testing.T) {
	t.Parallel()
	places := fakecommons.Corpus(500)
	calm := newSite(t, places)
	_, want, _ := mustRun(t, calm.config(t, t.TempDir()))
	rough := newSite(t, places)
	rough.API.Failures, rough.API.Seed = 0.2, 11
	cfg := rough.config(t, t.TempDir(), func(_ *api.Options, p *polite.Settings) {
		p.Clock = polite.SystemClock{} // a Retry-After is waited for in earnest
		p.Backoff, p.Refusals = time.Millisecond, 30
	})
	report, got, _ := mustRun(t, cfg)
	if !bytes.Equal(got, want) || len(report.Failed) > 0 {
		t.Errorf("tags.jsonl differs; failed %+v", report.Failed)
	}
	if v := rough.Violations(); len(v) > 0 {
		t.Errorf("violations: %q", v)
	}
	failed := map[string]int{}
	for _, r := range rough.Log() {
		if r.Failed != "" {
			failed[r.Failed]++
		}
	}
	if len(failed) < 3 {
		t.Errorf("only these failures were met: %v", failed)
	}
}
