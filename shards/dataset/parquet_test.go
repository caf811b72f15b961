package dataset

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"hgld/internal/testing/must"
	"hgld/labels"
	"hgld/shards"
)

// hubRow is a row in the layout of CIFAR-100 on Hugging Face.
type hubRow struct {
	Image  *hubImage `parquet:"image,optional"`
	Fine   *int64    `parquet:"fine_label,optional"`
	Coarse *int64    `parquet:"coarse_label,optional"`
	Maker  *string   `parquet:"maker,optional"`
}

type hubImage struct {
	Bytes []byte  `parquet:"bytes,optional"`
	Path  *string `parquet:"path,optional"`
}

const hubFeatures = `{"info": {"features": {"image": {"_type": "Image"},
	"fine_label": {"names": ["apple", "pear", "carrot"], "_type": "ClassLabel"},
	"coarse_label": {"names": ["fruit", "vegetable"], "_type": "ClassLabel"},
	"maker": {"dtype": "string", "_type": "Value"}}}}`

// hubRows are four photographs: apple, pear, carrot and no class.
func hubRows(tb testing.TB, first int) []hubRow {
	rows := make([]hubRow, 4)
	for i := range rows {
		rows[i] = hubRow{Image: &hubImage{picture(tb, first+i), new(fmt.Sprintf("photos/%d.jpg", first+i))},
			Fine: new(int64(i)), Coarse: new(int64(i / 2)), Maker: new([]string{"Ann", "Ben"}[i%2])}
	}
	rows[3].Fine, rows[3].Coarse = new(int64(-1)), nil
	return rows
}

// hubFile writes rows in row groups of three.
func hubFile(tb testing.TB, features string, rows []hubRow) string {
	tb.Helper()
	var out bytes.Buffer
	options := []parquet.WriterOption{parquet.MaxRowsPerRowGroup(3), parquet.Compression(&parquet.Snappy)}
	if features != "" {
		options = append(options, parquet.KeyValueMetadata("huggingface", features))
	}
	must.Do(tb, parquet.Write(&out, rows, options...))
	return out.String()
}

func hubTree(tb testing.TB) tree {
	return tree{
		"data/train-00000-of-00002-a09b74b3ef9c3b56.parquet": hubFile(tb, hubFeatures, hubRows(tb, 0)),
		"data/train-00001-of-00002.parquet":                  hubFile(tb, hubFeatures, hubRows(tb, 4)),
		"data/validation-00000-of-00001.parquet":             hubFile(tb, hubFeatures, hubRows(tb, 8)),
		"README.md":                                          "a card", ".cache/test-00000-of-00001.parquet": "no data",
	}
}

func TestHuggingFaceSetsAreRead(t *testing.T) {
	input := hubTree(t).folder(t)
	var want []string
	for _, file := range []string{"data/train-00000-of-00002-a09b74b3ef9c3b56.parquet train",
		"data/train-00001-of-00002.parquet train", "data/validation-00000-of-00001.parquet val"} {
		name, split, _ := strings.Cut(file, " ")
		for i, classes := range []string{"apple<fruit", "pear<fruit", "carrot<vegetable", ""} {
			want = append(want, fmt.Sprintf("%s/%d/%d.jpg %s %s", name, i, 4*(len(want)/4)+i, split, classes))
		}
	}
	for _, levels := range [][]string{{"fine_label", "coarse_label"}, {"coarse_label", "fine_label"}} {
		got, err := items(t, Parquet{}, Settings{Input: input, Levels: levels})
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("levels %q: %v\ngot  %q\nwant %q", levels, err, got, want)
		}
	}
	got, err := items(t, Parquet{}, Settings{Input: filepath.Join(input, "data", "train-00001-of-00002.parquet"),
		Levels: []string{"maker"}})
	if err != nil || len(got) != 4 || got[1] != "train-00001-of-00002.parquet/1/5.jpg train Ben" {
		t.Errorf("one file, texts as classes: %v, %q", err, got)
	}
}

