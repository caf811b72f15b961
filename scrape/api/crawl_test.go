package api_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"hgld/labels"
	"hgld/scrape"
	"hgld/scrape/api"
	"hgld/scrape/polite"
	"hgld/scrape/testing/fakecommons"
	"hgld/scrape/testing/sourcetest"
)

// through is the source of these tests.
var through = sourcetest.Sources[1]

func mustRun(t testing.TB, cfg scrape.Config) (*scrape.Report, []byte, []labels.Record) {
	t.Helper()
	report, data := sourcetest.Run(t, cfg)
	return report, data, sourcetest.Records(t, data)
}

// patient lets a crawl continue however often the server fails.
func patient(c *sourcetest.Crawl) {
	c.Polite.Refusals, c.Polite.Failures, c.Polite.Retries = 1000, 1000, 30
}

func TestAPIRecordsValuesThatPagesDoNotShow(t *testing.T) {
	t.Parallel()
	s := sourcetest.NewSite(t, sourcetest.Places(15))
	_, _, records := mustRun(t, s.Config(t, through, t.TempDir()))
	church, hall, topic, merged := records[0], records[10], records[11], records[12]
	if v := church.Values[0]; v.QID == "" || church.QID != v.QID || v.Rank != "normal" || len(v.Details) != 2 ||
		v.Details[0] != (labels.Qualifier{Property: "P580", Text: "1172"}) ||
		v.Details[1] != (labels.Qualifier{Property: "P582", Text: "1954"}) {
		t.Errorf("church %+v", church)
	}
	if church.Infobox == nil || !*church.Infobox || church.Item != "Q1000" || church.Revision != 900_000_000 ||
		church.Revised.IsZero() ||
		church.ItemRevision != 900_000_001 || church.ItemRevised.IsZero() {
		t.Errorf("church %+v", church)
	}
	if hall.Tag != "county hall" || hall.Values[0].Rank != "deprecated" || hall.Values[1].Details[1].QID == "" ||
		hall.Values[1].Details[1].Text != "King County" {
		t.Errorf("hall %+v", hall)
	}
	if topic.Item != "Q1011" || topic.Topic != "Q1000011" || topic.Tag != "bridge" {
		t.Errorf("topic %+v", topic)
	}
	if merged.Item != "Q2000012" || merged.Tag != "castle / fort" {
		t.Errorf("merged %+v", merged)
	}
}

