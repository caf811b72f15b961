//go:build amd64

package scrape_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"hgld/internal/powercut"
	"hgld/scrape"
)

// placesOfPowerCuts has each kind of page twice.
const placesOfPowerCuts = 18

// TestPowerCutsLoseNoAcknowledgedTitle cuts the power at each call that a crawl makes.
// The next run asks for no title that was acknowledged, and its tags.jsonl is that of an
// undisturbed run.
func TestPowerCutsLoseNoAcknowledgedTitle(t *testing.T) {
	categories := places(placesOfPowerCuts)
	if dir := os.Getenv("HGLD_POWERCUT_CHILD"); dir != "" {
		url := os.Getenv("HGLD_POWERCUT_URL")
		cfg, err := config(dir, url, quick(url), categories)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Progress = func(p scrape.Progress) {
			for _, title := range p.Titles {
				if err := powercut.Acknowledge(dir, title); err != nil {
					t.Error(err)
				}
			}
		}
		_, err = scrape.Run(context.Background(), cfg)
		if err := errors.Join(err, powercut.Acknowledge(dir, "tags.jsonl")); err != nil {
			t.Fatal(err)
		}
		return
	}
	s := newSite(t, categories)
	_, want := mustRun(t, s.config(t, t.TempDir()))
	dir := t.TempDir()
	trace := powercut.Record(t, powercut.Child(t, "HGLD_POWERCUT_CHILD="+dir, "HGLD_POWERCUT_URL="+s.url), dir)
	trace.Check(t, func(dir string, c *powercut.Crash) error {
		before := s.Requests()
		cfg := s.config(t, dir)
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
		after := s.Requests()
		for _, title := range acknowledged {
			if n := after[title] - before[title]; n > 0 && !isTarget(s, title) {
				return fmt.Errorf("%s was acknowledged, and asked for %d times after that", title, n)
			}
		}
		if got, err := os.ReadFile(filepath.Join(dir, "tags.jsonl")); err != nil || !bytes.Equal(got, want) {
			return fmt.Errorf("tags.jsonl differs from that of a run in one go (%v)", err)
		}
		return nil
	})
}
