package qrels

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/train/device"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	must.Do(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

const solution = "id,images,Usage\nq1,a c,Private\nq2,b,Public\nq3,None,Ignored\n"

func TestEveryKindOfFileIsRead(t *testing.T) {
	gallery := []string{"a", "b", "c", "d"}
	const J = device.AbsentLevel
	for _, c := range []struct {
		name, text, usage string
		levels            []string
		want              [3][]byte // of q1, q2, q3
		unjudged, missing int
	}{
		{"x.json", `{"q1": {"positives": ["a"], "junk": ["c", "elsewhere"]}, "q2": {"positives": ["b", "lost"]}}`, "",
			[]string{"relevant"}, [3][]byte{{1, 0, J, 0}, {0, 1, 0, 0}, {0, 0, 0, 0}}, 1, 1},
		{"x.csv", solution, "", []string{"relevant"}, [3][]byte{{1, 0, 1, 0}, {0, 1, 0, 0}, {0, 0, 0, 0}}, 1, 0},
		{"x.csv", solution, "private", []string{"relevant"}, [3][]byte{{1, 0, 1, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}}, 2, 0},
		{"x.csv", solution, "public", []string{"relevant"}, [3][]byte{{0, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 0, 0}}, 2, 0},
		{"x.qrels", "q1 0 a 2\nq1 0 b 0\n\nq1 0 c -2\nq2 Q0 b 1\n", "", []string{"relevance>=2", "relevance>=1"},
			[3][]byte{{2, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 0, 0}}, 1, 0},
		{"bom.qrels", "\ufeffq1 0 a 1\r\nq2 0 b 1\r\n", "", []string{"relevant"}, // as Excel and PowerShell write it
			[3][]byte{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 0, 0}}, 1, 0},
		{"wide.qrels", "\xff\xfeq\x001\x00 \x000\x00 \x00a\x00 \x001\x00\n\x00", "", []string{"relevant"},
			[3][]byte{{1, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}}, 2, 0},
		{"bom.json", "\ufeff" + `{"q1": {"positives": ["a"]}}`, "", []string{"relevant"},
			[3][]byte{{1, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}}, 2, 0},
	} {
		q, err := Read(write(t, c.name, c.text), c.usage)
		must.Do(t, err)
		truth, err := q.Bind([]string{"q1", "q2", "q3"}, gallery)
		must.Do(t, err)
		if !slices.Equal(q.Levels(), c.levels) || truth.Unjudged != c.unjudged || truth.Missing != c.missing {
			t.Errorf("%s: levels %q, %d unjudged, %d missing", c.text, q.Levels(), truth.Unjudged, truth.Missing)
		}
		for i, want := range c.want {
			got := []byte{9, 9, 9, 9}
			if truth.Shared(got, i); !slices.Equal(got, want) {
				t.Errorf("%s %s: query %d has %v, want %v", c.text, c.usage, i, got, want)
			}
		}
	}
}

