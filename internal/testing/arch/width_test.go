package arch

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"hgld/internal/testing/goldens"
)

const (
	longestLine       = 120 // characters
	longestLineOfPage = 160 // of the JavaScript of pages
)

// wide lists the folders with lines that are still too long. A folder without such lines is removed
// from the list for good.
var wide = []string{}

// data lists files whose long lines are literals of binary data.
var data = []string{"internal/img/decode_test.go", "internal/img/limits_test.go"}

// Struct tags, raw strings and generated files are exempt.
func TestLinesAreNotTooLong(t *testing.T) {
	found := map[string]bool{}
	for _, f := range parseAll(t) {
		text, err := os.ReadFile(filepath.Join(goldens.Root(), filepath.FromSlash(f.path)))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.HasPrefix(text, []byte("// Code generated ")) || slices.Contains(data, f.path) {
			continue
		}
		raw := false
		for i, line := range strings.Split(string(text), "\n") {
			inside := raw
			if quotes := strings.Count(line, "`"); quotes > 0 {
				inside, raw = true, raw != (quotes%2 == 1)
			}
			if inside || utf8.RuneCountInString(line) <= longestLine {
				continue
			}
			listed := false
			for _, folder := range wide {
				if strings.HasPrefix(f.path, folder+"/") {
					found[folder], listed = true, true
				}
			}
			if !listed {
				t.Errorf("%s:%d has %d characters, more than %d", f.path, i+1, utf8.RuneCountInString(line), longestLine)
			}
		}
	}
	for _, folder := range wide {
		if !found[folder] {
			t.Errorf("no line below %s is too long: take it off the list", folder)
		}
	}
}

// The script of the curation page has no build step: its lines are those that people read.
func TestLinesOfThePageAreNotTooLong(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(goldens.Root(), "curate", "serve", "page", "*.js"))
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files of the page, %v", len(files), err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			if n := utf8.RuneCountInString(line); n > longestLineOfPage {
				t.Errorf("%s:%d has %d characters, more than %d", filepath.Base(path), i+1, n, longestLineOfPage)
			}
		}
	}
}
