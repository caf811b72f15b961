package main

import (
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"hgld/internal/filelock"
	"hgld/internal/settings"
)

// Wikimedia's limits hold for a machine, and not for each of its processes.
func TestOnlyOneProcessPerMachineScrapesWikimedia(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	first, err := filelock.Acquire(filepath.Join(dir, "hgld-wikimedia.lock"))
	if err != nil {
		t.Fatal(err)
	}
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
