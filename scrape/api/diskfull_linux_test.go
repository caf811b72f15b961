package api_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"hgld/internal/smalldisk"
	"hgld/scrape"
)

// TestFullDiskKeepsTheState meets the end of the disk at the writes of a crawl: the
// next run, with more room, gives the same tags.
func TestFullDiskKeepsTheState(t *testing.T) {
	places := landmarks(300)
	s := newSite(t, places)
	_, want, _ := mustRun(t, s.config(t, t.TempDir()))
	smalldisk.Run(t, 64, 48,
		func(dir string) error { _, err := scrape.Run(t.Context(), s.config(t, dir)); return err },
		func(dir string) { mustRun(t, s.config(t, dir)) },
		func(dir string) {
			if got, err := os.ReadFile(filepath.Join(dir, "tags.jsonl")); err != nil || !bytes.Equal(got, want) {
				t.Errorf("tags.jsonl differs (%v)", err)
			}
		})
}
