package dataset

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"hgld/internal/testing/must"
	"hgld/internal/testing/testfile"
)

// Caches of the Hugging Face Hub and git-annex keep the contents of files in a store and name them by links; a link to
// any other place outside of the folder stays an error.
func TestLinksIntoStoresOfFilesAreFollowed(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"hub/blobs/1f": "one", "annex/.git/annex/objects/aa/2f": "two",
		"other/3f": "three", "hub/snapshots/ab/a/0.jpg": "plain", "annex/in/b/0.jpg": "plain"} {
		testfile.Write(t, dir, name, text)
	}
	link := func(to, name string) { must.Do(t, os.Symlink(to, filepath.Join(dir, name))) }
	link("../../../blobs/1f", "hub/snapshots/ab/a/1.jpg")
	link("../../.git/annex/objects/aa/2f", "annex/in/b/2.jpg")
	link("../../.git/annex/objects/aa/gone", "annex/in/b/3.jpg")
	for folder, want := range map[string][]string{
		"hub/snapshots/ab": {"a/0.jpg train a", "a/1.jpg train a"},
		"annex/in":         {"b/0.jpg train b", "b/2.jpg train b", "b/3.jpg train b missing"},
	} {
		got, err := items(t, Folder{}, Settings{Input: filepath.Join(dir, folder)})
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v; want %q", folder, got, err, want)
		}
	}
	link("../../../../other/3f", "hub/snapshots/ab/a/9.jpg")
	_, err := items(t, Folder{}, Settings{Input: filepath.Join(dir, "hub/snapshots/ab")})
	wantError(t, err, "9.jpg", "leads out")
}

func TestTablesThatKeepOldFilesAreRefused(t *testing.T) {
	for log, kind := range map[string]string{"t/_delta_log/0.json": "Delta", ".hoodie/x": "Hudi",
		"metadata/v1.metadata.json": "Iceberg", "x/_versions/1.manifest": "Lance", "deep/in/it/_delta_log/0.json": "Delta"} {
		files := hubTree(t)
		files[log] = "{}"
		folder := files.folder(t)
		_, err := items(t, Parquet{}, Settings{Input: folder, Levels: []string{"fine_label"}})
		wantError(t, err, kind, "deleted rows")
		if kind := Kind(folder); kind != "parquet" {
			t.Errorf("%s: the importer is %s", log, kind)
		}
	}
}

// Programs such as Spark write a column into the names of folders; classes called like splits stay classes.
func TestFoldersOfParquetNameColumns(t *testing.T) {
	rows := hubFile(t, "", hubRows(t, 0)[:1])
	folder := tree{"kind=train/part-0.parquet": rows, "kind=a%20b/part-0.parquet": rows,
		"kind=__HIVE_DEFAULT_PARTITION__/part-0.parquet": rows}.folder(t)
	got, err := items(t, Parquet{}, Settings{Input: folder, Levels: []string{"kind"}})
	if err != nil || len(got) != 3 || !strings.HasSuffix(got[0], " train ") || !strings.HasSuffix(got[1], " train a b") ||
		!strings.HasSuffix(got[2], " train train") {
		t.Errorf("%q, %v", got, err)
	}
	folder = tree{"year=2020/label=cat/part-0.parquet": rows, "year=2020/label=dog/part-0.parquet": rows}.folder(t)
	got, err = items(t, Parquet{}, Settings{Input: folder})
	if err != nil || len(got) != 2 || !strings.HasSuffix(got[0], " train cat") ||
		!strings.HasSuffix(got[1], " train dog") {
		t.Errorf("two columns: %q, %v", got, err)
	}
}

// The tables beside the shards that hgld publishes are no images.
func TestPublishedShardsAreRead(t *testing.T) {
	folder := tree{"data/train-00000-of-00001.parquet": hubFile(t, "", hubRows(t, 0)), "labels.parquet": "no table",
		"ATTRIBUTION.parquet": "no table"}.folder(t)
	if _, err := items(t, Parquet{}, Settings{Input: folder, Levels: []string{"fine_label"}}); err != nil {
		t.Error(err)
	}
}

