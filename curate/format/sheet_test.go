package format

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
	"hgld/labels"
)

// goodSheet is laid out as the authors' sheet is, with counts as a French
// spreadsheet prints them.
const goodSheet = "church,\"10\u202f256,00\",lake,1322,ocean area ,34\n" +
	"church building,\"9\u202f034,00\",lake,1320,bay,34\n" +
	"chapel,\"1\u202f222,00\",neighborhood  park,2,,\n"

func TestSheetReadsFrenchCounts(t *testing.T) {
	d := read(t, []byte(goodSheet), "sheet.csv")
	if d.read != "sheet" {
		t.Fatalf("taken for %s", d.read)
	}
	if n := d.Landmarks[0]["chapel"]; n != 1222 {
		t.Errorf("chapel has %d landmarks, want 1222", n)
	}
	var groups []string
	for _, c := range d.Hierarchy.Levels[1].Classes {
		groups = append(groups, c.Name)
	}
	if want := []string{"church", "lake", "ocean area "}; !slices.Equal(groups, want) {
		t.Errorf("groups %q, want %q: no count may become a name", groups, want)
	}
}

func TestSheetReadsCounts(t *testing.T) {
	for text, want := range map[string]int{
		"0": 0, "1222": 1222, "1\u202f222,00": 1222, "1\u00a0222": 1222, "1 222,0": 1222, "1 234 567": 1234567, " 12 ": 12,
		"12.00": 12,
		"12,5":  -1, "1,222": -1, "-3": -1, "12 22": -1, "1 2223": -1, "1234 567": -1, "12 871 003": 12871003, "x": -1,
		"":                     -1,
		"99999999999999999999": -1,
	} {
		n, err := parseCount(text)
		if err != nil {
			n = -1
		}
		if n != want {
			t.Errorf("%q is %d (%v), want %d", text, n, err, want)
		}
	}
}

// damage is one change to the good sheet, and what must be said of it.
type damage struct {
	name     string
	old, new string
	row      int
	column   string
	warning  bool
	found    string // regular expressions
	expected string
}

