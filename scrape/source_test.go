package scrape_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hgld/labels"
	"hgld/scrape"
)

// listed is a Source, or with a size a Batcher, whose answers are a function of
// the title.
type listed struct {
	size  int
	reply func(title string) (scrape.Finding, error)

	mu      sync.Mutex
	batches [][]string
}

func (l *listed) Name() string { return "listed" }

func (l *listed) Fetch(_ context.Context, title string) (scrape.Finding, error) {
	return l.reply(title)
}

// batched is listed with the second interface.
type batched struct{ *listed }

func (b batched) BatchSize() int { return b.size }

func (b batched) FetchBatch(_ context.Context, titles []string) ([]scrape.Finding, error) {
	b.mu.Lock()
	b.batches = append(b.batches, slices.Clone(titles))
	b.mu.Unlock()
	var all []scrape.Finding
	for _, title := range titles {
		f, err := b.reply(title)
		if err != nil {
			return all, err
		}
		all = append(all, f)
	}
	return all, nil
}

func park(title string) (scrape.Finding, error) {
	return scrape.Finding{Record: labels.Record{Outcome: labels.OK, Values: []labels.TagValue{{Raw: title, Text: title}}, Fetched: stamp()},
		Answers: []scrape.Answer{{URL: "x", Status: 200, Fetched: stamp(), Body: []byte("shared by all")}}}, nil
}

func listedConfig(t *testing.T, n int, source scrape.Source) scrape.Config {
	t.Helper()
	dir := t.TempDir()
	return scrape.Config{State: filepath.Join(dir, "state"), Input: input(places(n)), Source: source, Workers: 3,
		Out: scrape.Output{Tags: filepath.Join(dir, "tags.jsonl"), Policy: "first"}}
}

func TestBatchSourceGetsFullBatches(t *testing.T) {
	single := listedConfig(t, 23, &listed{reply: park})
	_, want := mustRun(t, single)
	source := batched{&listed{size: 5, reply: park}}
	cfg := listedConfig(t, 23, source)
	plan, err := scrape.NewPlan(cfg)
	if err != nil || plan.Requests != 5 {
		t.Errorf("plan %+v, %v; want 5 requests", plan, err)
	}
	_, got := mustRun(t, cfg)
	if !bytes.Equal(got, want) {
		t.Error("batches give another tags.jsonl than single titles")
	}
	var sizes []int
	for _, b := range source.batches {
		sizes = append(sizes, len(b))
	}
	slices.Sort(sizes)
	if fmt.Sprint(sizes) != "[3 5 5 5 5]" {
		t.Errorf("batches of %v", sizes)
	}
	if kept, err := filepath.Glob(filepath.Join(cfg.State, "raw", "*", "*.gz")); err != nil || len(kept) != 1 {
		t.Errorf("one body behind all titles is kept as %v, %v", kept, err)
	}
}

func TestPartOfABatchCounts(t *testing.T) {
	broken := true
	source := batched{&listed{size: 5}}
	source.reply = func(title string) (scrape.Finding, error) {
		if broken && strings.Contains(title, "Place 3,") {
			return scrape.Finding{}, errors.New("cut\x00 short\n")
		}
		return park(title)
	}
	cfg := listedConfig(t, 5, source)
	report, tags := mustRun(t, cfg)
	if len(report.Failed) != 2 || report.Failed[0].Landmark != 3 || report.Failed[0].Error != `cut\x00 short\n` {
		t.Fatalf("failed %+v, want landmarks 3 and 4", report.Failed)
	}
	if !strings.Contains(string(tags), `"outcome":"error_retryable"`) {
		t.Errorf("tags.jsonl\n%s", tags)
	}
	broken = false
	if report, _ = mustRun(t, cfg); len(report.Failed) != 0 || fmt.Sprint(len(source.batches[1])) != "2" {
		t.Errorf("the second run asked for %q; failed %+v", source.batches[1], report.Failed)
	}
}

// later stops a crawl.
type later struct{ at time.Time }

func (l later) Error() string      { return "come back later" }
func (l later) RetryAt() time.Time { return l.at }

func TestStopOfASourceIsNoResult(t *testing.T) {
	at := stamp().Add(time.Hour)
	source := &listed{reply: func(title string) (scrape.Finding, error) {
		if strings.Contains(title, "Place 7,") {
			return scrape.Finding{}, fmt.Errorf("reading: %w", later{at})
		}
		return park(title)
	}}
	cfg := listedConfig(t, 1000, source)
	_, err := scrape.Run(t.Context(), cfg)
	var incomplete *scrape.IncompleteError
	if !errors.As(err, &incomplete) || !incomplete.RetryAt.Equal(at) || incomplete.Total != 1000 || incomplete.Done < 7 || incomplete.Done > 100 {
		t.Fatalf("error %+v", err)
	}
	plan, err := scrape.NewPlan(cfg)
	if err != nil || plan.Done != incomplete.Done || plan.Retry != 0 || plan.Requests != 1000-plan.Done {
		t.Errorf("plan %+v, %v", plan, err)
	}
	if d := plan.Duration(0.5); d != time.Duration(plan.Requests)*2*time.Second {
		t.Errorf("at one in two seconds: %v", d)
	}
}

