package format

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
	"hgld/labels"
)

// church is a curation of nine tags with all that a hierarchy can hold. Names have
// what files and spreadsheets lose.
func church() *Document {
	tags := []labels.Class{
		{Name: "lake", QID: "Q23397", Parent: 1},
		{Name: "bay", QID: "Q39594", Parent: 2, Note: "also a window; \"bay window\" is another\nitem"},
		{Name: "church building", QID: "Q16970", Parent: 0},
		{Name: "neighborhood  park", Parent: 1},
		{Name: "reservoir", Parent: 1},
		{Name: "chapel, ruined \"old\"", Parent: 0},
		{Name: "building", QID: "Q41176", Parent: -1, Dropped: "too generic"},
		{Name: "Straße\tund <Platz> & \\ 大聖堂", Parent: 0},
		{Name: "tower", Parent: -1},
	}
	return &Document{
		Hierarchy: &labels.Hierarchy{Version: labels.HierarchyVersion, Origin: []byte(`{"tool":"hgld"}`),
			Levels: []labels.Level{
				{Name: "tag", Classes: tags},
				{Name: "supercategory", Classes: []labels.Class{{Name: "church", Parent: 0}, {Name: "lake", Parent: 1},
					{Name: "ocean area ", Parent: 1, Note: "its space is published"}, {Name: "castle / fort", Parent: 0}}},
				{Name: "kind", Classes: []labels.Class{{Name: "human-made", Parent: -1}, {Name: "natural", Parent: -1}}},
			}},
		Landmarks: []map[string]int{
			{"lake": 1320, "bay": 34, "church building": 9034, "neighborhood  park": 2, "reservoir": 0,
				"chapel, ruined \"old\"": 1222, "building": 22, "Straße\tund <Platz> & \\ 大聖堂": 1, "tower": 19},
			{"church": 10257, "lake": 1322, "ocean area ": 34},
		},
	}
}

func write(t *testing.T, d *Document, format string) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := d.Write(&b, format); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func read(t *testing.T, data []byte, name string) *Document {
	t.Helper()
	d := must.Get(Read(data, name, "", labels.ReadOptions{}))(t)
	return d
}

// row is a tag as any format may hold it; order is that of the file.
type row struct{ tag, qid, group, kind, dropped, note string }

func rowsOf(h *labels.Hierarchy) []row {
	var rows []row
	for i, c := range h.Levels[0].Classes {
		r := row{tag: c.Name, qid: c.QID, dropped: c.Dropped, note: c.Note}
		if p := h.PathOf(int32(i)); c.Parent >= 0 {
			names := append(h.Names(p), "")
			r.group, r.kind = names[1], names[2]
		}
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b row) int { return strings.Compare(a.tag, b.tag) })
	return rows
}

// What a format can hold comes back from it, and what it gives back it writes the
// same again; what it cannot hold, it says.
func TestExportAndImportRoundTrip(t *testing.T) {
	for _, c := range []struct {
		format string
		keep   func(*row) bool
		lost   string
	}{
		{"hierarchy", nil, "9 counts of landmarks"},
		{"skos", nil, ""},
		{"draft", func(r *row) bool {
			if r.group == "" {
				r.group = looseCluster
			}
			r.kind, r.dropped, r.note = "", "", ""
			return true
		}, "1 dropped tag with its reason; 2 notes; 2 classes above the groups; 1 group without members"},
		{"sheet", func(r *row) bool {
			*r = row{tag: r.tag, group: r.group}
			return r.group != ""
		}, "4 Wikidata items; 1 dropped tag with its reason; 1 tag without a group; 2 notes; 2 classes above the groups"},
		{"groups", func(*row) bool { return false }, "9 tags; 4 Wikidata items; 2 notes"},
	} {
		t.Run(c.format, func(t *testing.T) {
			var b bytes.Buffer
			lost := must.Get(church().Write(&b, c.format))(t)
			if got := strings.Join(lost, "; "); got != c.lost {
				t.Errorf("lost %q, want %q", got, c.lost)
			}
			if got := Detect(b.Bytes()); got != c.format {
				t.Fatalf("the file is taken for %s", got)
			}
			back := read(t, b.Bytes(), "x")
			want := rowsOf(church().Hierarchy)
			if c.keep != nil {
				want = slices.DeleteFunc(want, func(r row) bool { return !c.keep(&r) })
				for i := range want {
					c.keep(&want[i])
				}
			}
			if got := rowsOf(back.Hierarchy); !slices.Equal(got, want) {
				t.Errorf("tags\n%q\nwant\n%q", got, want)
			}
			if again := write(t, back, c.format); !bytes.Equal(again, b.Bytes()) {
				t.Errorf("written again:\n%s\nwant\n%s", again, b.Bytes())
			}
		})
	}
}

