package curate

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"hgld/internal/testing/must"
	"hgld/labels"
)

// testdata/replayed has a draft, a log of 140 random edits with every operation except those of
// proposals, and the hierarchies that follow from them.
func TestLogWithoutProposalsGivesTheGoldenHierarchy(t *testing.T) {
	dir := filepath.Join("testdata", "replayed")
	c := must.Get(OpenCuration(filepath.Join(dir, "draft.json")))(t)
	l := must.Get(c.Add(filepath.Join(dir, "edits.jsonl")))(t)
	session := must.Get(c.Replay(Stop))(t)
	if n := len(l.Contents.Edits); n < 140 || !c.Own(l) {
		t.Fatalf("%d edits, on their own draft: %v; want 140 or more", n, c.Own(l))
	}
	for name, undecided := range map[string]bool{"hierarchy.json": false, "undecided.json": true} {
		want := must.Get(os.ReadFile(filepath.Join(dir, name)))(t)
		h := must.Get(c.Hierarchy(session, undecided, "hgld"))(t)
		var got bytes.Buffer
		must.Do(t, labels.WriteHierarchy(&got, h))
		if !bytes.Equal(got.Bytes(), want) {
			t.Errorf("%s: the log replays to other bytes:\n%s", name, got.Bytes())
		}
	}
}
