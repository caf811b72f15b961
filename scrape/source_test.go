package scrape_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hgld/internal/testing/must"
	"hgld/labels"
	"hgld/scrape"
	"hgld/scrape/testing/sourcetest"
)

// listed is a Source of one step whose records are a function of the title. A call may ask for size
// titles.
type listed struct {
	size  int
	reply func(title string) (labels.Record, error)

	mu      sync.Mutex
	batches [][]string
}

func (l *listed) Name() string         { return "listed" }
func (l *listed) Steps() []string      { return []string{"list"} }
func (l *listed) BatchSize(string) int { return l.size }

func (l *listed) Ask(_ context.Context, _ string, keys []string) ([]scrape.Answer, error) {
	l.mu.Lock()
	l.batches = append(l.batches, slices.Clone(keys))
	l.mu.Unlock()
	return []scrape.Answer{{Method: "GET", URL: "x", Status: 200, Fetched: sourcetest.Stamp(),
		Body: []byte("shared by all")}}, nil
}

func (l *listed) Read(_ string, keys []string, _ []scrape.Answer) (map[string]scrape.Fact, error) {
	facts := map[string]scrape.Fact{}
	for _, key := range keys {
		rec, err := l.reply(key)
		if err != nil {
			return nil, err
		}
		if facts[key], err = json.Marshal(struct {
			Record labels.Record
			Raw    []byte
		}{labels.Record{Outcome: rec.Outcome}, []byte(strings.Join(texts(rec), "|"))}); err != nil {
			return nil, err
		}
	}
	return facts, nil
}

// texts makes the values of a record. They may be invalid in a record.
func texts(rec labels.Record) (all []string) {
	for _, v := range rec.Values {
		all = append(all, v.Text)
	}
	return all
}

func (l *listed) Finding(title string, facts scrape.Facts) (labels.Record, []scrape.Task) {
	task := scrape.Task{Step: "list", Key: title}
	fact, known := facts(task)
	if !known {
		return labels.Record{}, []scrape.Task{task}
	}
	var f struct {
		Record labels.Record
		Raw    []byte
	}
	if err := json.Unmarshal(fact, &f); err != nil {
		panic(err)
	}
	for _, text := range strings.Split(string(f.Raw), "|") {
		f.Record.Values = append(f.Record.Values, labels.TagValue{Raw: text, Text: text})
	}
	return f.Record, nil
}

func park(title string) (labels.Record, error) {
	return labels.Record{Outcome: labels.OK, Values: []labels.TagValue{{Raw: title, Text: title}}}, nil
}

func listedConfig(t *testing.T, n int, source scrape.Source) scrape.Config {
	t.Helper()
	dir := t.TempDir()
	return scrape.Config{State: filepath.Join(dir, "state"), Input: sourcetest.Input(places(n)), Source: source,
		Workers: 3,
		Out:     scrape.Output{Tags: filepath.Join(dir, "tags.jsonl"), Policy: "first"}}
}

