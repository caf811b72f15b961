package examples

import (
	"bytes"
	"context"
	"errors"
	"image/png"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hgld/internal/img"
	"hgld/internal/testing/must"
	"hgld/internal/testing/sketch"
	"hgld/labels"
	"hgld/shards"
)

// landmarkPictures is a source of three images: two of train/5, one of index/5.
type landmarkPictures struct{ picture []byte }

func (landmarkPictures) Levels() []string {
	return []string{labels.LandmarkLevel, labels.SupercategoryLevel, labels.KindLevel}
}
func (landmarkPictures) Landmarks() bool { return true }
func (landmarkPictures) Inputs(context.Context, func(int) bool) ([]shards.Input, error) {
	return nil, nil
}
func (landmarkPictures) Close() error { return nil }
func (p landmarkPictures) Items(context.Context) iter.Seq2[shards.Item, error] {
	return func(yield func(shards.Item, error) bool) {
		for i, split := range []labels.Split{labels.Train, labels.Train, labels.Index} {
			item := shards.Item{Path: string(rune('a'+i)) + ".png", Split: split, Landmark: 5, Size: int64(len(p.picture)),
				Names: []string{labels.LandmarkKey{Split: split, Landmark: 5}.String(), "church", "human-made"},
				Open:  func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(p.picture)), nil }}
			item.ID = shards.ImageID(i + 1)
			if !yield(item, nil) {
				return
			}
		}
	}
}

func TestExamplesHaveImagesOfShardsAndOfAFolder(t *testing.T) {
	var picture bytes.Buffer
	must.Do(t, png.Encode(&picture, sketch.Picture(0, 1, 2, 200)))
	dir := t.TempDir()
	set, folder := filepath.Join(dir, "shards"), filepath.Join(dir, "pictures")
	if _, err := shards.Build(t.Context(), landmarkPictures{picture.Bytes()}, set, shards.Options{}); err != nil {
		t.Fatal(err)
	}
	must.Do(t, os.MkdirAll(filepath.Join(folder, "5"), 0o755))
	for _, name := range []string{"a.png", "b.PNG", "notes.txt"} {
		must.Do(t, os.WriteFile(filepath.Join(folder, "5", name), picture.Bytes(), 0o644))
	}
	draft := &labels.Draft{Tags: []labels.DraftTag{{Tag: labels.Tag{Name: "church", QID: "Q1"}}}}
	records := []labels.Record{
		{Landmark: 7, Split: labels.Train, Outcome: labels.OK, Tag: "church", QID: "Q1"}, // without images
		{Landmark: 5, Split: labels.Train, Outcome: labels.OK, Tag: "church", QID: "Q1", Title: "Category:St Mary"},
	}
	tags := filepath.Join(dir, "tags.jsonl")
	var file bytes.Buffer
	must.Do(t, labels.WriteTags(&file, labels.TagsHeader{}, records))
	if err := os.WriteFile(tags, bytes.TrimSuffix(file.Bytes(), []byte("\n")), 0o644); err != nil { // as cut by hand
		t.Fatal(err)
	}
	for _, images := range []string{set, filepath.Join(set, "data"), folder} {
		x, err := Open(draft, tags, images)
		must.Do(t, err)
		var titles []string
		var named [][]string
		err = x.Examples(0, 6, func(title, _ string, images []string) {
			titles, named = append(titles, title),
				append(named, images)
		})
		if err != nil || len(titles) != 2 || titles[0] != "St Mary" || len(named[0]) != 2 || len(named[1]) != 0 {
			t.Fatalf("%s: %q with %q, %v; want two images of the landmark that has some, first", images, titles, named, err)
		}
		data, err := x.Image(t.Context(), named[0][1])
		if err != nil || !bytes.Equal(data, picture.Bytes()) {
			t.Errorf("%s: %d bytes of an image, %v", images, len(data), err)
		}
		small, err := x.Thumbnail(t.Context(), named[0][1])
		info, infoErr := new(img.Decoder).Info(small)
		if err != nil || infoErr != nil || info.Format != "jpeg" || info.H != thumbnailSide || info.W != info.H {
			t.Errorf("%s: a thumbnail %+v, %v, %v; want a JPEG %d high", images, info, err, infoErr, thumbnailSide)
		}
		if _, err := x.Image(t.Context(), "train-5-9"); err == nil {
			t.Errorf("%s: an image that was not named is given", images)
		}
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A folder without usable images is refused.
func TestExamplesRefuseAFolderWithoutLandmarks(t *testing.T) {
	dir := t.TempDir()
	tags, flat := filepath.Join(dir, "tags.jsonl"), filepath.Join(dir, "flat")
	must.Do(t, os.WriteFile(tags, []byte(`{"hgld_tags":1}`+"\n"), 0o644))
	must.Do(t, os.Mkdir(flat, 0o755))
	must.Do(t, os.WriteFile(filepath.Join(flat, "0000_0.jpg"), nil, 0o644))
	for _, images := range []string{flat, filepath.Join(dir, "none")} {
		_, err := Open(&labels.Draft{}, tags, images)
		var missing *ImagesError
		if !errors.As(err, &missing) || missing.Folder != images {
			t.Errorf("%s: error %v, want an ImagesError", images, err)
		}
	}
}

func TestExamplesNameTheLineThatIsDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tags.jsonl")
	for text, want := range map[string]string{
		"":                                "tags.jsonl:1: ",
		`{"hgld_tags":99}` + "\n":         "tags.jsonl:1: ",
		`{"hgld_tags":1}` + "\n{\"a\":\n": "tags.jsonl:2: ",
	} {
		must.Do(t, os.WriteFile(path, []byte(text), 0o644))
		if _, err := Open(&labels.Draft{}, path, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", text, err, want)
		}
	}
}

func TestExamplesLimitsTheFileSize(t *testing.T) {
	path := filepath.Join(t.TempDir(), "large.jpg")
	must.Do(t, os.WriteFile(path, nil, 0o644))
	must.Do(t, os.Truncate(path, largestImage+1))
	if _, err := readImage(path); err == nil {
		t.Error("it is read")
	}
}
