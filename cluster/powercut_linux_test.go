//go:build amd64

package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"hgld/internal/testing/must"
	"hgld/internal/testing/powercut"
)

// TestPowerCutsLeaveAReadableCache cuts the power at each call of two encodings into a new cache.
// No piece may be damaged, and no text of a completed encoding may be encoded again.
func TestPowerCutsLeaveAReadableCache(t *testing.T) {
	texts := [][]string{{"church", "bay"}, {"church", "lake", "bridge"}}
	encode := func(dir string, round int) (encoded int, err error) {
		e := &counting{name: "a"}
		_, err = encodeCached(t, e, filepath.Join(dir, ".hgld", "vectors"), texts[round]...)
		return len(e.encoded), err
	}
	if dir := os.Getenv("HGLD_POWERCUT_CHILD"); dir != "" {
		for round := range texts {
			if _, err := encode(dir, round); err != nil {
				t.Fatal(err)
			}
			must.Do(t, powercut.Acknowledge(dir, "encoded"))
		}
		return
	}
	dir := t.TempDir()
	trace := powercut.Record(t, powercut.Child(t, "HGLD_POWERCUT_CHILD="+dir), dir)
	trace.Check(t, func(dir string, cut *powercut.Crash) error {
		for round := range texts {
			encoded, err := encode(dir, round)
			if err != nil {
				return err
			}
			if encoded > 0 && len(cut.Lines()) > round {
				return fmt.Errorf("round %d was complete, and %d texts were encoded again", round, encoded)
			}
		}
		return nil
	})
}