func TestSKOSKeepsTheWholeHierarchy(t *testing.T) {
	d := church()
	back := read(t, write(t, d, "skos"), "x.ttl")
	if !reflect.DeepEqual(back.Hierarchy, d.Hierarchy) {
		t.Errorf("hierarchy\n%+v\nwant\n%+v", back.Hierarchy, d.Hierarchy)
	}
	if !maps.Equal(back.Landmarks[0], d.Landmarks[0]) || !maps.Equal(back.Landmarks[1], d.Landmarks[1]) {
		t.Errorf("landmarks %v", back.Landmarks)
	}
}

// The 55,529 published rows of the index split come out byte for byte, CRLF line
// ends and all; and they say the 78 groups.
func TestPublishedLabelsAreWrittenByteForByte(t *testing.T) {
	path := goldens.Shared(t, "data", "wikimedia", "gldv2", "KMU_index_label_to_hierarchical_3col.csv")
	data := must.Get(os.ReadFile(path))(t)
	d := read(t, data, path)
	if d.read != "labels" || len(d.Table.Rows) != 55529 {
		t.Fatalf("read as %s, %d rows", d.read, len(d.Table.Rows))
	}
	if got := write(t, d, "labels"); !bytes.Equal(got, data) {
		t.Error("written again, the file differs")
	}
	if n, m := len(d.Hierarchy.Levels[0].Classes), len(d.Hierarchy.Levels[1].Classes); n != 0 || m != 78 {
		t.Errorf("%d tags and %d groups, want 0 and 78", n, m)
	}
	// The same list as hierarchical_labels_78_index_counts.csv has, counted from the rows.
	list, err := os.ReadFile(goldens.Shared(t, "data", "wikimedia", "gldv2", "hierarchical_labels_78_index_counts.csv"))
	must.Do(t, err)
	groups := read(t, list, "78.csv")
	if groups.read != "groups" || !maps.Equal(groups.Landmarks[1], d.Landmarks[1]) {
		t.Errorf("the list is read as %s; its counts differ from the rows", groups.read)
	}
	parents := func(d *Document) map[string]string {
		of := map[string]string{}
		for _, c := range d.Hierarchy.Levels[1].Classes {
			of[c.Name] = d.Hierarchy.Levels[2].Classes[c.Parent].Name
		}
		return of
	}
	if !maps.Equal(parents(groups), parents(d)) {
		t.Error("the list puts groups under other kinds than the rows")
	}
}

const fiveColumns = "landmark_id,category,supercategory,hierarchical_label,natural_or_human_made\r\n" +
	"1,http://commons.wikimedia.org/wiki/Category:A,church building,church,human-made\r\n" +
	"2,\"http://commons.wikimedia.org/wiki/Category:B,_C\",neighborhood  park,parks,natural\r\n" +
	"7,http://commons.wikimedia.org/wiki/Category:D,bay,ocean area ,natural\r\n" +
	"9,http://commons.wikimedia.org/wiki/Category:E,church building,church,human-made"

