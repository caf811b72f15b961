//go:build amd64

package scrape_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"hgld/internal/testing/must"
	"hgld/internal/testing/powercut"
	"hgld/scrape"
	"hgld/scrape/testing/sourcetest"
)

// placesOfPowerCuts has one place of each kind.
const placesOfPowerCuts = sourcetest.Kinds

// TestPowerCutsLoseNoAcknowledgedTitle cuts the power at each call of a crawl. The next run must
// not request a title that was acknowledged, and its tags.jsonl must be that of an undisturbed run.
func TestPowerCutsLoseNoAcknowledgedTitle(t *testing.T) {
	if dir := os.Getenv("HGLD_POWERCUT_CHILD"); dir != "" {
		crawlUntilThePowerFails(t, dir)
		return
	}
	for _, source := range sourcetest.Sources {
		t.Run(source.Name, func(t *testing.T) {
			s := unpaced(t, sourcetest.Places(placesOfPowerCuts))
			_, want := sourcetest.Run(t, s.Config(t, source, t.TempDir()))
			dir := t.TempDir()
			trace := powercut.Record(t, powercut.Child(t, "HGLD_POWERCUT_CHILD="+dir, "HGLD_POWERCUT_URL="+s.URL,
				"HGLD_POWERCUT_SOURCE="+source.Name), dir)
			trace.Check(t, func(dir string, c *powercut.Crash) error { return goesOn(t, s, source, dir, c, want) })
		})
	}
}

// crawlUntilThePowerFails is the child process: a crawl that records what it acknowledges.
func crawlUntilThePowerFails(t *testing.T, dir string) {
	source := sourcetest.Sources[slices.IndexFunc(sourcetest.Sources,
		func(s sourcetest.Source) bool { return s.Name == os.Getenv("HGLD_POWERCUT_SOURCE") })]
	cfg, err := sourcetest.Config(source, os.Getenv("HGLD_POWERCUT_URL"), dir, sourcetest.Places(placesOfPowerCuts))
	must.Do(t, err)
	cfg.Progress = func(p scrape.Progress) {
		for _, title := range p.Titles {
			if err := powercut.Acknowledge(dir, title); err != nil {
				t.Error(err)
			}
		}
	}
	_, err = scrape.Run(context.Background(), cfg)
	must.Do(t, errors.Join(err, powercut.Acknowledge(dir, "tags.jsonl")))
}

// goesOn runs the crawl on what a power cut left, and compares the result with want.
func goesOn(t *testing.T, s *sourcetest.Site, source sourcetest.Source, dir string, c *powercut.Crash,
	want []byte) error {
	r := &round{source: source, site: s}
	before := map[string]int{}
	for _, p := range s.Places {
		before[p.Title] = r.asked(p)
	}
	cfg := s.Config(t, source, dir)
	acknowledged := c.Lines()
	if n := len(acknowledged); n > 0 && acknowledged[n-1] == "tags.jsonl" {
		if got, err := os.ReadFile(cfg.Out.Tags); err != nil || !bytes.Equal(got, want) {
			return fmt.Errorf("tags.jsonl was acknowledged and differs: %v", err)
		}
		acknowledged = acknowledged[:n-1]
	}
	if _, err := scrape.Run(t.Context(), cfg); err != nil {
		return err
	}
	for _, p := range s.Places {
		if n := r.asked(p) - before[p.Title]; n > 0 && slices.Contains(acknowledged, p.Title) {
			return fmt.Errorf("%s was acknowledged, and asked for %d times after that", p.Title, n)
		}
	}
	if got, err := os.ReadFile(filepath.Join(dir, "tags.jsonl")); err != nil || !bytes.Equal(got, want) {
		return fmt.Errorf("tags.jsonl differs from that of a run in one go (%v)", err)
	}
	return nil
}
