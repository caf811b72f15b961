package curate

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"hgld/labels"
)

// testdata/replayed has a draft, a log of 140 random edits with every operation except those of
// proposals, and the hierarchies that follow from them.
func TestLogWithoutProposalsGivesTheGoldenHierarchy(t *testing.T) {
	dir := filepath.Join("testdata", "replayed")
	c, err := OpenCuration(filepath.Join(dir, "draft.json"))
	if err != nil {
		t.Fatal(err)
	}
	l, err := c.Add(filepath.Join(dir, "edits.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	session, err := c.Replay(Stop)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(l.Contents.Edits); n < 140 || !c.Own(l) {
		t.Fatalf("%d edits, on their own draft: %v; want 140 or more", n, c.Own(l))
	}
	for name, undecided := range map[string]bool{"hierarchy.json": false, "undecided.json": true} {
		want, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		h, err := c.Hierarchy(session, undecided, "hgld")
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		if err := labels.WriteHierarchy(&got, h); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Bytes(), want) {
			t.Errorf("%s: the log replays to other bytes:\n%s", name, got.Bytes())
		}
	}
}
