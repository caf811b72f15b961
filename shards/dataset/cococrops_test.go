package dataset

import (
	"archive/zip"
	"bytes"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hgld/internal/img"
	"hgld/internal/testing/must"
	"hgld/labels"
	"hgld/shards"
)

// Each box with an area is an image; the others are said.
func TestEachBoxIsAnImage(t *testing.T) {
	list := `{"images": [{"id": 9, "file_name": "9.jpg", "width": 20, "height": 10}, {"id": 10, "file_name": "10.jpg"},
		{"id": 11, "file_name": "11.jpg"}], "annotations": [
		{"id": 1, "image_id": 9, "category_id": 1, "bbox": [1.5, 2, 3.2, 4], "iscrowd": 0},
		{"id": 2, "image_id": 9, "category_id": 90, "bbox": [-3, 5, 100, 100]},
		{"id": 3, "image_id": 10, "category_id": 1, "bbox": [0, 0, 5, 0]},
		{"id": 4, "image_id": 10, "category_id": 1}, {"id": 5, "image_id": 77, "category_id": 1, "bbox": [0, 0, 5, 5]},
		{"id": 6, "image_id": 11, "category_id": 1, "bbox": [0, 0, 5, 5], "iscrowd": 1},
		{"id": 1, "image_id": 11, "category_id": 90, "bbox": [0, 0, 5, 5]}], ` + cocoCategories + "}"
	files := withPictures(t, tree{"annotations/instances_val2017.json": list}, "val2017/9.jpg", "val2017/10.jpg",
		"val2017/11.jpg")
	src := must.Get(COCOCrops{}.Open(t.Context(), Settings{Input: files.folder(t)}))(t)
	defer src.Close()
	var got []string
	ids := map[shards.ImageID]bool{}
	for item := range src.Items(t.Context()) {
		ids[item.ID] = true
		got = append(got, fmt.Sprint(item.Path, item.Names, item.Part.Box, item.Part.Of))
	}
	want := []string{"val2017/9.jpg#1[cat animal] (1,2)-(5,6) (20,10)",
		"val2017/9.jpg#2[car vehicle] (-3,5)-(97,105) (20,10)", "val2017/11.jpg#1[car vehicle] (0,0)-(5,5) (0,0)"}
	if !slices.Equal(got, want) || len(ids) != len(want) {
		t.Errorf("got %q, want %q", got, want)
	}
	notes := strings.Join(src.(interface{ Notes() []string }).Notes(), "\n")
	for _, want := range []string{"(iscrowd), left out: 1 (annotation 5, id 6, first)",
		"without an area, left out: 2 (annotation 2, id 3, first)",
		"of images that are not listed, left out: 1 (annotation 4, id 5, first)", "1 image without a box left out"} {
		if !strings.Contains(notes, want) {
			t.Errorf("notes %q, want %q", notes, want)
		}
	}
	for damage, want := range map[string]string{`"id": 2,`: "both have the id \"1\"", `"id": 10,`: "both have the id \"9\""} {
		changed := strings.Replace(list, damage, map[string]string{`"id": 2,`: `"id": 1,`, `"id": 10,`: `"id": 9,`}[damage], 1)
		_, err := COCOCrops{}.Open(t.Context(), Settings{Input: tree{"labels.json": changed}.folder(t)})
		wantError(t, err, "labels.json", want)
	}
	list = strings.Replace(list, `"id": 2,`, "", 1)
	_, err := COCOCrops{}.Open(t.Context(), Settings{Input: tree{"labels.json": list}.folder(t)})
	wantError(t, err, "annotation 1 has no id")
}

// The row of a box holds the pixels within it, also of an image in an archive. A box outside its image, and an image
// of another size than the annotations say, are failures.
func TestBoxesBecomeImages(t *testing.T) {
	m := image.NewRGBA(image.Rect(0, 0, 64, 32)) // the right half is blue
	for i := range m.Pix {
		m.Pix[i] = [2][4]byte{{200, 0, 0, 255}, {0, 0, 200, 255}}[i/4%64/32][i%4]
	}
	var picture, packed bytes.Buffer
	must.Do(t, png.Encode(&picture, m))
	list := `{"images": [{"id": 1, "file_name": "a.png", "width": 64, "height": 32}, {"id": 2, "file_name": "b.png",
		"width": 64, "height": 48}], "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [-5, 2.5, 37, 9.1]},
		{"id": 2, "image_id": 1, "category_id": 90, "bbox": [40, 8, 1000, 1000]},
		{"id": 3, "image_id": 1, "category_id": 90, "bbox": [64, 0, 3, 4]},
		{"id": 4, "image_id": 2, "category_id": 90, "bbox": [0, 0, 8, 8]}], ` + cocoCategories + "}"
	z := zip.NewWriter(&packed)
	for name, text := range map[string]string{"annotations/instances_default.json": list,
		"images/default/a.png": picture.String(), "images/default/b.png": picture.String()} { // as CVAT writes it
		w := must.Get(z.Create("set/" + name))(t)
		w.Write([]byte(text))
	}
	must.Do(t, z.Close())
	archive, out := filepath.Join(t.TempDir(), "coco.zip"), filepath.Join(t.TempDir(), "out")
	must.Do(t, os.WriteFile(archive, packed.Bytes(), 0o666))
	src := must.Get(COCOCrops{}.Open(t.Context(), Settings{Input: archive}))(t)
	defer src.Close()
	must.Get(shards.Build(t.Context(), src, out, shards.Options{Workers: 2, AllowMissing: 1}))(t)
	set := must.Get(shards.Open(t.Context(), out))(t)
	defer set.Close()
	rows := must.Get(set.Split(labels.Train))(t)
	if rows.Len() != 2 {
		t.Fatalf("%d rows, want 2", rows.Len())
	}
	for i, want := range []struct{ w, h, colour int }{{32, 10, 0}, {24, 24, 2}} {
		got := must.Get(new(img.Decoder).Decode(must.Get(rows.Image(t.Context(), i))(t)))(t)
		if got.W != want.w || got.H != want.h {
			t.Errorf("row %d is %d×%d, want %d×%d", i, got.W, got.H, want.w, want.h)
		}
		for k, v := range got.Pix {
			c := 0
			if k%3 == want.colour {
				c = 200
			}
			if int(v) < c-9 || int(v) > c+9 {
				t.Fatalf("row %d: channel %d is %d, want %d up to JPEG's rounding", i, k%3, v, c)
			}
		}
	}
	failures := string(must.Get(os.ReadFile(filepath.Join(out, "failures.jsonl")))(t))
	for _, want := range []string{"a.png#3", "lies outside the image of 64×32", "b.png#4", "64×32 pixels and the list " +
		"with its box says 64×48"} {
		if !strings.Contains(failures, want) {
			t.Errorf("failures %s, want %s", failures, want)
		}
	}
}