var damages = []damage{
	{"a count as a group's name", "church,\"10\u202f256,00\"", "\"10\u202f256,00\",\"10\u202f256,00\"", 1, "A", false,
		`a count \("10.+256,00"\) stands for a name`, "name of a group"},
	{"a count as a tag's name", "chapel,", "1222,", 3, "A", false, `a count \("1222"\) stands for a name`,
		"name of a tag"},
	{"a column of names lost", "church,\"10\u202f256,00\",lake,1322,", "\"10\u202f256,00\",lake,1322,", 0, "", false, ``, ``}, // set below
	{"a column of counts lost", "", "", 0, "", false, ``, ``},                                                                 // set below
	{"a count within a tag's name", "chapel,", "chapel 1\u202f222,", 3, "A", true,
		`tag "chapel.+" contains a number \("1.+222"\)`, "without its count"},
	{"a count behind a tag's name", "chapel,", "chapel 1222,", 3, "A", true,
		`tag "chapel 1222" contains a number \("1222"\)`, "without its count"},
	{"a count behind a group's name", "church,", "\"church 12,00\",", 1, "A", true,
		`group "church 12,00" contains a number \("12,00"\)`, "without its count"},
	{"text for a count", "1320", "many", 2, "D", false, `"many" is not a whole number`, "whole number"},
	{"a fraction for a count", "1320", "\"1,320\"", 2, "D", false, `"1,320" is not a whole number`, "whole number"},
	{"a negative count", "1320", "-1320", 2, "D", false, `"-1320" is not a whole number`, "whole number"},
	{"a count in scientific notation", "1320", "\"1,32E+03\"", 2, "D", false, `"1,32E\+03" is not a whole number`,
		"whole number"},
	{"a tag lost beside its count", "neighborhood  park,2", ",2", 3, "C", false, `a count \("2"\) without a tag`,
		"tag's name"},
	{"a count lost beside its tag", "lake,1320", "lake,", 2, "D", true, `tag "lake" has no count`, "whole number"},
	{"a total that is not the sum", "1322", "1333", 1, "D", true, `1333 landmarks by its first line and 1322 by its tags`,
		"sum"},
	{"an empty total", "lake,1322", "lake,", 1, "D", true, `landmarks of group "lake" are empty`, "whole number"},
	{"an empty cell within a group", "bay,34\nchapel,\"1\u202f222,00\",neighborhood  park,2,,",
		",\nchapel,\"1\u202f222,00\",neighborhood  park,2,bay,34", 2, "E", true, `an empty cell within group "ocean area "`,
		"without a gap"},
	{"a space at an end", "chapel,", "chapel ,", 3, "A", true, `tag "chapel " begins or ends with white space`,
		`"chapel"`},
	{"two spaces in a row", "church building", "church  building", 2, "A", true, `contains two spaces in a row`,
		`"church building"`},
	{"a no-break space", "church building", "church\u00a0building", 2, "A", true, `white space other than the plain space`,
		`"church building"`},
	{"a character that cannot be seen", "church building", "church\u200bbuilding", 2, "A", true, `an invisible character`, ``},
	{"a lost space", "neighborhood  park", "neighborhood park", 3, "C", false,
		`tag "neighborhood park" is not in the draft`, `"neighborhood  park", byte for byte`},
	{"lost case", "church building", "Church building", 2, "A", false, `tag "Church building" is not in the draft`,
		`"church building", byte for byte`},
	{"twins in case", "bay,34\n", "Lake,34\n", 2, "", true, `only in case or white space`, "one name"},
	{"a misspelt tag", "chapel,", "chapell,", 3, "A", true, `tag "chapell" is not in the draft.*it may be "chapel"`, ``},
	{"a tag of the draft lost", "chapel,\"1\u202f222,00\"", ",", 0, "", true,
		`tag "chapel" of the draft \(1222 landmarks\) is not assigned`, "in a group"},
	{"a tag twice in a group", "chapel,", "church building,", 3, "A", false,
		`"church building" appears twice in group "church", first in A2`, "once"},
	{"a tag in two groups", "neighborhood  park,2", "church building,2", 3, "C", false,
		`"church building" is in group "lake" and, in A2, in "church"`, "one group"},
	{"a group twice", "lake,1322", "church,1322", 1, "C", false, `group "church" appears twice, first in column A`,
		"name of its own"},
	{"a group that pandas renamed", "lake,1322", "church.1,1322", 1, "C", false, `second column "church"`,
		"name of its own"},
	{"a group without a name", "lake,1322", ",1322", 1, "C", false, `a group without a name`, "name of a group"},
	{"a group that pandas named", "lake,1322", "Unnamed: 2,1322", 1, "C", false, `a group without a name \("Unnamed: 2"\)`,
		"name of a group"},
	{"twins of groups", "lake,1322", "Church,1322", 1, "A", true, `only in case or white space`, "one name"},
	{"a formula's error", "chapel,", "#REF!,", 3, "A", false, `spreadsheet's formula or error`, "name of a tag"},
	{"a formula", "chapel,", "=A1,", 3, "A", false, `spreadsheet's formula or error`, "name of a tag"},
	{"a lost character", "chapel,", "chap\ufffdl,", 3, "A", true, `sign for a lost character`, "character"},
	{"another encoding", "chapel,", "MusÃ©e,", 3, "A", true, `UTF-8 that was read as Windows-1252`, `"Musée"`},
	{"a name that was cut", "chapel,", "county hall (,", 3, "A", true, `unmatched parenthesis`, "whole name"},
	{"a cell beyond the last column", "bay,34\n", "bay,34,stray\n", 2, "G", false, `"stray" stands beyond the last column`,
		"6 columns"},
	{"a quote that is never closed", "chapel,\"1\u202f222,00\"", "chapel,\"1\u202f222,00", 3, "", false,
		`extraneous or missing`, "CSV"},
	{"semicolons", "", "", 1, "", true, `separated by semicolons`, "commas"}, // set below
	{"a group without tags", "ocean area ,34\n", "ocean area ,34,moon,0\n", 1, "G", true, `group "moon" has no tags`,
		"tags"},
}

// spoil returns the damaged sheet of a case.
func spoil(t *testing.T, c *damage) string {
	t.Helper()
	switch c.name {
	case "a column of names lost":
		c.row, c.column, c.found, c.expected = 1, "A", `a column of counts \("10.+256,00"\) without names`,
			"names, then its counts"
		return "\"10\u202f256,00\",lake,1322\n\"9\u202f034,00\",lake,1320\n\"1\u202f222,00\",neighborhood  park,2\n"
	case "a column of counts lost":
		c.row, c.column, c.found, c.expected = 1, "A", `group "church" has no column of counts`, "two columns a group"
		return "church,lake,1322\nchurch building,lake,1320\nchapel,neighborhood  park,2\n"
	case "semicolons":
		return "church;10256;lake;1322\nchurch building;9034;lake;1320\nchapel;1222;neighborhood  park;2\n"
	}
	if strings.Count(goodSheet, c.old) == 0 {
		t.Fatalf("%q is not in the good sheet", c.old)
	}
	return strings.Replace(goodSheet, c.old, c.new, 1)
}

func sheetDraft() *labels.Draft {
	d := &labels.Draft{Clusters: []labels.Cluster{{Name: "all"}}}
	for i, t := range []labels.DraftTag{
		{Tag: labels.Tag{Name: "church building"}, Landmarks: 9034}, {Tag: labels.Tag{Name: "chapel"}, Landmarks: 1222},
		{Tag: labels.Tag{Name: "lake"}, Landmarks: 1320}, {Tag: labels.Tag{Name: "neighborhood  park"}, Landmarks: 2},
		{Tag: labels.Tag{Name: "bay"}, Landmarks: 34},
	} {
		d.Tags = append(d.Tags, t)
		d.Clusters[0].Members = append(d.Clusters[0].Members, labels.Member{Tag: i})
	}
	return d
}

