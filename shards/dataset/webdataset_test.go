package dataset

import (
	"archive/tar"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"hgld/internal/testing/must"
	"hgld/shards"
)

// tarOf writes a TAR file of members: name, content, name, content …
func tarOf(t *testing.T, path string, members ...string) {
	t.Helper()
	f := must.Get(os.Create(path))(t)
	defer f.Close()
	w := tar.NewWriter(f)
	for i := 0; i < len(members); i += 2 {
		must.Do(t, w.WriteHeader(&tar.Header{Name: members[i], Size: int64(len(members[i+1])), Mode: 0o644}))
		if _, err := io.WriteString(w, members[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	must.Do(t, w.Close())
}

// described lists the items of a source.
func described(t *testing.T, src shards.Source) (items []string) {
	t.Helper()
	for item, err := range src.Items(t.Context()) {
		must.Do(t, err)
		r := must.Get(item.Open())(t)
		data, err := io.ReadAll(r)
		must.Do(t, r.Close())
		if err != nil || int64(len(data)) != item.Size {
			t.Errorf("%s has %d bytes, %v, want %d", item.Path, len(data), err, item.Size)
		}
		items = append(items, fmt.Sprintf("%s %s %q %s", item.Path, item.Split, item.Names, data))
	}
	return items
}

func TestWebDatasetReadsSamples(t *testing.T) {
	dir := t.TempDir()
	tarOf(t, filepath.Join(dir, "train-000000.tar"), "a/1.jpg", "one", "a/1.json", `{"fine": "gala", "coarse": 7, "url": "x"}`,
		"a/2.seg.png", "mask", "a/2.JPEG", "two", "a/2.json", `{"fine": "kiwi", "coarse": 8}`, "readme.txt", "no image")
	tarOf(t, filepath.Join(dir, "val-000000.tar"), "3.json", `{"coarse": 7, "fine": null}`, "3.webp", "three", "3.fine", "fuji\n")
	src := must.Get(WebDataset{}.Open(t.Context(), Settings{Input: dir, Levels: []string{"coarse", "fine"}}))(t)
	defer src.Close()
	const note = `the levels are read as fine,coarse, finest first: in the order coarse,fine, coarse "7" has two parents: ` +
		`"gala" (train-000000.tar/a/1.jpg) and "fuji" (val-000000.tar/3.webp)`
	if notes := src.(interface{ Notes() []string }).Notes(); !slices.Equal(src.Levels(), []string{"fine", "coarse"}) ||
		!slices.Contains(notes, note) {
		t.Errorf("levels %q, notes %q", src.Levels(), notes)
	}
	want := []string{`train-000000.tar/a/1.jpg train ["gala" "7"] one`, `train-000000.tar/a/2.JPEG train ["kiwi" "8"] two`,
		`val-000000.tar/3.webp val ["fuji" "7"] three`}
	if got := described(t, src); !slices.Equal(got, want) {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
	inputs, err := src.Inputs(t.Context(), func(i int) bool { return i == 1 })
	if err != nil || len(inputs) != 2 || inputs[0] != (shards.Input{}) || inputs[1].Name != "val-000000.tar" ||
		inputs[1].SHA256 == (shards.Hash{}) {
		t.Errorf("inputs %+v, %v", inputs, err)
	}
}

func TestWebDatasetHasAUsualClass(t *testing.T) {
	path := filepath.Join(t.TempDir(), "train.tar")
	tarOf(t, path, "1.jpg", "one", "1.cls", "20221102000000", "2.jpg", "two", "2.cls", "-1")
	src := must.Get(WebDataset{}.Open(t.Context(), Settings{Input: path}))(t)
	defer src.Close()
	want := []string{`train.tar/1.jpg train ["20221102000000"] one`, `train.tar/2.jpg train [] two`}
	if got := described(t, src); !slices.Equal(got, want) || !slices.Equal(src.Levels(), []string{"cls"}) {
		t.Errorf("levels %q, got\n%q, want\n%q", src.Levels(), got, want)
	}
}

func TestWebDatasetRefusesWhatItCannotRead(t *testing.T) {
	for name, c := range map[string]struct {
		members []string
		levels  []string
		want    string
	}{
		"no classes":  {[]string{"1.jpg", "x"}, nil, "sample 1: none of the members and fields cls, class, label"},
		"no level":    {[]string{"1.jpg", "x", "1.json", `{"fine": 1}`}, []string{"fine", "coarse"}, "sample 1: level coarse: there is no such member"},
		"two images":  {[]string{"1.jpg", "x", "1.png", "y", "1.cls", "1"}, nil, "sample 1 has two images, 1.jpg and 1.png"},
		"no image":    {[]string{"1.cls", "1"}, nil, "no sample has an image"},
		"a list":      {[]string{"1.jpg", "x", "1.json", `{"cls": [1]}`}, nil, "level cls: [1] is no class; want a text or a number"},
		"broken JSON": {[]string{"1.jpg", "x", "1.json", `{"cls": `}, nil, "sample 1: 1.json: unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "train.tar")
			tarOf(t, path, c.members...)
			_, err := WebDataset{}.Open(t.Context(), Settings{Input: path, Levels: c.levels})
			wantError(t, err, "dataset: webdataset", c.want)
		})
	}
}
