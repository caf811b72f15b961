package labels

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"

	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
)

const kmuFile = "KMU_index_label_to_hierarchical_3col.csv"

func realIndexLabels(tb testing.TB) []byte {
	tb.Helper()
	data := must.Get(os.ReadFile(goldens.Shared(tb, "data", "wikimedia", "gldv2", kmuFile)))(tb)
	return data
}

// readCSV is Read for a file that is known to be a CSV.
func readCSV(r io.Reader, name string, o ReadOptions) (*Table, error) {
	table, err := ParseCSV(r, name, o)
	if err != nil {
		return nil, err
	}
	return table, table.Build()
}

func mustRead(tb testing.TB, text, name string) *Table {
	tb.Helper()
	t := must.Get(readCSV(strings.NewReader(text), name, ReadOptions{}))(tb)
	return t
}

func mustWrite(tb testing.TB, t *Table, form Form) string {
	tb.Helper()
	var b bytes.Buffer
	must.Do(tb, t.Write(&b, form))
	return b.String()
}

// The 55,529 published index labels have 78 supercategories, each either natural or human-made,
// with the counts of hierarchical_labels_78_index_counts. They are written byte for byte as they
// were read.
func TestRealIndexLabels(t *testing.T) {
	data := realIndexLabels(t)
	table := mustRead(t, string(data), kmuFile)
	if len(table.Rows) != 55529 || table.form != ThreeColumnForm || table.Rows[0].Split != Index {
		t.Fatalf("%d rows of form %s, split %s", len(table.Rows), table.form, table.Rows[0].Split)
	}
	if got := mustWrite(t, table, ""); got != string(data) {
		t.Error("written again, the file differs")
	}
	stats := table.Stats(nil)
	if n := stats.Levels[1].Classes; n != 78 {
		t.Errorf("%d supercategories, want 78", n)
	}
	if k := stats.Levels[2].Largest; len(k) != 2 || k[0] != (ClassStats{"human-made", "", 42199, 0}) ||
		k[1] != (ClassStats{"natural", "", 13330, 0}) {
		t.Errorf("kinds %+v", k)
	}
	got := map[string]ClassStats{}
	for _, c := range stats.Levels[1].Largest {
		got[c.Name] = c
	}
	counts, err := os.Open(goldens.Shared(t, "data", "wikimedia", "gldv2", "hierarchical_labels_78_index_counts.csv"))
	must.Do(t, err)
	defer counts.Close()
	s := must.Get(readSheet(counts, "counts.csv"))(t)
	if len(s.rows) != 78 {
		t.Errorf("%d rows, want 78", len(s.rows))
	}
	for _, row := range s.rows {
		n := must.Get(strconv.Atoi(row.fields[2]))(t)
		if want := (ClassStats{row.fields[0], row.fields[1], n, 0}); got[want.Name] != want {
			t.Errorf("got %+v, want %+v", got[want.Name], want)
		}
	}
	problems := table.Check()
	if len(problems) != 1 || !problems[0].Warning || !strings.Contains(problems[0].Text, `class "ocean area " begins or ends with white space`) {
		t.Errorf("problems %v, want a warning for the published name %q alone", problems, "ocean area ")
	}
}

// Every conversion between forms with the same facts keeps all 55,529 labels.
func TestRealIndexLabelsSurviveEveryForm(t *testing.T) {
	table := mustRead(t, string(realIndexLabels(t)), kmuFile)
	for _, form := range []Form{HierarchicalForm, ClustersForm, LevelsForm, JSONForm} {
		t.Run(string(form), func(t *testing.T) {
			text := mustWrite(t, table, form)
			other := must.Get(Read(strings.NewReader(text), "index.csv", ReadOptions{}))(t)
			c := must.Get(Compare(table, other))(t)
			if c.Same != 55529 || !c.Equal() {
				t.Errorf("%d equal labels of %d, want 55529 of 55529", c.Same, c.Both)
			}
		})
	}
}

func TestRealImageCounts(t *testing.T) {
	const name = "KMU_index_image_to_landmark_008.csv"
	f := must.Get(os.Open(goldens.Shared(t, "data", "wikimedia", "gldv2", name)))(t)
	defer f.Close()
	counts := must.Get(ReadImageCounts(f, name, ReadOptions{}))(t)
	sum := 0
	for _, n := range counts {
		sum += n
	}
	if sum != 68482 || counts[LandmarkKey{Index, 3461}] == 0 {
		t.Errorf("%d images, %d of index landmark 3461; want 68482 and at least 1", sum, counts[LandmarkKey{Index, 3461}])
	}
}

func TestFormIsFoundFromTheHeader(t *testing.T) {
	for name, want := range map[string]Form{
		"published five columns": HierarchicalForm, "three columns, CRLF": ThreeColumnForm,
		"no line end at the end": ClustersForm,
		"byte order mark":        CategoryForm, "levels": LevelsForm, "levels alone": LevelsForm,
		"index column of pandas": ClustersForm,
	} {
		if got := mustRead(t, csvTexts[name], "train.csv").form; got != want {
			t.Errorf("%s: form %s, want %s", name, got, want)
		}
	}
}

