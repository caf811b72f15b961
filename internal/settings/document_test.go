package settings

import (
	"errors"
	"strings"
	"testing"

	"hgld/internal/usage"
)

func TestDocumentRefusesCyclesAndBombs(t *testing.T) {
	bomb := "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
	for i := range 9 {
		names := strings.TrimSuffix(strings.Repeat("*a"+string(rune('0'+i))+", ", 9), ", ")
		bomb += "a" + string(rune('1'+i)) + ": &a" + string(rune('1'+i)) + " [" + names + "]\n"
	}
	for text, want := range map[string]string{
		"hgld: 1\ncluster: {k: &a [*a]}\n": `f.yaml:2: the anchor "a" contains itself`,
		"&a {k: {l: *a}}":                  `f.yaml:1: the anchor "a" contains itself`,
		"k: &a {l: &b [*a]}\nm: *b":        `f.yaml:1: the anchor "a" contains itself`,
		bomb:                               "more than 250000 values",
		"k: 1\n---\nk: 2\n":                "more than one YAML document",
		"k: [":                             "f.yaml: yaml:",
	} {
		if _, err := Document("f.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) ||
			!errors.As(err, new(*usage.Error)) {
			t.Errorf("%.60q: %v, want %s", text, err, want)
		}
	}
}

// A setting may be changed where it stands: what an alias stands for is a copy.
func TestAliasStandsForACopy(t *testing.T) {
	root, err := Document("f.yaml", []byte("k: &a {l: 1}\nm: *a\nn: [*a, *a]\n"))
	if err != nil {
		t.Fatal(err)
	}
	Lookup(Lookup(root, "m"), "l").Value = "2"
	for key, want := range map[string]string{"k": "{l: 1}", "m": "{l: 2}", "n": "[{l: 1}, {l: 1}]"} {
		if got := oneLine(Lookup(root, key)); got != want {
			t.Errorf("%s is %s, want %s", key, got, want)
		}
	}
	if line := Lookup(root, "m").Line; line != 2 {
		t.Errorf("the alias stands in line %d, want 2", line)
	}
}