// Images with a table beside them are an ImageFolder of the library datasets; tables may be JSON lines, Parquet, or
// compressed, and a list of paths and numbers may have no heading.
func TestTablesOfOtherProgramsAreRead(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := z.Write([]byte("path,label\na/1.jpg,cat\n"))
	must.Do(t, err)
	must.Do(t, z.Close())
	files := withPictures(t, tree{
		"train/metadata.jsonl": "\ufeff" + `{"file_name": "1.jpg", "label": 7, "score": NaN}` + "\n\n" +
			`{"file_name":"2.jpg","label":null}`,
		"test/metadata.csv":      "file_name,label\n1.jpg,7\n",
		"tables/packed.csv.gz":   packed.String(),
		"tables/UPPER.CSV.GZ":    packed.String(),
		"tables/other.tsv.bz2":   "BZh9",
		"tables/imagenet.txt":    "a/1.jpg 0\n",
		"tables/unheaded.csv":    "a/1.jpg,dog\na/2.jpg,cat\n",
		"tables/loose.jsonl":     "{\"path\": \"a/1.jpg\", \"label\": \"cat\"}\n{\"path\": 1",
		"tables/listlabel.jsonl": "{\"path\": \"a/1.jpg\", \"label\": [\"cat\"]}\n",
	}, "train/1.jpg", "train/2.jpg", "test/1.jpg", "tables/a/1.jpg", "tables/a/2.jpg").folder(t)
	for input, want := range map[string][]string{
		"":                     {"test/1.jpg test 7", "train/1.jpg train 7", "train/2.jpg train "},
		"tables/packed.csv.gz": {"a/1.jpg train cat"},
		"tables/UPPER.CSV.GZ":  {"a/1.jpg train cat"},
		"tables/imagenet.txt":  {"a/1.jpg train 0"},
		"tables/unheaded.csv":  {"a/1.jpg train dog", "a/2.jpg train cat"},
	} {
		got, err := items(t, CSV{}, Settings{Input: filepath.Join(files, input)})
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v; want %q", input, got, err, want)
		}
		if kind := Kind(filepath.Join(files, input)); kind != "csv" {
			t.Errorf("%s: the importer is %s", input, kind)
		}
	}
	_, err = items(t, Folder{}, Settings{Input: filepath.Join(files, "tables/other.tsv.bz2")})
	wantError(t, err, "is a table compressed by bzip2; decompress it")
	_, err = items(t, CSV{}, Settings{Input: filepath.Join(files, "tables/loose.jsonl")})
	wantError(t, err, "loose.jsonl", "line 2", "want an object of JSON in each line")
	_, err = items(t, CSV{}, Settings{Input: filepath.Join(files, "tables/listlabel.jsonl")})
	wantError(t, err, "listlabel.jsonl:1", "which is a list")
}

func TestWebDatasetsOfPythonAreRead(t *testing.T) {
	dir := t.TempDir()
	read := func(members ...string) ([]string, error) {
		tarOf(t, filepath.Join(dir, "t.tar"), members...)
		return items(t, WebDataset{}, Settings{Input: filepath.Join(dir, "t.tar")})
	}
	got, err := read("1.jpg", "x", "1.json", "\ufeff{\"label\": \"NaN \\\" NaN\", \"x\": [NaN, -Infinity]}")
	if want := []string{`t.tar/1.jpg train NaN " NaN`}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	_, err = read("22.05.jpg", "x", "22.05.cls", "7")
	wantError(t, err, "22.05.jpg is the member 05.jpg of the sample 22")
	_, err = read("1.jpg", "x", "1.cls", "\x01\x00\x00")
	wantError(t, err, "sample 1", "1.cls is not text")
}

