package format

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/labels"
)

// hostileNames are what files and spreadsheets take for something else.
var hostileNames = []string{
	"=SUM(A1:A3)", "=1+1", "+49", "-", "@home", "'=quoted", "''+twice", "'plain", "#REF!", "#N/A", "1889", "1 222,00",
	"1e5", "12.5",
	"\u00a0no break", "no\u00a0break", "thin\u202fspace", " led", "behind ", "two  spaces", "tab\there", "\tled by a tab",
	"line\nbreak", "\nled by a break",
	"return\rhere", "both\r\nof them", `"quoted"`, `half "a quote`, `back\slash`, `\"`, "a,b", "a;b;c", ";", ",",
	"<b>&amp;</b>", "group", "group,parent,landmarks", "landmark_id",
	"snake_case", "\ufeffmarked", "zero\u200bwidth", "e\u0301", "é", "Église", "大聖堂", "🏛", "line\u2028separator",
	"next\u0085line", "\x7f", "\x01", "%20", "a/b#c?d", "(no group)", "Unnamed", "@prefix", "{}", "[", "null", "true",
	"- item", "# comment", "...", ".", "'", `"`,
}

// hostile is a curation of random names, notes and reasons.
func hostile(seed uint64) *Document {
	r := rand.New(rand.NewPCG(seed, 3))
	names := slices.Clone(hostileNames)
	r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	text := func() string { return []string{"", hostileNames[r.IntN(len(hostileNames))]}[r.IntN(2)] }
	groups := 1 + r.IntN(6)
	d := &Document{Landmarks: []map[string]int{{}, {}},
		Hierarchy: &labels.Hierarchy{Version: labels.HierarchyVersion, Levels: []labels.Level{
			{Name: "tag"}, {Name: "supercategory"},
			{Name: "kind", Classes: []labels.Class{{Name: "human-made", Parent: -1}, {Name: text() + "nature", Parent: -1}}}}}}
	for i, name := range names[:groups] {
		d.Hierarchy.Levels[1].Classes = append(d.Hierarchy.Levels[1].Classes,
			labels.Class{Name: name, Parent: int32(i % 2), Note: text()})
	}
	for i, name := range names[groups:] {
		c := labels.Class{Name: name, Parent: int32(r.IntN(groups+1)) - 1, Note: text()}
		if i < groups { // a group without members is no group for some formats
			c.Parent = int32(i)
		}
		if c.Parent < 0 && r.IntN(2) == 0 {
			c.Dropped = text() + "no landmark"
		}
		if r.IntN(2) == 0 {
			c.QID = fmt.Sprintf("Q%d", 1+i)
		}
		n := r.IntN(5000)
		d.Landmarks[0][name] = n
		if c.Parent >= 0 {
			d.Landmarks[1][names[c.Parent]] += n
		}
		d.Hierarchy.Levels[0].Classes = append(d.Hierarchy.Levels[0].Classes, c)
	}
	return d
}

// A file of zero bytes, as a crash leaves it, is not read as a list of groups, and neither is any
// other file that is not text.
func TestBinaryFilesAreRejected(t *testing.T) {
	for data, want := range map[string]string{
		string(make([]byte, 6808)):         "lost.csv: all of its 6808 bytes are zero: the file is damaged",
		"church\nhill\n\x00\x00\x00":       "lost.csv:3: contains a zero byte",
		"c\x00h\x00u\x00r\x00c\x00h\x00":   "lost.csv:1: contains a zero byte: the file is damaged, or not in UTF-8",
		"group,parent\nkirche,\nb\xe4r,\n": `lost.csv:3: "b\xe4r" is not UTF-8`,
		"\xff\xfe\x01":                     `lost.csv:1: "\xff\xfe\x01" is not UTF-8`,
	} {
		d, err := Read([]byte(data), "lost.csv", "", labels.ReadOptions{})
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.20q was read as %+v, error %v; want %s", data, d, err, want)
		}
		list, err := lintFile([]byte(data), "lost.csv", "", labels.ReadOptions{}, nil)
		if err != nil || len(list) == 0 || list[0].Warning {
			t.Errorf("lint of %.20q: %v, %v; want an error", data, list, err)
		}
	}
}