func TestFiveColumnsAreWrittenByteForByte(t *testing.T) {
	d := read(t, []byte(fiveColumns), "train_labels.csv")
	if got := write(t, d, "labels"); string(got) != fiveColumns {
		t.Errorf("written again:\n%q", got)
	}
	want := []row{{tag: "bay", group: "ocean area ", kind: "natural"},
		{tag: "church building", group: "church", kind: "human-made"},
		{tag: "neighborhood  park", group: "parks", kind: "natural"}}
	if got := rowsOf(d.Hierarchy); !slices.Equal(got, want) {
		t.Errorf("tags %q, want %q", got, want)
	}
	if n := d.Landmarks[0]["church building"]; n != 2 {
		t.Errorf("church building has %d landmarks, want 2", n)
	}
	_, err := Read([]byte(strings.Replace(fiveColumns, "E,church building,church,", "E,church building,chapel,", 1)),
		"train_labels.csv", "", labels.ReadOptions{})
	if err == nil || !strings.Contains(err.Error(), "train_labels.csv:2") ||
		!strings.Contains(err.Error(), "train_labels.csv:5") {
		t.Errorf("a tag in two groups: error %v, want one that names both lines", err)
	}
}

func TestUnknownFormatSuggestsTheNearest(t *testing.T) {
	if _, err := Read(nil, "x", "skoz", labels.ReadOptions{}); err == nil ||
		!strings.Contains(err.Error(), `did you mean "skos"`) {
		t.Errorf("error %v", err)
	}
}

func TestLabelsNeedLandmarks(t *testing.T) {
	if _, err := church().Write(&bytes.Buffer{}, "labels"); !errors.Is(err, ErrNoLandmarks) {
		t.Errorf("error %v, want ErrNoLandmarks", err)
	}
}

// A list of groups has its own counts of landmarks, which those of the project's draft do not
// replace.
func TestListOfGroupsKeepsItsCounts(t *testing.T) {
	d := read(t, []byte("group,parent,landmarks\nlake,natural,7\n"), "groups.csv")
	d.CountBy(draftOf(church()))
	if n := d.count(1)["lake"]; n != 7 {
		t.Errorf("lake has %d landmarks, want 7", n)
	}
}

func TestOtherFilesOfHgldAreRecognised(t *testing.T) {
	for text, want := range map[string]string{`{"hgld_edits":1,"by":"anna"}` + "\n": EditsFile,
		`{"hgld_tags":1}` + "\n": TagsFile} {
		_, err := Read([]byte(text), "x.jsonl", "", labels.ReadOptions{})
		var other *OtherError
		if !errors.As(err, &other) || !strings.HasPrefix(err.Error(), "x.jsonl: ") || other.Kind != want {
			t.Errorf("%s: error %v, want one of %q", text, err, want)
		}
		if _, err := lintFile([]byte(text), "x.jsonl", "", labels.ReadOptions{}, nil); !errors.As(err, new(*OtherError)) {
			t.Errorf("lint: error %v", err)
		}
	}
}

// A table of tags and their groups is not a list of groups.
func TestTablesOfTagsAreNoListsOfGroups(t *testing.T) {
	for _, heading := range []string{"tag,supercategory", "label,cluster", "category,label", "Tag,Group,count",
		"instance_of,supercategory", "Keyword,Theme,n", "Raw tags,Categories"} {
		_, err := Read([]byte(heading+"\nchapel,church,3\n"), "t.csv", "groups", labels.ReadOptions{})
		if err == nil || !strings.Contains(err.Error(), "t.csv:1: the columns "+
			strings.ReplaceAll(heading, ",", ", ")+" are those of tags and their groups") {
			t.Errorf("%s: %v", heading, err)
		}
	}
	d := must.Get(Read([]byte("label,parent\nchapel,church\n"), "t.csv", "groups", labels.ReadOptions{}))(t)
	if got := d.Groups(); len(got) != 1 || got[0] != "chapel" {
		t.Errorf("a list whose heading has a parent: groups %q", got)
	}
}

// What is SKOS in another syntax is called that.
func TestOtherSyntaxesOfSKOSAreNamed(t *testing.T) {
	for text, want := range map[string]string{`{"@context": {"skos": "http://x"}, "@graph": []}`: "SKOS in JSON-LD",
		"<?xml version=\"1.0\"?>\n<rdf:RDF/>": "SKOS in RDF/XML"} {
		if _, err := Read([]byte(text), "t", "", labels.ReadOptions{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// lintFile lists what is wrong in a file.
func lintFile(data []byte, name, format string, o labels.ReadOptions, draft *labels.Draft) ([]Problem, error) {
	list, _, err := Lint(data, name, format, o, draft)
	return list, err
}
