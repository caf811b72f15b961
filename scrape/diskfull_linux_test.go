package scrape_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"hgld/internal/testing/effort"
	"hgld/internal/testing/smalldisk"
	"hgld/scrape"
	"hgld/scrape/testing/sourcetest"
)

// TestFullDiskKeepsTheStateOfPages fills the disk at every write of a crawl. The next run, with
// more room, must give the bytes of an undisturbed crawl.
func TestFullDiskKeepsTheStateOfPages(t *testing.T) { fullDisk(t, sourcetest.Sources[0], 20) }

// TestFullDiskKeepsTheStateOfTheAPI does the same with the other source.
func TestFullDiskKeepsTheStateOfTheAPI(t *testing.T) { fullDisk(t, sourcetest.Sources[1], 60) }

func fullDisk(t *testing.T, source sourcetest.Source, n int) {
	t.Helper()
	s := sourcetest.NewSite(t, sourcetest.Places(n))
	_, want := sourcetest.Run(t, s.Config(t, source, t.TempDir()))
	step := 36
	if effort.Exhaustive() {
		step = 4 // one more page of memory each time, so that every write fails once
	}
	smalldisk.Run(t, 4, step,
		func(dir string) error { _, err := scrape.Run(t.Context(), s.Config(t, source, dir)); return err },
		func(dir string) { sourcetest.Run(t, s.Config(t, source, dir)) },
		func(dir string) {
			if got := readFile(t, filepath.Join(dir, "tags.jsonl")); !bytes.Equal(got, want) {
				t.Error("tags.jsonl differs from that of an undisturbed run")
			}
			s.KeptRules(t)
		})
}
