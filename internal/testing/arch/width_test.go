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
	"hgld/internal/testing/must"
)

const (
	longestLine       = 120 // characters
	longestLineOfPage = 160 // of the JavaScript of pages
)

// data lists files whose long lines are literals of binary data.
var data = []string{"internal/img/decode_test.go", "internal/img/limits_test.go"}

// Struct tags, raw strings and generated files are exempt.
func TestLinesAreNotTooLong(t *testing.T) {
	for _, f := range parseAll(t) {
		text := must.Get(os.ReadFile(filepath.Join(goldens.Root(), filepath.FromSlash(f.path))))(t)
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
			t.Errorf("%s:%d has %d characters, more than %d", f.path, i+1, utf8.RuneCountInString(line), longestLine)
		}
	}
}

// The scripts of the pages have no build step: their lines are those that people read.
func TestLinesOfThePagesAreNotTooLong(t *testing.T) {
	var paths []string
	for _, pattern := range []string{"cluster/report/*.js", "curate/serve/page/*.js", "internal/parts/*.js",
		"internal/report/*.js"} {
		found, err := filepath.Glob(filepath.Join(goldens.Root(), pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("no %s, %v", pattern, err)
		}
		paths = append(paths, found...)
	}
	for _, path := range paths {
		text := must.Get(os.ReadFile(path))(t)
		for i, line := range strings.Split(string(text), "\n") {
			if n := utf8.RuneCountInString(line); n > longestLineOfPage {
				t.Errorf("%s:%d has %d characters, more than %d", path, i+1, n, longestLineOfPage)
			}
		}
	}
}