// The shards hold the bytes of the rows, whichever worker reads them.
func TestShardsHoldTheBytesOfTheRows(t *testing.T) {
	src, err := Parquet{}.Open(t.Context(), Settings{Input: hubTree(t).folder(t), Levels: []string{"fine_label"}})
	must.Do(t, err)
	defer src.Close()
	out := t.TempDir()
	o := shards.Options{Workers: 4}
	o.ImagesPerShard = 2
	if _, err := shards.Build(t.Context(), src, out, o); err != nil {
		t.Fatal(err)
	}
	set := must.Get(shards.Open(t.Context(), out))(t)
	defer set.Close()
	n := 0
	for _, split := range []labels.Split{labels.Train, labels.Val} {
		view := must.Get(set.Split(split))(t)
		for i := range view.Len() {
			data, err := view.Image(t.Context(), i)
			if err != nil || !bytes.Equal(data, picture(t, n)) {
				t.Errorf("row %d of %s is another image than %d (%v)", i, split, n, err)
			}
			n++
		}
	}
	if n != 12 {
		t.Errorf("%d rows, want 12", n)
	}
}

// A row without bytes is a missing image. A row without a file name is named by its number.
func TestRowsWithoutBytesAreMissing(t *testing.T) {
	rows := hubRows(t, 0)
	rows[0].Image.Bytes, rows[1].Image, rows[2].Image.Path = nil, nil, nil
	files := tree{"test.parquet": hubFile(t, hubFeatures, rows)}
	got, err := items(t, Parquet{}, Settings{Input: files.folder(t), Levels: []string{"fine_label"}})
	want := []string{"test.parquet/0/0.jpg test apple missing", "test.parquet/1 test pear missing",
		"test.parquet/2 test carrot", "test.parquet/3/3.jpg test "}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v\ngot  %q\nwant %q", err, got, want)
	}
}

// Without --levels, a single ClassLabel column is the level. Numbers without names are their own
// names.
func TestClassColumnIsFound(t *testing.T) {
	only := strings.ReplaceAll(hubFeatures, `"names": ["fruit", "vegetable"], "_type": "ClassLabel"`, `"_type": "Value"`)
	got, err := items(t, Parquet{}, Settings{Input: tree{"x.parquet": hubFile(t, only, hubRows(t, 0))}.folder(t)})
	if err != nil || len(got) != 4 || got[2] != "x.parquet/2/2.jpg train carrot" {
		t.Errorf("%v, %q", err, got)
	}
	got, err = items(t, Parquet{}, Settings{Input: tree{"x.parquet": hubFile(t, "", hubRows(t, 0))}.folder(t),
		Levels: []string{"fine_label"}, Split: labels.Test})
	if err != nil || len(got) != 4 || got[2] != "x.parquet/2/2.jpg test 2" {
		t.Errorf("%v, %q", err, got)
	}
}

func TestSplitsFollowFileNames(t *testing.T) {
	for _, c := range []struct {
		files, asked string
		want         string // "" expects an error
	}{
		{"train-00000-of-00001 test-00000-of-00001", "", "train test"},
		{"default/train/0000 default/validation/0000", "", "train val"},
		{"0000 0001", "", "train train"},
		{"part-0 part-1", "", "train train"},
		{"train-0 extra-0", "", ""},
		{"train-0 extra-0", "extra=query", "train query"},
		{"a/train-0 b/train-0", "a=gallery,b=query", ""}, // the file's own name counts first
		{"a/0 b/0", "a=gallery,b=query", "gallery query"},
		{"train-0 test-0", "none", "train train"},
		{"images-0", "photos=test", ""},
		{"imagenet_train imagenet_val", "", ""},
		{"imagenet_train imagenet_val", "imagenet_train=train,imagenet_val=val", "train val"},
		{"imagenet_train-00000-of-00001", "", "train"}, // alone, and the default
		{"imagenet_test-00000-of-00001", "", ""},
		{"seg_train/0000 seg_test/0000", "", ""},
		{"x/birds_train/part-0 x/birds_test/part-0", "birds_train=train,birds_test=test", "train test"},
		{"train2017 val2017", "", "train val"}, // numbers at the end number the files
	} {
		var files, asked []string
		for _, f := range strings.Fields(c.files) {
			files = append(files, f+".parquet")
		}
		if c.asked != "" {
			asked = strings.Split(c.asked, ",")
		}
		splits, _, err := fileSplits(files, Settings{SplitFolders: asked})
		if got := strings.Trim(fmt.Sprint(splits), "[]"); got != c.want || (err == nil) == (c.want == "") {
			t.Errorf("%s by %q: %q, %v; want %q", c.files, c.asked, got, err, c.want)
		}
	}
}

