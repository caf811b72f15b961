package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"hgld/internal/testing/must"
)

// What is wrong with the command line is exit code 2, not a fault of the file.
func TestContradictingSplitsAreUsageErrors(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"index_labels.csv": "landmark_id,category\n1,http://commons.wikimedia.org/wiki/Category:A\n",
		"labels.csv":       "landmark_id,category\n1,http://commons.wikimedia.org/wiki/Category:A\n",
		"split.csv":        "landmark_id,category,split,tag\n1,http://commons.wikimedia.org/wiki/Category:A,index,lake\n",
		"images.csv":       "id,landmark_id\na,1\n",
	} {
		must.Do(t, os.WriteFile(name, []byte(text), 0o644))
	}
	for _, line := range []string{
		"labels check --split tarin labels.csv",
		"labels check --split train index_labels.csv",
		"labels check --split train split.csv",
		"labels check labels.csv",
		"labels show --split bogus labels.csv",
		"labels show --split train split.csv",
		"labels show --split bogus --counts images.csv index_labels.csv",
		"labels show --split train",
		"labels convert --to levels --split bogus labels.csv",
		"labels convert --to json --split index labels.csv out.csv",
		"scrape import --column tag --split foo split.csv",
		"scrape import --column tag --split train split.csv",
		"scrape import --column tags split.csv",
	} {
		var out bytes.Buffer
		if code := hgld(append([]string{"hgld"}, strings.Fields(line)...), &out, &out); code != exitUsage {
			t.Errorf("hgld %s: exit code %d, want %d\n%s", line, code, exitUsage, out.String())
		}
	}
}