func TestSourceThatSaysNothingIsRetried(t *testing.T) {
	for name, reply := range map[string]func(string) (scrape.Finding, error){
		"no outcome": func(string) (scrape.Finding, error) { return scrape.Finding{}, nil },
		"error beside an outcome": func(string) (scrape.Finding, error) {
			return scrape.Finding{Record: labels.Record{Outcome: labels.OK}}, errors.New("no")
		},
	} {
		report, _ := mustRun(t, listedConfig(t, 2, &listed{reply: reply}))
		if report.Splits[0].Outcomes[labels.Retryable] != 2 {
			t.Errorf("%s: %+v", name, report.Splits)
		}
	}
	report, _ := mustRun(t, listedConfig(t, 1, &listed{reply: func(string) (scrape.Finding, error) {
		return scrape.Finding{Record: labels.Record{Outcome: labels.OK, Values: []labels.TagValue{{Raw: "a\x00", Text: "a\x00"}}}}, nil
	}}))
	if report.Splits[0].Outcomes[labels.Malformed] != 1 {
		t.Errorf("a value that no file can hold: %+v", report.Splits)
	}
}

func TestPlanOfNothingCreatesNothing(t *testing.T) {
	cfg := listedConfig(t, 9, &listed{reply: park})
	cfg.Input.Landmarks = append(cfg.Input.Landmarks, scrape.Landmark{ID: 9, Split: labels.Train, Category: "x"}, cfg.Input.Landmarks[0])
	plan, err := scrape.NewPlan(cfg)
	want := scrape.Plan{Landmarks: 11, Titles: 9, Unusable: 1, Requests: 9}
	if err != nil || plan != want {
		t.Errorf("plan %+v, %v; want %+v", plan, err, want)
	}
	if _, err := os.Stat(cfg.State); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the plan made the state folder (%v)", err)
	}
	cfg.Limit = 4
	if plan, err := scrape.NewPlan(cfg); err != nil || plan.Requests != 4 {
		t.Errorf("of the first four: %+v, %v", plan, err)
	}
}

func TestStateLeftBeforeItsFirstTransactionIsNone(t *testing.T) {
	cfg := listedConfig(t, 5, &listed{reply: park})
	if err := os.Mkdir(cfg.State, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(cfg.State, "scrape.db"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if plan, err := scrape.NewPlan(cfg); err != nil || plan.Requests != 5 {
		t.Errorf("plan %+v, %v", plan, err)
	}
	mustRun(t, cfg)
}

func TestForeignFileIsNoState(t *testing.T) {
	cfg := listedConfig(t, 5, &listed{reply: park})
	if err := os.Mkdir(cfg.State, 0o755); err != nil {
		t.Fatal(err)
	}
	db := filepath.Join(cfg.State, "scrape.db")
	if err := os.WriteFile(db, bytes.Repeat([]byte("no database "), 1000), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := scrape.Run(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), db+": ") {
		t.Errorf("error %v, want one that names %s", err, db)
	}
}

func TestTrialWithTheFirstLandmarksGoesOnToAll(t *testing.T) {
	cfg := listedConfig(t, 30, &listed{reply: park})
	cfg.Limit = 7
	if _, tags := mustRun(t, cfg); bytes.Count(tags, []byte("\n")) != 8 {
		t.Errorf("%d lines, want the header and 7", bytes.Count(tags, []byte("\n")))
	}
	asked := 0
	cfg.Limit, cfg.Progress = 0, func(p scrape.Progress) { asked += len(p.Titles) }
	if _, tags := mustRun(t, cfg); bytes.Count(tags, []byte("\n")) != 31 || asked != 23 {
		t.Errorf("%d lines, %d titles asked for; want 31 and 23", bytes.Count(tags, []byte("\n")), asked)
	}
}

func TestUnwritableOutputIsAnErrorAndTheStateStays(t *testing.T) {
	cfg := listedConfig(t, 3, &listed{reply: park})
	good := cfg.Out.Tags
	folder := filepath.Join(filepath.Dir(good), "removed meanwhile")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	cfg.Out.Tags = filepath.Join(folder, "tags.jsonl")
	cfg.Progress = func(scrape.Progress) {
		if err := os.RemoveAll(folder); err != nil {
			t.Error(err)
		}
	}
	if _, err := scrape.Run(t.Context(), cfg); !errors.Is(err, syscall.ENOENT) || !strings.Contains(err.Error(), "tags.jsonl") {
		t.Fatalf("error %v", err)
	}
	cfg.Out.Tags = good
	cfg.Progress = func(scrape.Progress) { t.Error("titles were asked for again") }
	mustRun(t, cfg)
}