// An error names the file, the row or row group, and the next step.
func TestFaultsOfParquetAreNamed(t *testing.T) {
	outside := hubRows(t, 0)
	outside[3].Fine = new(int64(3))
	whole := hubFile(t, hubFeatures, hubRows(t, 0))
	at := strings.Index(whole, "\xff\xd8\xff") // the first image, behind the header of its page
	type noImage struct {
		Label int64 `parquet:"label"`
	}
	var bare bytes.Buffer
	must.Do(t, parquet.Write(&bare, []noImage{{1}}))
	fine := []string{"fine_label"}
	for name, c := range map[string]struct {
		files  tree
		levels []string
		want   []string
	}{
		"no file": {tree{"a.txt": ""}, fine, []string{"no .parquet files found"}},
		"Arrow": {tree{"train/data-00000-of-00001.arrow": "", "train/state.json": ""}, fine,
			[]string{"train/data-00000-of-00001.arrow is a file of Arrow", "to_parquet"}},
		"no class": {tree{"a.parquet": hubFile(t, hubFeatures, outside)}, fine,
			[]string{"a.parquet: fine_label: row 3: class 3", "0 to 2"}},
		"which":   {tree{"a.parquet": whole}, nil, []string{"fine_label, coarse_label", "levels="}},
		"unknown": {tree{"a.parquet": whole}, []string{"fine"}, []string{"a.parquet", `"fine"`, "fine_label"}},
		"no image": {tree{"a.parquet": bare.String()}, []string{"label"},
			[]string{"a.parquet: no column of images among label", "bytes and path"}},
		"no format": {tree{"a.parquet": "a text that is long enough"}, fine, []string{"a.parquet", "not a Parquet file"}},
		"cut":       {tree{"a.parquet": whole[len(whole)/2:]}, fine, []string{"a.parquet"}},
		"metadata": {tree{"a.parquet": hubFile(t, "{", hubRows(t, 0))}, fine,
			[]string{"a.parquet", `"huggingface" is damaged`}},
		"bytes": {tree{"a.parquet": whole[:at-20] + strings.Repeat("\xff", 20) + whole[at:]}, fine,
			[]string{"a.parquet", "row group 0"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := items(t, Parquet{}, Settings{Input: c.files.folder(t), Levels: c.levels})
			wantError(t, err, c.want...)
		})
	}
	for _, s := range []Settings{{Images: "x"}, {Labels: "x"}, {Columns: Columns{ID: "x"}}} {
		if _, err := (Parquet{}).Open(t.Context(), s); err == nil {
			t.Errorf("%+v is taken", s)
		}
	}
}

// The cache drops the least recently used pages, and still returns every image.
func TestPageCacheIsBounded(t *testing.T) {
	rows := hubRows(t, 0)
	src, err := Parquet{}.Open(t.Context(), Settings{Input: tree{"a.parquet": hubFile(t, hubFeatures, rows)}.folder(t),
		Levels: []string{"fine_label"}})
	must.Do(t, err)
	defer src.Close()
	table := src.(*parquetSource).files[0]
	if len(table.pages) < 2 {
		t.Fatalf("%d pages, and the test wants two", len(table.pages))
	}
	c := &pageCache{limit: 1}
	for range 2 {
		for p, page := range table.pages {
			images, err := c.get(table, p)
			if err != nil || !bytes.Equal(images[0], rows[page.First].Image.Bytes) || len(c.pages) != 1 {
				t.Errorf("page %d: %v, %d pages held, want one", p, err, len(c.pages))
			}
		}
	}
}

func TestKindFindsParquet(t *testing.T) {
	input := hubTree(t).folder(t)
	for path, want := range map[string]string{input: "parquet", filepath.Join(input, "data"): "parquet",
		filepath.Join(input, "data", "x.parquet"): "parquet", filepath.Join(input, ".cache", "none"): "folder"} {
		if got := Kind(path); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
	wantError(t, NotShards(filepath.Join(input, "data", "train-00001-of-00002.parquet")), "folder of shards")
}