func TestLintFindsEveryDamageOfASheet(t *testing.T) {
	clean, err := lintFile([]byte(goodSheet), "sheet.csv", "sheet", labels.ReadOptions{}, sheetDraft())
	must.Do(t, err)
	// The published group has its space, and two spaces that the draft has are none
	// of the sheet's damage.
	if len(clean) != 1 || !clean[0].Warning || !strings.Contains(clean[0].Found, `"ocean area "`) {
		t.Fatalf("of the sheet before any damage it says %v", clean)
	}
	for _, c := range damages {
		t.Run(c.name, func(t *testing.T) {
			text := spoil(t, &c)
			found, err := lintFile([]byte(text), "sheet.csv", "sheet", labels.ReadOptions{}, sheetDraft())
			must.Do(t, err)
			match := regexp.MustCompile(c.found)
			at := slices.IndexFunc(found, func(p Problem) bool {
				return match.MatchString(p.Found+"; "+p.Next) &&
					p.Row == c.row
			})
			if at < 0 {
				t.Fatalf("no problem in line %d matches %s:\n%v", c.row, c.found, found)
			}
			p := found[at]
			if p.Warning != c.warning || c.column != "" && p.Column != c.column || p.File != "sheet.csv" {
				t.Errorf("problem %v: want warning %v, column %s", p, c.warning, c.column)
			}
			if !strings.Contains(p.Expected, c.expected) || p.Next == "" {
				t.Errorf("problem %v: want that it expects %q, and a next step", p, c.expected)
			}
			_, err = Read([]byte(text), "sheet.csv", "sheet", labels.ReadOptions{})
			broken := slices.ContainsFunc(found,
				func(p Problem) bool { return !p.Warning && !strings.Contains(p.Found, "is not in the draft") })
			if (err != nil) != broken {
				t.Errorf("it is read with error %v", err)
			}
			if err != nil && !strings.HasPrefix(err.Error(), "sheet.csv:") {
				t.Errorf("error %q does not name file and line", err)
			}
		})
	}
}

// A sheet of the size of the authors', of real tags: 757 of them in their groups,
// with twenty damages planted at once.
func TestLintFindsDamagesInARealSheet(t *testing.T) {
	pairs := must.Get(os.ReadFile(goldens.Shared(t, "goldens", "cluster", "tag_pairs.tsv")))(t)
	var entries []entry
	counts := map[string]int{}
	for i, line := range strings.Split(strings.TrimSpace(string(pairs)), "\n") {
		fields := strings.Split(line, "\t")
		if i == 0 || len(fields) < 2 || fields[1] == "" || counts[fields[0]] > 0 {
			continue
		}
		counts[fields[0]] = 1 + len(entries)%1500
		entries = append(entries, entry{names: fields[:2], where: "tag_pairs"})
	}
	h := must.Get(gather([]string{"tag", "supercategory"}, entries))(t)
	d := &Document{Hierarchy: h, Landmarks: []map[string]int{counts, {}}}
	for _, c := range h.Levels[0].Classes {
		d.Landmarks[1][h.Levels[1].Classes[c.Parent].Name] += counts[c.Name]
	}
	if len(counts) < 700 {
		t.Fatalf("only %d tags", len(counts))
	}
	sheet := write(t, d, "sheet")
	before := must.Get(lintFile(sheet, "real.csv", "", labels.ReadOptions{}, nil))(t)
	lines := bytes.SplitAfter(sheet, []byte("\n"))
	planted := map[string]bool{}
	for line := 1; line <= 20; line++ { // a letter of the first tag of the line becomes a no-break space
		at := bytes.IndexByte(lines[line], ',')
		name := string(lines[line][:at])
		if name == "" || strings.Contains(name, `"`) {
			continue
		}
		spoilt := name[:len(name)/2] + "\u00a0" + name[len(name)/2:]
		lines[line] = append([]byte(spoilt), lines[line][at:]...)
		planted[fmt.Sprintf("real.csv:%d:A", line+1)] = true
	}
	after := must.Get(lintFile(bytes.Join(lines, nil), "real.csv", "", labels.ReadOptions{}, nil))(t)
	if len(planted) < 10 || len(after) != len(before)+len(planted) {
		t.Errorf("%d problems before, %d after %d damages", len(before), len(after), len(planted))
	}
	for where := range planted {
		if !slices.ContainsFunc(after, func(p Problem) bool { return p.where() == where }) {
			t.Errorf("the damage at %s is not found", where)
		}
	}
}
