package scrape_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/labels"
	"hgld/scrape"
	"hgld/scrape/polite"
	"hgld/scrape/testing/fakecommons"
)

func TestReparseNeedsNoNetwork(t *testing.T) {
	t.Parallel()
	s := newSite(t, places(27))
	cfg := s.config(t, t.TempDir())
	if _, err := scrape.Reparse(t.Context(), cfg); !errors.Is(err, scrape.ErrMoreNeeded) {
		t.Errorf("without a crawl: %v", err)
	}
	_, want := mustRun(t, cfg)
	before := s.Requests()
	if _, err := scrape.Reparse(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	if got := readFile(t, cfg.Out.Tags); !bytes.Equal(got, want) {
		t.Error("read again the pages give another tags.jsonl")
	}
	cfg.Out.Policy = "drop-multi"
	report, err := scrape.Reparse(t.Context(), cfg)
	if err != nil || report.Splits[0].Tagged != 9 || report.Several != 3 {
		t.Errorf("policy drop-multi: %+v, %v", report, err)
	}
	if !reflect.DeepEqual(before, s.Requests()) {
		t.Error("the site was asked")
	}
}

// keptBodies lists the files of stored responses in a state.
func keptBodies(t *testing.T, cfg scrape.Config) []string {
	t.Helper()
	kept, err := filepath.Glob(filepath.Join(cfg.State, "raw", "*", "*.gz"))
	if err != nil || len(kept) < 20 {
		t.Fatal(kept, err)
	}
	return kept
}

// requestsOf returns the number of pages requested from a site.
func (s *site) requestsOf() int {
	all := 0
	for _, n := range s.Requests() {
		all += n
	}
	return all
}

func TestDamagedBodyIsFoundAndFetchedAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t, places(27))
	cfg := s.config(t, t.TempDir())
	_, want := mustRun(t, cfg)
	kept := keptBodies(t, cfg)
	for _, path := range []string{kept[3], kept[11]} {
		data := readFile(t, path)
		data[len(data)/2] ^= 0x40
		must.Do(t, os.WriteFile(path, data, 0o644))
	}
	for time := range 3 { // the error is the same every time
		_, err := scrape.Reparse(t.Context(), cfg)
		var damage *scrape.DamageError
		var incomplete *scrape.IncompleteError
		if !errors.As(err, &damage) || !errors.As(err, &incomplete) || incomplete.Done < 20 || incomplete.Done > 25 {
			t.Fatalf("time %d: error %v, want the damage of two bodies", time, err)
		}
	}
	before := s.requestsOf()
	if _, got := mustRun(t, cfg); !bytes.Equal(got, want) {
		t.Error("the next run did not restore tags.jsonl")
	}
	if n := s.requestsOf() - before; n < 2 || n > 6 {
		t.Errorf("%d pages were asked for to mend two bodies", n)
	}
	if _, err := scrape.Reparse(t.Context(), cfg); err != nil {
		t.Errorf("after the next run: %v", err)
	}
}

// A damaged page that cannot be fetched again keeps its old finding.
func TestFindingIsKeptUntilReplaced(t *testing.T) {
	t.Parallel()
	s := newSite(t, places(27))
	cfg := s.config(t, t.TempDir())
	_, want := mustRun(t, cfg)
	for _, path := range keptBodies(t, cfg) {
		must.Do(t, os.WriteFile(path, []byte("damaged"), 0o644))
	}
	if _, err := scrape.Reparse(t.Context(), cfg); !errors.As(err, new(*scrape.DamageError)) {
		t.Fatal(err)
	}
	s.change = func(p *polite.Settings) { p.Retries, p.Failures = 0, 1000 }
	s.Always = func(string) (fakecommons.Fault, bool) { return fakecommons.Fault{Status: 500}, true }
	report, got := mustRun(t, s.config(t, filepath.Dir(cfg.State)))
	if !bytes.Equal(got, want) || len(report.Stale) != 27 {
		t.Errorf("%d titles are named as stale; tags.jsonl is the same: %v", len(report.Stale), bytes.Equal(got, want))
	}
	s.Always = nil
	if report, got := mustRun(t, s.config(t, filepath.Dir(cfg.State))); !bytes.Equal(got, want) || len(report.Stale) != 0 {
		t.Errorf("with the site back: %q are stale", report.Stale)
	}
}

func TestReadErrorDropsNoPage(t *testing.T) {
	t.Parallel()
	s := newSite(t, places(27))
	cfg := s.config(t, t.TempDir())
	_, want := mustRun(t, cfg)
	before := s.requestsOf()
	raw := filepath.Join(cfg.State, "raw")
	one := keptBodies(t, cfg)[5]
	whole := readFile(t, one)
	replace := func(with func() error) func() error {
		return func() error { return errors.Join(os.Remove(one), with()) }
	}
	restore := func() error { return errors.Join(os.Remove(one), os.WriteFile(one, whole, 0o644)) }
	for name, c := range map[string]struct {
		spoil, mend func() error
		gone        bool
	}{
		"folder moved away": {func() error { return os.Rename(raw, raw+".away") },
			func() error { return os.Rename(raw+".away", raw) }, true},
		"one file removed": {func() error { return os.Remove(one) }, func() error { return os.WriteFile(one, whole, 0o644) },
			true},
		"link to itself":  {replace(func() error { return os.Symlink(one, one) }), restore, false},
		"folder in place": {replace(func() error { return os.Mkdir(one, 0o755) }), restore, false},
	} {
		must.Do(t, c.spoil())
		_, err := scrape.Reparse(t.Context(), cfg)
		var unread *scrape.ReadError
		if !errors.As(err, &unread) || errors.Is(err, fs.ErrNotExist) != c.gone || !strings.Contains(err.Error(), raw) {
			t.Errorf("%s: error %v, want a *ReadError that names a file in %s", name, err, raw)
		}
		must.Do(t, c.mend())
		if _, err := scrape.Reparse(t.Context(), cfg); err != nil || !bytes.Equal(readFile(t, cfg.Out.Tags), want) {
			t.Errorf("%s: once it is mended: %v", name, err)
		}
	}
	if _, got := mustRun(t, cfg); !bytes.Equal(got, want) || s.requestsOf() != before {
		t.Errorf("%d pages were asked for again", s.requestsOf()-before)
	}
}

func TestRetryRefetchesTheNamedOutcomes(t *testing.T) {
	t.Parallel()
	s := newSite(t, places(27))
	cfg := s.config(t, t.TempDir())
	report, want := mustRun(t, cfg)
	asked := func(retry string, titles int) {
		t.Helper()
		before := s.requestsOf()
		again := cfg
		again.Retry = []string{retry}
		if _, got := mustRun(t, again); !bytes.Equal(got, want) || s.requestsOf()-before != titles {
			t.Errorf("--retry %s asked for %d pages, want %d", retry, s.requestsOf()-before, titles)
		}
	}
	asked("failed", 0)
	asked("missing", report.Splits[0].Outcomes[labels.Missing])
	must.Do(t, os.RemoveAll(filepath.Join(cfg.State, "raw")))
	asked("lost", 27)
	if _, err := scrape.Reparse(t.Context(), cfg); err != nil {
		t.Error(err)
	}
	cfg.Retry = []string{"mising"}
	if _, err := scrape.Run(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), `did you mean "missing"`) {
		t.Errorf("error %v", err)
	}
}
