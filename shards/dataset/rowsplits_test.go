package dataset

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/must"
)

// Test samples of one TAR file are no training images, whatever the file is called.
func TestSamplesOfWebDatasetNameTheirSplits(t *testing.T) {
	for _, c := range []struct {
		name     string
		values   []string // of the field split, as JSON; "": there is none
		settings Settings
		splits   string // or
		fails    string
		note     string
	}{
		{name: "data.tar", values: []string{`"train"`, `"test"`, `"Validation"`}, splits: "train test val"},
		{name: "data.tar", values: []string{"", "null", `"nan"`}, splits: "train train train"},
		{name: "test-0.tar", values: []string{"", "", ""}, splits: "test test test"},
		{name: "test-0.tar", values: []string{`"test"`, `"test"`, `"test"`}, splits: "test test test"},
		{name: "data.tar", values: []string{"1", "2", "[3]"}, splits: "train train train",
			note: `data.tar: split is not read: "1" is no split`},
		{name: "data.tar", values: []string{`"test"`, "", `"val"`}, fails: "sample 1: split is empty, and that of sample 0 is test"},
		{name: "data.tar", values: []string{`"test"`, "7", `"val"`}, fails: `sample 1: split is "7", which is no split`},
		{name: "train.tar", values: []string{`"train"`, `"test"`, `"val"`},
			fails: "sample 1: split is test, but the name of the file says train"},
		{name: "train.tar", values: []string{`"train"`, `"test"`, `"val"`},
			settings: Settings{SplitFolders: []string{"train=train"}}, splits: "train train train"},
		{name: "data.tar", values: []string{`"a"`, `"b"`, `"c"`}, settings: Settings{Columns: Columns{Split: "part"}},
			fails: "sample 0: part is empty; want one of [train"},
	} {
		var members []string
		for i, value := range c.values {
			field := ""
			if value != "" {
				field = `, "split": ` + value
			}
			members = append(members, fmt.Sprintf("%d.jpg", i), "x", fmt.Sprintf("%d.json", i), `{"cls": 1`+field+`}`)
		}
		c.settings.Input = filepath.Join(t.TempDir(), c.name)
		tarOf(t, c.settings.Input, members...)
		src, err := WebDataset{}.Open(t.Context(), c.settings)
		if c.fails != "" {
			wantError(t, err, c.name+": "+c.fails)
			continue
		}
		if err != nil {
			t.Errorf("%s %q: %v", c.name, c.values, err)
			continue
		}
		var splits []string
		for item, err := range src.Items(t.Context()) {
			must.Do(t, err)
			splits = append(splits, string(item.Split))
		}
		if got := strings.Join(splits, " "); got != c.splits {
			t.Errorf("%s %q: %s, want %s", c.name, c.values, got, c.splits)
		}
		if notes := src.(*webSource).notes; c.note != "" && !slices.Contains(notes, c.note) {
			t.Errorf("%s: notes %q, want %q", c.name, notes, c.note)
		}
		if err := src.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A member names the split, too, and another field where somebody says so.
func TestAMemberOfWebDatasetNamesASplit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data.tar")
	tarOf(t, path, "1.jpg", "x", "1.cls", "1", "1.split", "test\n", "1.json", `{"part": "val"}`)
	for column, want := range map[string]string{"": `data.tar/1.jpg test ["1"] x`, "part": `data.tar/1.jpg val ["1"] x`} {
		src := must.Get(WebDataset{}.Open(t.Context(), Settings{Input: path, Columns: Columns{Split: column}}))(t)
		if got := described(t, src); !slices.Equal(got, []string{want}) {
			t.Errorf("%q, want %q", got, want)
		}
		if err := src.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A ClassLabel of splits names them, and is no level beside the only other one.
func TestAClassLabelOfParquetNamesSplits(t *testing.T) {
	features := strings.Replace(hubFeatures, `["fruit", "vegetable"]`, `["train", "test"]`, 1)
	input := tree{"a.parquet": hubFile(t, features, hubRows(t, 0)[:3])}.folder(t)
	got, err := items(t, Parquet{}, Settings{Input: input, Columns: Columns{Split: "coarse_label"}})
	want := []string{"a.parquet/0/0.jpg train apple", "a.parquet/1/1.jpg train pear", "a.parquet/2/2.jpg test carrot"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, got %q, want %q", err, got, want)
	}
}
