package main

import (
	"path/filepath"
	"testing"

	"hgld/curate"
)

// Edits that wait in a browser belong to one log, whenever it is served; a copy in
// another folder, or another log of the same name, does not get them.
func TestQueueNameIsThatOfOneLog(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	anna, ben := curate.Header{Version: 2, By: "anna", DraftSHA256: "ab"},
		curate.Header{Version: 2, By: "ben", DraftSHA256: "ab"}
	names := map[string]bool{}
	for _, log := range []struct {
		path string
		h    curate.Header
	}{{"edits.jsonl", anna}, {filepath.Join(dir, "edits.jsonl"), anna}, {"copy/edits.jsonl", anna}, {"edits.jsonl", ben}} {
		name, err := queueName(log.path, log.h)
		if err != nil || len(name) != 32 {
			t.Fatalf("%q, %v", name, err)
		}
		names[name] = true
	}
	if len(names) != 3 {
		t.Errorf("three logs, one of them by two paths, have %d names", len(names))
	}
}
