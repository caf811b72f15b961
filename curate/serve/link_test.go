package serve

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hgld/curate"
	"hgld/internal/testing/must"
)

// Unsaved edits in a browser belong to one log, whenever it is served. A copy in another folder, or
// another log with the same name, does not get them.
func TestQueueNameIsUniqueToALog(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	anna, ben := curate.Header{Version: curate.LogVersion, By: "anna", DraftSHA256: "ab"},
		curate.Header{Version: curate.LogVersion, By: "ben", DraftSHA256: "ab"}
	names := map[string]bool{}
	for _, log := range []struct {
		path string
		h    curate.Header
	}{{"edits.jsonl", anna}, {filepath.Join(dir, "edits.jsonl"), anna}, {"copy/edits.jsonl", anna}, {"edits.jsonl", ben}} {
		name, err := QueueName(log.path, log.h)
		if err != nil || len(name) != 32 {
			t.Fatalf("%q, %v", name, err)
		}
		names[name] = true
	}
	if len(names) != 3 {
		t.Errorf("three logs, one of them by two paths, have %d names", len(names))
	}
}

func TestLinkIsShownOrWrittenForItsOwner(t *testing.T) {
	shown := Link{Base: "http://127.0.0.1:1"}
	if text, err := shown.Give("k"); text != "http://127.0.0.1:1/#key=k" || err != nil || shown.Remove() != nil {
		t.Errorf("shown: %q, %v", text, err)
	}
	file := filepath.Join(t.TempDir(), "edits.jsonl.link")
	hidden := Link{Base: "http://127.0.0.1:1", File: file}
	must.Do(t, os.WriteFile(file, []byte("mine"), 0o600))
	if _, err := hidden.Give("k"); err == nil {
		t.Error("a file of the curator is replaced")
	}
	must.Do(t, os.WriteFile(file, []byte("http://127.0.0.1:9/#key=of-an-earlier-server\n"), 0o644))
	text, err := hidden.Give("k")
	if err != nil || strings.Contains(text, "key") || text != "the link in "+file {
		t.Errorf("hidden: %q, %v", text, err)
	}
	data, err := os.ReadFile(file)
	if err != nil || string(data) != "http://127.0.0.1:1/#key=k\n" {
		t.Errorf("the file holds %q, %v", data, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
		t.Errorf("others may read it: %v, %v", info.Mode(), err)
	}
	if err := errors.Join(hidden.Remove(), hidden.Remove()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is left: %v", err)
	}
}
