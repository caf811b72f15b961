package main

import (
	"path/filepath"
	"strings"
	"testing"

	"hgld/internal/filelock"
)

// Wikimedia's limits hold for a machine, and not for each of its processes.
func TestOneProcessAMachineAsksWikimedia(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	first, err := filelock.Acquire(filepath.Join(dir, "hgld-wikimedia.lock"))
	if err != nil {
		t.Fatal(err)
	}
	for hosts, want := range map[string]int{"commons.wikimedia.org": exitLocked, "127.0.0.1:80 www.wikidata.org": exitLocked, "127.0.0.1:80": exitOK} {
		unlock, err := lockWikimedia(strings.Fields(hosts))
		if exitCode(err) != want || want == exitLocked && !strings.Contains(err.Error(), "is locked by process") {
			t.Errorf("%s: %v, want exit code %d", hosts, err, want)
		}
		if err == nil {
			if err := unlock(); err != nil {
				t.Error(err)
			}
		}
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		unlock, err := lockWikimedia([]string{"commons.wikimedia.org"})
		if err != nil {
			t.Fatal(err)
		}
		if err := unlock(); err != nil {
			t.Error(err)
		}
	}
}
