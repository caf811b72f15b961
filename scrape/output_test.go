package scrape_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/scrape"
)

func TestOutputIsCheckedBeforeTheCrawl(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	must.Do(t, os.WriteFile(file, nil, 0o644))
	for tags, want := range map[string]string{
		file:                            "",
		filepath.Join(dir, "new.jsonl"): "",
		"":                              "the tags have no file name",
		dir:                             "is a folder; want the name of a file",
		filepath.Join(dir, "no", "x"):   "does not exist; create it",
		filepath.Join(file, "x"):        "does not exist; create it",
	} {
		err := scrape.Output{Tags: tags, Policy: "first"}.Check()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", tags, err, want)
		}
	}
}
