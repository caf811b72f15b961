package main

import (
	"strings"
	"testing"

	"hgld/curate"
)

// A name that two snapshots have is not guessed: the number of one is asked for, and taken. A snapshot may be called
// like a number.
func TestSnapshotIsFoundByNameOrNumber(t *testing.T) {
	var edits []curate.Edit
	for i, name := range []string{"lunch", "dinner", "lunch", "#2"} {
		edits = append(edits, curate.Edit{Seq: i + 1, Op: curate.Snapshot, Note: name})
	}
	for name, want := range map[string]int{"dinner": 2, "#1": 1, "#3": 3, "#2": 4} {
		if s, err := snapshotNamed("log", edits, name); err != nil || s.Seq != want {
			t.Errorf("%s is snapshot %d (%v), want %d", name, s.Seq, err, want)
		}
	}
	for name, want := range map[string]string{"lunch": `log has 2 snapshots "lunch"; give the number of one instead: #1, #3`,
		"#9": `unknown snapshot "#9"`, "diner": `did you mean "dinner"?`} {
		_, err := snapshotNamed("log", edits, name)
		if err == nil || !strings.Contains(err.Error(), want) || exitCode(err) != exitUsage {
			t.Errorf("%s: %v, want %s and exit code 2", name, err, want)
		}
	}
}
