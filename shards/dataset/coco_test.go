package dataset

import (
	"slices"
	"strings"
	"testing"
)

const cocoCategories = `"categories": [{"id": 0, "name": "zoo", "supercategory": "none"},
	{"id": 1, "name": "cat", "supercategory": "animal"}, {"id": 90, "name": "car", "supercategory": "vehicle"}]`

// The whole image has the class of its boxes: none if they differ, or without a box.
func TestCOCOIsReadAsPublished(t *testing.T) {
	files := withPictures(t, tree{
		"annotations/instances_train2017.json": `{"images": [{"id": 9, "file_name": "9.jpg"}, {"id": 10, "file_name": "10.jpg"},
			{"id": 11, "file_name": "11.jpg"}], "annotations": [{"image_id": 9, "category_id": 1},
			{"image_id": 9, "category_id": 1}, {"image_id": 10, "category_id": 1}, {"image_id": 10, "category_id": 90}], ` +
			cocoCategories + "}",
		"annotations/instances_val2017.json": `{"images": [{"id": 9, "file_name": "9.jpg"}],
			"annotations": [{"image_id": 9, "category_id": 90}], ` + cocoCategories + "}",
		"annotations/captions_val2017.json": "no annotations of boxes",
	}, "train2017/9.jpg", "train2017/10.jpg", "train2017/11.jpg", "val2017/9.jpg")
	want := []string{"train2017/9.jpg train cat<animal", "train2017/10.jpg train ", "train2017/11.jpg train ",
		"val2017/9.jpg val car<vehicle"}
	folder := files.folder(t)
	got, err := items(t, COCO{}, Settings{Input: folder})
	if err != nil || !slices.Equal(got, want) || Kind(folder) != "coco" {
		t.Errorf("%q, %v, %s; want %q", got, err, Kind(folder), want)
	}
}

// Roboflow writes the annotations of a split beside its images.
func TestExportsInTheFormatOfCOCOAreRead(t *testing.T) {
	list := `{"images": [{"id": 0, "file_name": "a_jpg.rf.1.jpg"}], "annotations": [{"image_id": 0, "category_id": 1}],
		"categories": [{"id": 1, "name": "cat", "supercategory": "none"}]}`
	files := withPictures(t, tree{"valid/_annotations.coco.json": list}, "valid/a_jpg.rf.1.jpg")
	got, err := items(t, COCO{}, Settings{Input: files.folder(t)})
	if want := []string{"valid/a_jpg.rf.1.jpg val cat"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	for damage, want := range map[string]string{
		`"category_id": 1`: "annotation 0 has the category \"7\"", `"file_name"`: "image 0 has no file_name", `}]}`: "near byte",
	} {
		changed := strings.Replace(list, damage, map[string]string{`"category_id": 1`: `"category_id": 7`, `"file_name"`: `"name"`,
			`}]}`: "}"}[damage], 1)
		_, err := items(t, COCO{}, Settings{Input: tree{"_annotations.coco.json": changed}.folder(t)})
		wantError(t, err, "_annotations.coco.json", want)
	}
	_, err = items(t, COCO{}, Settings{Input: t.TempDir()})
	wantError(t, err, "no annotations/instances_*.json")
}

// Roboflow gives every category the name of the project as supercategory, which is no level. The names of Label Studio
// say little, so that what files hold decides; archives hold exports, too.
func TestExportsInTheFormatOfCOCOAreKnown(t *testing.T) {
	list := `{"images": [{"id": 0, "file_name": "images\\a.jpg"}], "annotations": [{"image_id": 0, "category_id": 1}],
		"categories": [{"id": 1, "name": "cat", "supercategory": "pets"}, {"id": 2, "name": "x", "supercategory": "none"}]}`
	files := withPictures(t, tree{"result.json": list}, "images/a.jpg")
	folder := files.folder(t)
	got, err := items(t, COCO{}, Settings{Input: folder})
	if want := []string{"images/a.jpg train cat"}; err != nil || !slices.Equal(got, want) || Kind(folder) != "coco" {
		t.Errorf("%q, %v, %s; want %q", got, err, Kind(folder), want)
	}
	other := tree{"result.json": `{"images": [], "accuracy": 0.5}`, "cat/1.jpg": "x"}
	if kind := Kind(other.folder(t)); kind != "folder" {
		t.Errorf("a folder with the result of another program: the importer is %s", kind)
	}
	for name, want := range map[string]string{"result.json": "coco", "set/valid/_annotations.coco.json": "coco",
		"set/annotations/instances_default.json": "coco", "set/annotations.json": "folder"} {
		if kind := Kind(tree{name: list, "images/a.jpg": "x"}.zip(t)); kind != want {
			t.Errorf("an archive with %s: the importer is %s, want %s", name, kind, want)
		}
	}
	_, err = items(t, Folder{}, Settings{Input: tree{"train/1.jpg": "x", "train/metadata.jsonl": "{}"}.zip(t)})
	wantError(t, err, "train/metadata.jsonl seems to describe them: unpack the archive")
}

func TestAircraftIsReadAsPublished(t *testing.T) {
	files := tree{}
	for split, image := range map[string]string{"train": "0000001", "val": "0000002", "test": "0000003"} {
		files["data/images_variant_"+split+".txt"] = image + " 707-320\n"
		files["data/images_family_"+split+".txt"] = image + " Boeing 707\n"
		files["data/images_manufacturer_"+split+".txt"] = image + " Boeing\n"
	}
	files = withPictures(t, files, "data/images/0000001.jpg", "data/images/0000002.jpg", "data/images/0000003.jpg")
	got, err := items(t, Aircraft{}, Settings{Input: files.folder(t)})
	want := []string{"0000001.jpg train 707-320<Boeing 707<Boeing", "0000002.jpg val 707-320<Boeing 707<Boeing",
		"0000003.jpg test 707-320<Boeing 707<Boeing"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	files["data/images_family_test.txt"] = "0000009 Boeing 707\n"
	_, err = items(t, Aircraft{}, Settings{Input: files.folder(t)})
	wantError(t, err, "data/images_variant_test.txt:1", "want an image of the lists of families and manufacturers")
}