func TestContinuedAPIRepliesAreMerged(t *testing.T) {
	t.Parallel()
	places := sourcetest.Places(200)
	places[20].Item = "Q99999999999" // an id that fails its batch
	whole := sourcetest.NewSite(t, places)
	_, want, _ := mustRun(t, whole.Config(t, through, t.TempDir()))
	for name, change := range map[string]func(*fakecommons.Server){
		"continued":        func(s *fakecommons.Server) { s.API.ContinueAfter = 7 },
		"truncated":        func(s *fakecommons.Server) { s.API.Truncate = 11 },
		"two in five fail": func(s *fakecommons.Server) { s.Failures, s.Seed = 0.4, 3 },
	} {
		s := sourcetest.NewSite(t, places)
		change(s.Server)
		cfg := s.Config(t, through, t.TempDir(), patient)
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

func TestLongQueriesAreSentByPost(t *testing.T) {
	t.Parallel()
	places := sourcetest.Places(60)
	for i := range places {
		places[i].Title = fmt.Sprintf("Category:%s %d", strings.Repeat("香港賽馬會", 5), i)
	}
	for i := range places {
		if places[i].Variant == fakecommons.SoftRedirect || places[i].Variant == fakecommons.HardRedirect {
			places[i].Target = places[i-i%15].Title
		}
	}
	s := sourcetest.NewSite(t, places)
	s.Failures, s.Seed = 0.3, 7 // a repeated POST sends its body again
	report, _, _ := mustRun(t, s.Config(t, through, t.TempDir(), patient))
	posts := 0
	for _, r := range s.Log() {
		if r.Method == http.MethodPost {
			posts++
		}
	}
	s.KeptRules(t)
	if len(report.Failed) > 0 || posts == 0 {
		t.Errorf("%d POSTs; failed %+v", posts, report.Failed)
	}
}

func TestLogExplainsMissingCategories(t *testing.T) {
	t.Parallel()
	places := []fakecommons.Category{
		{Landmark: 0, Title: "Category:Deleted", Variant: fakecommons.Missing},
		{Landmark: 1, Title: "Category:Moved", Variant: fakecommons.Missing, Target: "Category:There"},
		{Landmark: 2, Title: "Category:There", Item: "Q5", Values: []fakecommons.Value{{Text: "park"}}},
	}
	s := sourcetest.NewSite(t, places)
	s.Places = append(s.Places, fakecommons.Category{Landmark: 3, Title: "Category:Never was"})
	_, _, plain := mustRun(t, s.Config(t, through, t.TempDir()))
	_, _, traced := mustRun(t, s.Config(t, through, t.TempDir(),
		func(c *sourcetest.Crawl) { c.Options.TraceMissing = true }))
	for i, want := range []labels.Outcome{labels.Deleted, labels.OK, labels.OK, labels.Missing} {
		if traced[i].Outcome != want || i != 2 && plain[i].Outcome != labels.Missing {
			t.Errorf("%s: %s, untraced %s; want %s", traced[i].Title, traced[i].Outcome, plain[i].Outcome, want)
		}
	}
	if !slices.Equal(traced[1].Redirects, []string{"Category:There"}) {
		t.Errorf("moved: %+v", traced[1])
	}
}

func TestMaxlagIsRetriedAndThenDropped(t *testing.T) {
	t.Parallel()
	s := sourcetest.NewSite(t, sourcetest.Places(60))
	s.API.Lag = func() bool { return true }
	said := 0
	cfg := s.Config(t, through, t.TempDir(), func(c *sourcetest.Crawl) { c.Options.Lagging = func(error) { said++ } })
	if report, _, _ := mustRun(t, cfg); len(report.Failed) > 0 || said != 1 {
		t.Errorf("said %d times that the servers lag; failed %+v", said, report.Failed)
	}
	s.KeptRules(t)
	if waited := s.Clock.Now().Sub(sourcetest.Stamp()); waited < 5*time.Minute || waited > 7*time.Minute {
		t.Errorf("waited %v, want the five minutes of LagWait", waited)
	}
}

func TestBatchesShrinkWithSlowAnswers(t *testing.T) {
	s := sourcetest.NewSite(t, nil)
	source := s.Config(t, through, t.TempDir()).Source.(*api.Source)
	for _, step := range []struct {
		took time.Duration
		size int
	}{{2 * time.Second, 25}, {2 * time.Second, 12}, {700 * time.Millisecond, 12}, {5 * time.Second, 6},
		{9 * time.Second, 5}, {9 * time.Second, 5}, {100 * time.Millisecond, 10}, {0, 15}} {
		if source.Took(step.took); source.BatchSize("title") != step.size {
			t.Errorf("after %v the batch has %d, want %d", step.took, source.BatchSize("title"), step.size)
		}
	}
}

func TestRefusalsOfTheAPIStopTheCrawl(t *testing.T) {
	t.Parallel()
	s := sourcetest.NewSite(t, sourcetest.Places(2000))
	s.Failures = 1
	_, err := scrape.Run(t.Context(), s.Config(t, through, t.TempDir()))
	var incomplete *scrape.IncompleteError
	var stop *polite.StopError
	if !errors.As(err, &incomplete) || !errors.As(err, &stop) || incomplete.RetryAt.IsZero() || len(s.Log()) > 60 {
		t.Errorf("error %v after %d requests", err, len(s.Log()))
	}
}
