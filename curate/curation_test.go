package curate

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hgld/internal/testing/must"
	"hgld/internal/usage"
	"hgld/labels"
)

// written makes a draft and a log for each list of edits in a folder.
func written(t *testing.T, d *labels.Draft, logs map[string][]Edit) string {
	t.Helper()
	dir := t.TempDir()
	draft := filepath.Join(dir, "draft.json")
	f := must.Get(os.Create(draft))(t)
	must.Do(t, errors.Join(labels.WriteDraft(f, d), f.Close()))
	for name, edits := range logs {
		appendTo(t, filepath.Join(dir, name), draft, nil, edits...)
	}
	return dir
}

func appendTo(t *testing.T, path, draft string, adjudicate []string, edits ...Edit) {
	t.Helper()
	if err := StartLog(path, draft, strings.TrimSuffix(filepath.Base(path), ".jsonl"), nil, adjudicate,
		time.Unix(1, 0).UTC()); err != nil {
		t.Fatal(err)
	}
	l, _, err := OpenLog(path)
	must.Do(t, err)
	for i, e := range edits {
		e.Seq, e.Base = i+1, i
		must.Do(t, l.Append(e))
	}
	must.Do(t, l.Close())
}

func curationOf(t *testing.T, dir string, logs ...string) *Curation {
	t.Helper()
	c := must.Get(OpenCuration(filepath.Join(dir, "draft.json")))(t)
	for _, name := range logs {
		if _, err := c.Add(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func TestAdjudicationReplaysOnBothCuratorsLogs(t *testing.T) {
	move := func(to string) []Edit { return []Edit{{Op: Move, From: refs("church@Q1"), To: to}} }
	dir := written(t, churches(t), map[string][]Edit{"anna.jsonl": move("peak"), "ben.jsonl": move("bridge")})
	both := []string{filepath.Join(dir, "anna.jsonl"), filepath.Join(dir, "ben.jsonl")}
	third := filepath.Join(dir, "third.jsonl")
	appendTo(t, third, filepath.Join(dir, "draft.json"), both, move("temple")...)

	c := curationOf(t, dir, "anna.jsonl", "ben.jsonl", "third.jsonl")
	s, err := c.Replay(Stop)
	must.Do(t, err)
	if i, _ := s.Find(refs("church@Q1")[0]); s.Tag(i).Group != "temple" {
		t.Errorf("church is in %q, want the adjudicator's temple", s.Tag(i).Group)
	}
	if tags, parents := c.Open(s); len(c.Comparison.Differences) != 1 || len(tags)+len(parents) != 0 {
		t.Errorf("%d differences, open %v %v; want one, and none open", len(c.Comparison.Differences), tags, parents)
	}
	if h, err := c.Hierarchy(s, false, "test"); err != nil || !strings.Contains(string(h.Origin), c.SHA256) {
		t.Errorf("%v, %v; want a hierarchy that names its draft", h, err)
	}

	var misplaced *usage.Error
	for _, order := range [][]string{{"third.jsonl"}, {"anna.jsonl", "third.jsonl"}} {
		if _, err := curationOf(t, dir, order...).Replay(Stop); !errors.As(err, &misplaced) ||
			!strings.HasPrefix(err.Error(), third) {
			t.Errorf("%v: error %v, want one that says where the adjudication belongs", order, err)
		}
	}
	appendTo(t, filepath.Join(dir, "carla.jsonl"), filepath.Join(dir, "draft.json"), nil, move("peak")...)
	blind := append(both, filepath.Join(dir, "carla.jsonl"))
	appendTo(t, filepath.Join(dir, "fourth.jsonl"), filepath.Join(dir, "draft.json"), blind, move("temple")...)
	if s, err := curationOf(t, dir, "carla.jsonl", "anna.jsonl", "ben.jsonl", "fourth.jsonl").Replay(Stop); err != nil {
		t.Errorf("the adjudication of three: %v", err)
	} else if i, _ := s.Find(refs("church@Q1")[0]); s.Tag(i).Group != "temple" {
		t.Errorf("church is in %q, want the adjudicator's temple", s.Tag(i).Group)
	}
	_, err = curationOf(t, dir, "anna.jsonl", "ben.jsonl", "fourth.jsonl").Replay(Stop)
	if !errors.As(err, &misplaced) || !strings.Contains(err.Error(), "between 3 curators' logs") {
		t.Errorf("the adjudication of three with two logs: error %v", err)
	}
	var mismatch *MismatchError
	if _, err := curationOf(t, dir, "anna.jsonl", "carla.jsonl", "third.jsonl").Replay(Stop); !errors.As(err, &mismatch) {
		t.Errorf("the adjudication of other logs: error %v, want a MismatchError", err)
	}
}

func TestLogOfAnotherDraftSkipsMissingTags(t *testing.T) {
	dir := written(t, churches(t), map[string][]Edit{"anna.jsonl": {{Op: Drop, From: refs("hill"), Note: "vague"}}})
	other := written(t, draftOf(t, "church: church@Q1 chapel@Q2"), map[string][]Edit{"empty.jsonl": nil})
	path := filepath.Join(other, "anna.jsonl")
	must.Do(t, os.Rename(filepath.Join(dir, "anna.jsonl"), path))
	c := curationOf(t, other, "anna.jsonl")
	if c.Own(c.Logs[0]) {
		t.Error("the log counts as the draft's own")
	}
	if _, err := c.Replay(Stop); !errors.Is(err, ErrConflict) {
		t.Errorf("error %v, want a conflict", err)
	}
	s, err := c.Replay(Skip)
	if err != nil || c.Logs[0].Report.TargetGone != 1 {
		t.Fatalf("%v, report %+v; want one target gone", err, c.Logs[0].Report)
	}
	if _, err := c.Hierarchy(s, false, "test"); !errors.Is(err, ErrUndecided) {
		t.Errorf("error %v, want ErrUndecided", err)
	}
	// Only logs with edits that were made for the draft count as its logs.
	if l, err := ReadLogOn(path, c.SHA256); l != nil || err != nil {
		t.Errorf("a log of another draft: %v, %v", l, err)
	}
	if l, err := ReadLogOn(filepath.Join(other, "empty.jsonl"), c.SHA256); l != nil || err != nil {
		t.Errorf("a log without edits: %v, %v", l, err)
	}
	if l, err := ReadLogOn(path, c.Logs[0].Contents.Header.DraftSHA256); err != nil || l == nil || l.Curator() != "anna" {
		t.Errorf("anna's log: %v, %v", l, err)
	}
}