func TestPointersOfGitLFSAreNamed(t *testing.T) {
	const pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
	files := tree{"p.csv": pointer, "p.zip": pointer, "p.parquet": pointer}.folder(t)
	for name, importer := range map[string]Importer{"p.csv": CSV{}, "p.zip": Folder{}, "p.parquet": Parquet{}} {
		_, err := items(t, importer, Settings{Input: filepath.Join(files, name)})
		wantError(t, err, name, "git lfs pull")
	}
	survey := func(images tree) (*Survey, error) {
		src := must.Get(Folder{}.Open(t.Context(), Settings{Input: images.folder(t)}))(t)
		defer src.Close()
		return NewSurvey(t.Context(), src)
	}
	s := must.Get(survey(tree{"a/1.jpg": pointer, "a/2.jpg": "x", "b/1.jpg": pointer, "b/2.jpg": "version"}))(t)
	notes := s.notes()
	if s.Pointers != 2 || len(notes) != 1 || !strings.Contains(notes[0], "2 pointers of Git LFS, a/1.jpg") {
		t.Errorf("%d pointers, %q", s.Pointers, notes)
	}
	_, err := survey(tree{"a/1.jpg": pointer, "b/1.jpg": pointer})
	wantError(t, err, "none of the 2 images is there", "git lfs pull")
}

// The six layouts in which data sets of images lie on the Hub, found and read without a setting.
func TestLayoutsOfTheHubNeedNoSetting(t *testing.T) {
	parquetOf := func(write func(out *bytes.Buffer) error) string {
		var out bytes.Buffer
		must.Do(t, write(&out))
		return out.String()
	}
	type row struct {
		Image *hubImage `parquet:"image,optional"`
		Label string    `parquet:"label"`
	}
	rows := func(label string) string {
		return parquetOf(func(out *bytes.Buffer) error {
			return parquet.Write(out, []row{{&hubImage{picture(t, 0), new("1.jpg")}, label}})
		})
	}
	type named struct {
		File  string `parquet:"file_name"`
		Label string `parquet:"label"`
	}
	metadata := parquetOf(func(out *bytes.Buffer) error { return parquet.Write(out, []named{{"1.jpg", "cat"}}) })
	samples := func(cls string) string {
		file := filepath.Join(t.TempDir(), "x.tar")
		tarOf(t, file, "1.cls", cls, "1.jpg", string(picture(t, 0)))
		return string(must.Get(os.ReadFile(file))(t))
	}
	for kind, files := range map[string]tree{
		"folder":     withPictures(t, tree{"README.md": "card"}, "train/cat/1.jpg", "test/dog/1.jpg"),
		"csv":        withPictures(t, tree{"metadata.csv": "file_name,label\ntrain/1.jpg,cat\n"}, "train/1.jpg"),
		"csv, jsonl": withPictures(t, tree{"train/metadata.jsonl": `{"file_name":"1.jpg","label":"cat"}`}, "train/1.jpg"),
		"csv, parquet": withPictures(t, tree{"train/metadata.parquet": metadata, "test/metadata.parquet": metadata},
			"train/1.jpg", "test/1.jpg"),
		"parquet":    {"default/train/0000.parquet": rows("cat"), "default/test/0000.parquet": rows("dog")},
		"webdataset": {"train-000000.tar": samples("cat"), "test-000000.tar": samples("dog"), "README.md": "card"},
	} {
		input := files.folder(t)
		kind, _, _ = strings.Cut(kind, ",")
		if got := Kind(input); got != kind {
			t.Errorf("%v: the importer is %s", files.names(), got)
			continue
		}
		got, err := items(t, must.Get(All.Get("dataset", kind))(t), Settings{Input: input})
		if err != nil || !slices.ContainsFunc(got, func(item string) bool { return strings.HasSuffix(item, " train cat") }) {
			t.Errorf("%v: %q, %v", files.names(), got, err)
		}
	}
}