func TestBatchSourceGetsFullBatches(t *testing.T) {
	single := listedConfig(t, 23, &listed{reply: park})
	_, want := mustRun(t, single)
	source := &listed{size: 5, reply: park}
	cfg := listedConfig(t, 23, source)
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

// A failed call fails only the titles of its batch, and only these are requested again.
func TestFailedBatchIsRequestedAgain(t *testing.T) {
	broken := true
	source := &listed{size: 5}
	source.reply = func(title string) (labels.Record, error) {
		if broken && strings.Contains(title, "Place 7,") {
			return labels.Record{}, errors.New("cut\x00 short\n")
		}
		return park(title)
	}
	cfg := listedConfig(t, 12, source)
	report, tags := mustRun(t, cfg)
	if len(report.Failed) != 5 || report.Failed[0].Landmark != 5 || report.Failed[0].Error != `cut\x00 short\n` {
		t.Fatalf("failed %+v, want landmarks 5 to 9", report.Failed)
	}
	if !strings.Contains(string(tags), `"outcome":"error_retryable"`) {
		t.Errorf("tags.jsonl\n%s", tags)
	}
	broken = false
	calls := len(source.batches)
	if report, _ = mustRun(t, cfg); len(report.Failed) != 0 || len(source.batches) != calls+1 ||
		len(source.batches[calls]) != 5 {
		t.Errorf("the second run asked for %q; failed %+v", source.batches[calls:], report.Failed)
	}
}

// later is an error that stops a crawl.
type later struct{ at time.Time }

func (l later) Error() string      { return "come back later" }
func (l later) RetryAt() time.Time { return l.at }

func TestSourceStopErrorsAreNotRecordedAsResults(t *testing.T) {
	at := sourcetest.Stamp().Add(time.Hour)
	source := &listed{reply: func(title string) (labels.Record, error) {
		if strings.Contains(title, "Place 7,") {
			return labels.Record{}, fmt.Errorf("reading: %w", later{at})
		}
		return park(title)
	}}
	cfg := listedConfig(t, 1000, source)
	_, err := scrape.Run(t.Context(), cfg)
	var incomplete *scrape.IncompleteError
	if !errors.As(err, &incomplete) || !incomplete.RetryAt.Equal(at) || incomplete.Total != 1000 || incomplete.Done < 7 ||
		incomplete.Done > 100 {
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

func TestEmptyAnswerOfASourceIsMalformed(t *testing.T) {
	for name, rec := range map[string]labels.Record{
		"no outcome":                    {},
		"a value that no file can hold": {Outcome: labels.OK, Values: []labels.TagValue{{Text: "a\x00"}}},
	} {
		report, _ := mustRun(t, listedConfig(t, 2, &listed{reply: func(string) (labels.Record, error) { return rec, nil }}))
		if report.Splits[0].Outcomes[labels.Malformed] != 2 {
			t.Errorf("%s: %+v", name, report.Splits)
		}
	}
}

func TestPlanWithoutStateCreatesNoFiles(t *testing.T) {
	cfg := listedConfig(t, 9, &listed{reply: park})
	cfg.Input.Landmarks = append(cfg.Input.Landmarks, scrape.Landmark{ID: 9, Split: labels.Train, Category: "x"},
		cfg.Input.Landmarks[0])
	plan, err := scrape.NewPlan(cfg)
	want := scrape.Plan{Landmarks: 11, Titles: 9, Unusable: 1, Requests: 9,
		Stages: []scrape.Stage{{Step: "list", Requests: 9, About: "titles"}}}
	if err != nil || !reflect.DeepEqual(plan, want) {
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

func TestStateWithoutTransactionsCountsAsNew(t *testing.T) {
	cfg := listedConfig(t, 5, &listed{reply: park})
	must.Do(t, os.Mkdir(cfg.State, 0o755))
	must.Do(t, os.WriteFile(filepath.Join(cfg.State, "scrape.db"), nil, 0o644))
	if plan, err := scrape.NewPlan(cfg); err != nil || plan.Requests != 5 {
		t.Errorf("plan %+v, %v", plan, err)
	}
	mustRun(t, cfg)
}

func TestFileOfAnotherProgramIsRefusedAsState(t *testing.T) {
	cfg := listedConfig(t, 5, &listed{reply: park})
	must.Do(t, os.Mkdir(cfg.State, 0o755))
	db := filepath.Join(cfg.State, "scrape.db")
	must.Do(t, os.WriteFile(db, bytes.Repeat([]byte("no database "), 1000), 0o644))
	if _, err := scrape.Run(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), db+": ") {
		t.Errorf("error %v, want one that names %s", err, db)
	}
}

func TestLimitedCrawlCanBeExtendedToAllLandmarks(t *testing.T) {
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
	must.Do(t, os.Mkdir(folder, 0o755))
	cfg.Out.Tags = filepath.Join(folder, "tags.jsonl")
	cfg.Progress = func(scrape.Progress) {
		if err := os.RemoveAll(folder); err != nil {
			t.Error(err)
		}
	}
	if _, err := scrape.Run(t.Context(), cfg); !errors.Is(err, syscall.ENOENT) ||
		!strings.Contains(err.Error(), "tags.jsonl") {
		t.Fatalf("error %v", err)
	}
	cfg.Out.Tags = good
	cfg.Progress = func(scrape.Progress) { t.Error("titles were asked for again") }
	mustRun(t, cfg)
}
