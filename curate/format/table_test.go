package format

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/encoding/unicode"

	"hgld/internal/testing/must"
	"hgld/labels"
)

// A table is read by whatever separates its columns, and is never a list of names.
func TestTablesOfOtherProgramsAreReadOrRefused(t *testing.T) {
	wide, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String("group\tparent\r\nÉglise\tx\r\n")
	must.Do(t, err)
	for name, c := range map[string]struct {
		text, want string // the format and the groups, or a part of the error
		refused    bool
	}{
		"semicolons":  {"group;parent;landmarks\nchurch;human-made;5\nlake;natural;3\n", "groups church,lake", false},
		"tabs":        {"group\tparent\tlandmarks\nchurch\thuman-made\t5\n", "groups church", false},
		"mark":        {"\ufeffgroup;parent\nchurch;human-made\n", "groups church", false},
		"sep=":        {"sep=;\ngroup;parent\nchurch;human-made\n", "groups church", false},
		"UTF-16":      {wide, "groups Église", false},
		"trailing":    {"group;parent;;;\nchurch;human-made;;;\n", "groups church", false},
		"quotes":      {"group\tparent\nthe \"Old\" town\tx\n", `groups the "Old" town`, false},
		"suggestions": {"tag;group;score;source\nclass 1;church;0.9;m\n", "suggestions ", false},
		"extra":       {"level;class;extra_parent\ntag;bridge;river\n", "extra-parents ", false},
		"also":        {"level;class;also\ntag;bridge;river\n", "extra-parents ", false},
		"labels": {"landmark_id;category;supercategory;hierarchical_label;natural_or_human_made\n" +
			"0;http://commons.wikimedia.org/wiki/Category:A;church;religious;human-made\n", "labels religious", false},
		"names":     {"church\nlake\n", "groups church,lake", false},
		"sheet":     {"church\t59\tlake\t77\nchapel\t28\tpond\t3\n", "sheet church,lake", false},
		"page":      {"<!DOCTYPE html>\n<html><body>404 Not Found</body></html>\n", "a web page", true},
		"page 2":    {"\n  <HTML>\n<title>x</title>", "a web page", true},
		"XML":       {"<?xml version=\"1.0\"?>\n<a/>\n", "a web page or XML", true},
		"JSON":      {"{\"groups\": [\"church\"]}\n", "JSON that is no", true},
		"JSON list": {"[\"church\", \"lake\"]\n", "JSON that is no", true},
		"pipes":     {"group|parent\nchurch|human-made\nlake|natural\n", "a table", true},
		"PDF":       {"%PDF-1.7\n%x\n", "a document", true},
		"wide":      {"a;b;c;d\nw;x;y;z\n", "a table", true},
	} {
		d, err := Read([]byte(c.text), "x.csv", "", labels.ReadOptions{Split: labels.Train})
		if c.refused {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %q", name, err, c.want)
			}
			if found, err := lintFile([]byte(c.text), "x.csv", "", labels.ReadOptions{}, nil); err != nil ||
				!slices.ContainsFunc(found, func(p Problem) bool { return !p.Warning }) {
				t.Errorf("%s: lint finds %v, %v", name, found, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := d.read + " " + strings.Join(d.Groups(), ","); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
