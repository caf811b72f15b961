package curate

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"hgld/internal/testing/must"
	"hgld/labels"
)

// The result of other logs is not replaced without a word: Replaces names the logs, the tags and
// the groups that change. It has nothing to say of the result of the same logs.
func TestReplacesNamesWhatOtherLogsDecided(t *testing.T) {
	s := start(t, churches(t))
	do(t, s, Edit{Op: SetParent, Level: 1, From: refs("church"), To: "human-made"},
		Edit{Op: Move, From: refs("church@Q1", "chapel@Q2", "hill"), To: "church"})
	old, err := s.Hierarchy(false)
	must.Do(t, err)
	if old.Origin, err = json.Marshal(map[string]any{"logs": []map[string]string{{"name": "anna.jsonl"},
		{"name": "ben.jsonl"}}}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "hierarchy.json")
	f, err := os.Create(path)
	must.Do(t, err)
	must.Do(t, labels.WriteHierarchy(f, old))
	must.Do(t, f.Close())
	do(t, s, Edit{Op: Drop, From: refs("hill"), Note: "too generic"},
		Edit{Op: SetParent, Level: 1, From: refs("church"), To: "natural"})
	now, err := s.Hierarchy(false)
	must.Do(t, err)
	r, err := Replaces(path, []string{"logs/anna.jsonl"}, now)
	if err != nil || r == nil {
		t.Fatalf("%+v, %v", r, err)
	}
	want := path + " was made from anna.jsonl, ben.jsonl. 1 of 8 tags would be in another group; groups under another " +
		"parent: 1\n  hill: church → (dropped)\n  church: human-made → natural"
	if r.Text() != want {
		t.Errorf("text\n%s\nwant\n%s", r.Text(), want)
	}
	if r, err := Replaces(path, []string{"ben.jsonl", "anna.jsonl", "third.jsonl"}, now); r != nil || err != nil {
		t.Errorf("the same logs: %+v, %v", r, err)
	}
	if r, err := Replaces(path+".none", nil, now); r != nil || err != nil {
		t.Errorf("no file: %+v, %v", r, err)
	}
}