func TestSplitOfAFile(t *testing.T) {
	const text = "landmark_id,category\n5,u\n"
	const withColumn = "landmark_id,split,category\n5,index,u\n"
	for name, c := range map[string]struct {
		text, file string
		asked      Split
		want       Split
		fails      string
	}{
		"train name":         {text, "/data/train_label_to_category.csv", "", Train, ""},
		"index name":         {text, kmuFile, "", Index, ""},
		"windows path":       {text, `C:\train\index_labels.csv`, "", Index, ""},
		"asked":              {text, "labels.csv", Query, Query, ""},
		"column":             {withColumn, "labels.csv", "", Index, ""},
		"column before name": {withColumn, "train.csv", "", Index, ""},
		"name agrees":        {text, "train.csv", Train, Train, ""},
		"nothing": {text, "labels.csv", "", "",
			"labels.csv: the split of this file is unknown; train and index number their landmarks separately"},
		"two in the name": {text, "train_index.csv", "", "", "train_index.csv: the split of this file is unknown"},
		"part of a word":  {text, "training_labels.csv", "", "", "training_labels.csv: the split of this file is unknown"},
		"name against asked": {text, "index_label_to_hierarchical.csv", Train, "",
			"the name says split index, but train was asked for; their landmark ids are different id spaces"},
		"column against asked": {withColumn, "labels.csv", Train, "",
			"labels.csv:2: split is index, but train was asked for"},
		"unknown": {text, "labels.csv", "Train", "", `unknown split "Train"`},
	} {
		t.Run(name, func(t *testing.T) {
			table, err := readCSV(strings.NewReader(c.text), c.file, ReadOptions{Split: c.asked})
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Fatalf("error %v, want %s", err, c.fails)
				}
				if other := (*SplitAskedError)(nil); errors.As(err, &other) != strings.HasSuffix(name, "against asked") {
					t.Errorf("error %T", err)
				}
				return
			}
			if err != nil || table.Rows[0].Split != c.want {
				t.Fatalf("%v, want split %s", err, c.want)
			}
		})
	}
	_, err := readCSV(strings.NewReader(text), "labels.csv", ReadOptions{})
	if unknown := (*SplitUnknownError)(nil); !errors.As(err, &unknown) {
		t.Errorf("error %T, want *SplitUnknownError", err)
	}
}

func TestPathsOfGLDv2AreLandmarkSupercategoryKind(t *testing.T) {
	table := mustRead(t, csvTexts["published five columns"], "train.csv")
	h := table.Hierarchy
	if got := strings.Join(table.Levels, " "); got != "landmark supercategory kind" {
		t.Fatalf("levels %s", got)
	}
	if got := strings.Join(h.Names(table.Rows[2].Path), "|"); got != "train/4|ocean area |natural" {
		t.Errorf("row 2 is %s", got)
	}
	if p := table.Rows[1].Path; p[0] != 1 || p[1] != -1 || p[2] != -1 {
		t.Errorf("the landmark without label has path %v, want [1 -1 -1]", p)
	}
	if table.Rows[0].Tag != "horse racing venue" {
		t.Errorf("tag %q: the published column supercategory holds the raw tag", table.Rows[0].Tag)
	}
	if err := h.Check(); err != nil {
		t.Error(err)
	}
	if got := len(h.Unassigned()); got != 1 {
		t.Errorf("%d landmarks without label, want 1", got)
	}
}

func TestWriteCSVInAnotherForm(t *testing.T) {
	five := mustRead(t, csvTexts["published five columns"], "train.csv")
	for _, c := range []struct {
		form Form
		want string
	}{
		{ThreeColumnForm, "landmark_id,hierarchical_label,natural_or_human_made\n0,sports venue,human-made\n3,,\n4,ocean " +
			"area ,natural\n"},
		{ClustersForm, "landmark_id,cluster,overall_cluster\n0,sports venue,human-made\n3,,\n4,ocean area ,natural\n"},
	} {
		if got := mustWrite(t, five, c.form); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.form, got, c.want)
		}
	}
	if got := mustWrite(t, five.Labelled(), ThreeColumnForm); strings.Contains(got, "\n3,") {
		t.Errorf("Labelled keeps a landmark without label:\n%s", got)
	}
	levels := mustRead(t, "split,landmark_id,level_0,level_1\ntrain,1,a,x\n", "l.csv")
	err := WriteCSV(new(bytes.Buffer), levels, HierarchicalForm)
	if err == nil || !strings.Contains(err.Error(), "these labels have 2 (level_0, level_1): write the form levels") {
		t.Errorf("error %v", err)
	}
	if err := WriteCSV(new(bytes.Buffer), levels, "xml"); err == nil {
		t.Error("wrote the form xml")
	}
	both := mustRead(t, "landmark_id,split,hierarchical_label,natural_or_human_made\n5,train,lake,natural\n"+
		"5,index,zoo,human-made\n", "l.csv")
	if got, want := mustWrite(t, both, ClustersForm),
		"landmark_id,cluster,overall_cluster,split\n5,lake,natural,train\n5,zoo,human-made,index\n"; got != want {
		t.Errorf("two splits:\n%s\nwant\n%s", got, want)
	}
}

func TestWriteCSVRefusesInvalidTables(t *testing.T) {
	for _, text := range []string{"Vi\xf1a", "a\x00", strings.Repeat("x", maxLine+1)} {
		table := mustRead(t, csvTexts["three columns, CRLF"], "train.csv")
		table.Rows[0].Names[1] = text
		for _, form := range []Form{"", ClustersForm} {
			if err := WriteCSV(new(bytes.Buffer), table, form); err == nil ||
				!strings.Contains(err.Error(), "row 1 of the CSV: field") {
				t.Errorf("%.5q as %q: error %v", text, form, err)
			}
		}
	}
}

func BenchmarkReadCSV(b *testing.B) {
	data := realIndexLabels(b)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := readCSV(bytes.NewReader(data), kmuFile, ReadOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWriteCSV(b *testing.B) {
	data := realIndexLabels(b)
	table := mustRead(b, string(data), kmuFile)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		must.Do(b, WriteCSV(new(bytes.Buffer), table, ""))
	}
}