// Whatever labels are called: what a format holds comes back from it, byte for
// byte, and the file is taken for what it is.
func TestHostileNamesRoundTripThroughEveryFormat(t *testing.T) {
	for seed := range uint64(60) {
		d := hostile(seed)
		must.Do(t, d.Hierarchy.Check())
		for _, format := range []string{"hierarchy", "skos", "draft", "sheet", "groups"} {
			file := write(t, d, format)
			if got := Detect(file); got != format {
				t.Errorf("seed %d: a file of %s is taken for %s:\n%.100s", seed, format, got, file)
				continue
			}
			back, err := Read(file, "x", format, labels.ReadOptions{})
			if err != nil {
				t.Errorf("seed %d, %s: %v", seed, format, err)
				continue
			}
			if again := write(t, back, format); !bytes.Equal(again, file) {
				t.Errorf("seed %d, %s: written again\n%q\nwant\n%q", seed, format, again, file)
			}
			switch format {
			case "hierarchy", "skos":
				if !reflect.DeepEqual(back.Hierarchy, d.Hierarchy) {
					t.Errorf("seed %d, %s:\n%+v, want\n%+v", seed, format, back.Hierarchy, d.Hierarchy)
				}
			case "groups":
				for i, c := range d.Hierarchy.Levels[1].Classes {
					got := back.Hierarchy.Levels[1].Classes[i]
					if got.Name != c.Name ||
						back.Hierarchy.Levels[2].Classes[got.Parent].Name !=
							d.Hierarchy.Levels[2].Classes[c.Parent].Name || back.count(1)[c.Name] != d.count(1)[c.Name] {
						t.Errorf("seed %d: group %+v, want %+v", seed, got, c)
					}
				}
			default:
				sameMembers(t, seed, format, d, back)
			}
		}
	}
}

// A file that hgld has written has no errors, whatever its names look like.
func TestLintAcceptsWrittenFiles(t *testing.T) {
	for seed := range uint64(60) {
		d := hostile(seed)
		for _, format := range []string{"hierarchy", "skos", "draft", "sheet", "groups"} {
			list := must.Get(lintFile(write(t, d, format), "x", "", labels.ReadOptions{}, nil))(t)
			for _, p := range list {
				if !p.Warning {
					t.Errorf("seed %d, %s: %v", seed, format, p)
				}
			}
		}
	}
	var table bytes.Buffer
	records := []labels.Record{{Landmark: 1, Split: labels.Train, Category: "http://commons.wikimedia.org/wiki/Category:A",
		Outcome: labels.OK, Tag: "chapel"}}
	d := &Document{Hierarchy: &labels.Hierarchy{Version: labels.HierarchyVersion, Levels: []labels.Level{
		{Name: "tag", Classes: []labels.Class{{Name: "chapel"}}},
		{Name: "supercategory", Classes: []labels.Class{{Name: "church"}}},
		{Name: "kind", Classes: []labels.Class{{Name: "human-made", Parent: -1}}}}}}
	must.Do(t, d.LabelBy(records))
	if _, err := d.Write(&table, "labels"); err != nil {
		t.Fatal(err)
	}
	if list, err := lintFile(table.Bytes(), "labels.csv", "", labels.ReadOptions{}, nil); err != nil || len(list) > 0 {
		t.Errorf("labels: %v, %v", list, err)
	}
}

// sameMembers holds the tags of groups against one another.
func sameMembers(t *testing.T, seed uint64, format string, want, got *Document) {
	t.Helper()
	members := func(d *Document) map[row]int {
		of := map[row]int{}
		for _, r := range rowsOf(d.Hierarchy) {
			if r.group != "" && r.group != looseCluster && r.group != "("+looseCluster+")" {
				of[row{tag: r.tag, group: r.group}] = d.count(0)[r.tag]
			}
		}
		return of
	}
	if w, g := members(want), members(got); !reflect.DeepEqual(w, g) {
		t.Errorf("seed %d, %s:\n%+v, want\n%+v", seed, format, g, w)
	}
}