func TestOddFilesAreErrors(t *testing.T) {
	for want, file := range map[string][3]string{
		"line 1 has 3 columns":                 {"x.qrels", "q 0 a\n", ""},
		"line 2 has more than 65536 bytes":     {"x.qrels", "q 0 a 1\nq 0 " + strings.Repeat("a", 1<<17) + " 1\n", ""},
		`line 2: relevance is "x"`:             {"x.qrels", "q 0 a 1\nq 0 b x\n", ""},
		`relevance is "900", want a`:           {"x.qrels", "q 0 a 900\n", ""},
		`line 2: query "q" has two judgements`: {"x.qrels", "q 0 a 1\nq 0 a 1\n", ""},
		"no query has a positive":              {"x.qrels", "q 0 a 0\n", ""},
		"its columns are id, labels, want id":  {"x.csv", "id,labels\n", ""},
		"want id, images and Usage":            {"x.csv", "", ""},
		`Usage is "Secret", want Public`:       {"x.csv", "id,images,Usage\nq,a,Secret\n", ""},
		"two judgements of item":               {"x.json", `{"q": {"positives": ["a"], "junk": ["a"]}}`, ""},
		`want {"query"`:                        {"x.json", `[1]`, ""},
		`unknown field "easy"`:                 {"x.json", `{"q": {"easy": ["a"]}}`, ""},
		"only a .csv with a column Usage has":  {"x.json", `{}`, "public"},
		"its part is \"public\", want easy":    {"x.pkl", "\x80\x02}.", "public"},
		"want the ground truth of Revisited":   {"x.pkl", "\x80\x02}.", "easy"},
		"x.pkl: torch.save: neither":           {"x.pkl", "", "easy"},
	} {
		if _, err := Read(write(t, file[0], file[1]), file[2]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	q, err := Read(write(t, "x.qrels", "q 0 a 1\n"), "")
	must.Do(t, err)
	for want, ids := range map[string][2][]string{
		"no column id":                 {nil, {"a"}},
		"have the same id":             {{"q"}, {"a", "a"}},
		"the judgements use other ids": {{"q"}, {"b"}},
	} {
		if _, err := q.Bind(ids[0], ids[1]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// The protocols decide which rows are right and which are removed.
func TestTheGroundTruthOfRevisitedOxford(t *testing.T) {
	const J = device.AbsentLevel
	for protocol, want := range map[string][2][]byte{
		"easy": {{1, J, 1}, {0, J, 0}}, "medium": {{1, J, 1}, {0, 1, 0}}, "hard": {{J, J, J}, {0, 1, 0}},
	} {
		q, err := Read("../../internal/torchfile/testdata/gnd.pkl", protocol)
		must.Do(t, err)
		truth, err := q.Bind([]string{"q", "r"}, []string{"a", "b", "c"})
		must.Do(t, err)
		for i, w := range want {
			got := []byte{9, 9, 9}
			if truth.Shared(got, i); !slices.Equal(got, w) {
				t.Errorf("%s: query %d has %v, want %v", protocol, i, got, w)
			}
		}
	}
}

// Ids are also paths, as those of folders are.
func TestTheGroundTruthNamesFiles(t *testing.T) {
	q, err := Read("../../internal/torchfile/testdata/gnd.pkl", "hard")
	must.Do(t, err)
	truth, err := q.Bind([]string{"in/q.jpg", "r.jpg"}, []string{"x/a.jpg", "b.png", "c", "y/c.jpg", "z.jpg", "u/z.jpg"})
	must.Do(t, err)
	got := make([]byte, 6)
	if truth.Shared(got, 1); !slices.Equal(got, []byte{0, 1, 0, 0, 0, 0}) || truth.Unjudged != 0 {
		t.Errorf("%v, %d queries without judgement", got, truth.Unjudged)
	}
	_, err = q.Bind([]string{"r"}, []string{"x/b.jpg", "y/b.jpg"})
	if err == nil || !strings.Contains(err.Error(), `several images are called "b"`) {
		t.Errorf("two images of one name: %v", err)
	}
}

// A name has no white space, whatever the id has, and leads back to the row of its id.
func TestNamesLeadBackToTheirRows(t *testing.T) {
	ids := []string{"a b\t100%\n", "", "%", "a%20b", "a b", "caf\u00e9\u00a0\u3000x", "plain", "%25"}
	row, err := Names(ids)
	must.Do(t, err)
	for i, id := range ids {
		name := Name(id)
		if len(strings.Fields(name)) != 1 || strings.Fields(name)[0] != name || row[name] != i {
			t.Errorf("%q is called %q, of row %d", id, name, row[name])
		}
	}
	if Name(ids[0]) != "a%20b%09100%25%0A" || row["plain"] != 6 {
		t.Errorf("names %q, plain is row %d", Name(ids[0]), row["plain"])
	}
	if _, err := Names([]string{"x", "y", "x"}); err == nil || !strings.Contains(err.Error(), `rows 0 and 2 have the same id, "x"`) {
		t.Errorf("an id that is there twice: %v", err)
	}
	other, err := Names([]string{"a%20b"}) // a file of another program has the id itself
	if err != nil || other["a%20b"] != 0 {
		t.Errorf("%v, %v", other, err)
	}
}
