//go:build amd64

package serve

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"hgld/curate"
	"hgld/internal/testing/powercut"
)

const powerCutOrders = 6

// TestPowerCutsLoseNoAnsweredEdit cuts the power at each system call of a server that receives edits
// from a page. The page sends unanswered edits again, as it does when the
// server is back: every edit is made, and made once.
func TestPowerCutsLoseNoAnsweredEdit(t *testing.T) {
	send := func(t *testing.T, path string, answered func(n int) error) error {
		c, err := curate.ReadLog(path)
		if err != nil {
			return err
		}
		_, a := serveLog(t, path, testDraft(30), nil)
		for n := range powerCutOrders {
			var got answer
			o := move(len(c.Edits), strconv.Itoa(n), "group", n)
			if code := a.post("/api/edit", o, &got); code == http.StatusConflict { // the page has the version then
				o.Base = got.Version
				code = a.post("/api/edit", o, &got)
				if code != http.StatusOK {
					return fmt.Errorf("edit %d: %d %s", n, code, got.Error)
				}
			} else if code != http.StatusOK {
				return fmt.Errorf("edit %d: %d %s", n, code, got.Error)
			}
			if err := answered(n); err != nil {
				return err
			}
		}
		return nil
	}
	if dir := os.Getenv("HGLD_POWERCUT_CHILD"); dir != "" {
		acknowledge := func(n int) error { return powercut.Acknowledge(dir, strconv.Itoa(n)) }
		if err := send(t, filepath.Join(dir, "edits.jsonl"), acknowledge); err != nil {
			t.Fatal(err)
		}
		return
	}
	dir := t.TempDir()
	header := curate.Header{By: "anna", DraftSHA256: "ab"}
	if err := curate.CreateLog(filepath.Join(dir, "edits.jsonl"), header); err != nil {
		t.Fatal(err)
	}
	trace := powercut.Record(t, powercut.Child(t, "HGLD_POWERCUT_CHILD="+dir), dir)
	trace.Check(t, func(dir string, cut *powercut.Crash) error {
		path := filepath.Join(dir, "edits.jsonl")
		c, err := curate.ReadLog(path)
		if err != nil {
			return err
		}
		if n := len(cut.Lines()); len(c.Edits) < n {
			return fmt.Errorf("%d edits in the log, and %d were answered", len(c.Edits), n)
		}
		var sent error
		t.Run("again", func(t *testing.T) { sent = send(t, path, func(int) error { return nil }) })
		c, err = curate.ReadLog(path)
		if err := errors.Join(sent, err); err != nil {
			return err
		}
		if len(c.Edits) != powerCutOrders {
			return fmt.Errorf("%d edits in the log, want %d", len(c.Edits), powerCutOrders)
		}
		for n, e := range c.Edits {
			if editID(e) != "test-id-"+strconv.Itoa(n) {
				return fmt.Errorf("edit %d is %s", n+1, editID(e))
			}
		}
		return nil
	})
}
