package settings

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"hgld/internal/testing/must"
)

type formerTest struct {
	NA  string `yaml:"na_values"`
	Run struct {
		On string `yaml:"eval_on"`
	} `yaml:"run"`
	Kept int    `yaml:"kept"`
	Tree string `yaml:"tree"`
}

var formerRows = FormerKeys{
	{Section: "s", Key: "missing", Now: "na_values"}, {Section: "s", Key: "run.watch", Now: "run.eval_on"},
	{Section: "s", Key: "threads", Default: "0", Why: "threads is a key of its own"},
	{Section: "s", Key: "scale", Default: "[0.02, 0.33]", Why: "fixed"},
	{Section: "s", Key: "workers", Default: anyValue, Why: "threads sets it"},
	{Section: "s", Key: "kept", Now: "na_values"}, {Section: "s", Key: "later", Now: "not_yet"},
	{Section: "s", Key: "tree", Value: "place", Now: "geographic"},
}

func TestFormerKeysOfOldFilesAreRead(t *testing.T) {
	for _, c := range []struct{ text, want, err string }{
		{"missing: NA\nrun: {watch: test}\nthreads: 0\nscale: [0.02, 0.33]\nkept: 3", "NA test 3", ""},
		{"na_values: x\nkept: 2", "x  2", ""},
		{"threads: 2", "", "key s.threads was removed: threads is a key of its own"},
		{"scale: [0.1, 0.33]", "", "key s.scale was removed: fixed"},
		{"threads: null", "  0", ""},
		{"na_values: place\ntree: place", "place  0 geographic", ""},
		{"workers: 3\nkept: 2", "  2", ""},
	} {
		var s formerTest
		text, err := formerRows.Today("s", &s, c.text)
		if err == nil {
			err = yaml.Unmarshal([]byte(text), &s)
		}
		if c.err != "" {
			if err == nil || err.Error() != c.err {
				t.Errorf("%q: %v, want %s", c.text, err, c.err)
			}
			continue
		}
		rest := strings.TrimSpace(Text(Fields(&s)[2].Value) + " " + s.Tree)
		if got := s.NA + " " + s.Run.On + " " + rest; err != nil || got != c.want {
			t.Errorf("%q: %q, %v, want %q", c.text, got, err, c.want)
		}
	}
	if got := strings.Join(formerRows.Keys("s", new(formerTest), []string{"missing", "kept", "later"}), " "); got !=
		"na_values kept later" {
		t.Errorf("keys %s", got)
	}
	if got := strings.Join(formerRows.Assignments("s", new(formerTest), []string{"missing=a=b", "workers=2", "threads=0",
		"new=1"}), " "); got != "na_values=a=b threads=0 new=1" {
		t.Errorf("assignments %s", got)
	}
}

func TestFormerKeysAreAnsweredWhereUsersWriteThem(t *testing.T) {
	s := Section{Name: "s", Ptr: new(formerTest), Former: formerRows, Origin: func(string, string) {}}
	for text, want := range map[string]string{
		"missing: NA":              "p.yaml:1: key s.missing is now s.na_values",
		"kept: 1\nrun: {watch: a}": "p.yaml:2: key s.run.watch is now s.run.eval_on",
		"threads: 0":               "p.yaml:1: key s.threads was removed: threads is a key of its own",
		"workers: 0":               "p.yaml:1: key s.workers was removed: threads sets it",
		"later: 1":                 `p.yaml:1: unknown key "s.later"`,
	} {
		var doc yaml.Node
		must.Do(t, yaml.Unmarshal([]byte(text), &doc))
		if _, err := s.File("p.yaml", doc.Content[0]); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if err := s.Assign([]string{"s.run.watch=test"}); err == nil ||
		err.Error() != "-o s.run.watch=test: key run.watch is now run.eval_on" {
		t.Error(err)
	}
	t.Setenv("HGLD_S_MISSING", "NA")
	if err := s.Environment(); err == nil ||
		err.Error() != "environment variable HGLD_S_MISSING is now HGLD_S_NA_VALUES" {
		t.Error(err)
	}
	old := Section{Name: "s", Ptr: &formerTest{Tree: "place"}, Former: formerRows}
	if err := old.Check(func(key string) string { return "p.yaml:3" }); err == nil ||
		err.Error() != "p.yaml:3: s.tree: place is now geographic" {
		t.Error(err)
	}
	old.Ptr = &formerTest{NA: "place", Tree: "geographic"}
	if err := old.Check(func(key string) string { return "" }); err != nil {
		t.Error(err)
	}
}
