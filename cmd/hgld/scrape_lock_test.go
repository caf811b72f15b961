package main

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"hgld/internal/filelock"
	"hgld/internal/settings"
	"hgld/internal/testing/must"
)

// Wikimedia's limits hold for a machine, and not for each of its processes.
func TestOnlyOneProcessPerMachineScrapesWikimedia(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	first := must.Get(filelock.Acquire(filepath.Join(dir, "hgld-wikimedia.lock")))(t)
	for hosts, want := range map[string]int{"commons.wikimedia.org": exitLocked,
		"127.0.0.1:80 www.wikidata.org": exitLocked, "127.0.0.1:80": exitOK} {
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
	must.Do(t, first.Close())
	for range 2 {
		unlock := must.Get(lockWikimedia([]string{"commons.wikimedia.org"}))(t)
		if err := unlock(); err != nil {
			t.Error(err)
		}
	}
}

// What a killed process of another user has left can be read and not be removed: it stops nobody, and while that
// process runs, it does.
func TestLockOfADeadUserStopsNobody(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	path := filepath.Join(dir, "hgld-wikimedia.lock")
	unlock := must.Get(lockWikimedia([]string{"commons.wikimedia.org"}))(t)
	if info := must.Get(os.Stat(path))(t); info.Mode().Perm()&0o044 != 0o044 && runtime.GOOS != "windows" {
		t.Errorf("other users cannot read the lock: %v", info.Mode())
	}
	if _, err := lockForeign(path); !errors.As(err, new(*filelock.LockedError)) {
		t.Errorf("while its process runs: %v", err)
	}
	must.Do(t, unlock())
	must.Do(t, os.WriteFile(path, []byte("4711"), 0o444))
	for range 2 {
		unlock = must.Get(lockForeign(path))(t)
		must.Do(t, unlock())
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the file of another user is gone: %v", err)
	}
}

// In hgld.yaml one list may stand as a name, as it did before there could be several.
func TestCategoriesAreOneFileOrAList(t *testing.T) {
	for text, want := range map[string]string{
		"categories: a.csv\n":          "categories: a.csv\n",
		"categories: [a.csv]\n":        "categories: a.csv\n",
		"categories: [a.csv, b.csv]\n": "categories:\n    - a.csv\n    - b.csv\n",
		"categories: {a: b}\n":         "",
	} {
		var s struct {
			Categories settings.TextList `yaml:"categories"`
		}
		err := yaml.Unmarshal([]byte(text), &s)
		if want == "" {
			if err == nil {
				t.Errorf("%q is %v, want an error", text, s.Categories)
			}
			continue
		}
		if got, marshalErr := yaml.Marshal(s); err != nil || marshalErr != nil || string(got) != want {
			t.Errorf("%q is written %q, want %q (%v, %v)", text, got, want, err, marshalErr)
		}
	}
}
