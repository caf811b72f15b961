package dataset

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"hgld/internal/testing/must"
)

func archive(t *testing.T, name string, data []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	must.Do(t, os.WriteFile(file, data, 0o644))
	return file
}

func bytesOf(t *testing.T, file string) []byte {
	t.Helper()
	data := must.Get(os.ReadFile(file))(t)
	return data
}

// Two archives in one file are half read by most programs.
func TestSecondArchiveInAFileIsRefused(t *testing.T) {
	first, second := tree{"a/1.jpg": "x", "b/2.jpg": "y"}, tree{"c/3.jpg": "z"}
	tars := [2][]byte{bytesOf(t, first.tar(t)), bytesOf(t, second.tar(t))}
	for name, data := range map[string][]byte{
		"tar":              slices.Concat(tars[0], tars[1]),
		"padded tar":       slices.Concat(tars[0], make([]byte, 9*512), tars[1]),
		"one block":        slices.Concat(tars[0][:len(tars[0])-512], tars[1]),
		"other bytes":      slices.Concat(tars[0], []byte("signature")),
		"compressed later": slices.Concat(tars[0], []byte("\x1f\x8b\x08")),
	} {
		_, err := openStore(t.Context(), archive(t, "images.tar", data))
		t.Log(name, err)
		wantError(t, err, "images.tar: the archive ends after 2 files, but more follows at byte")
	}
	zips := [2][]byte{first.bytes(t), second.bytes(t)}
	_, err := openStore(t.Context(), archive(t, "images.zip", slices.Concat(zips[0], zips[1])))
	wantError(t, err, "images.zip: begins with a file that its list of 1 files lacks")
	st, err := openStore(t.Context(), archive(t, "images.zip", append([]byte("#!/bin/sh\n"), zips[0]...)))
	if err != nil {
		t.Fatal("an archive that unpacks itself: ", err)
	}
	st.Close()
}

func TestArchivesAreKnownByTheirBytes(t *testing.T) {
	files := tree{"a/1.jpg": "x"}
	for name, data := range map[string][]byte{"zip.tar": files.bytes(t), "tar.zip": bytesOf(t, files.tar(t)),
		"images": files.bytes(t)} {
		if st, err := openStore(t.Context(), archive(t, name, data)); err != nil {
			t.Errorf("%s: %v", name, err)
		} else {
			st.Close()
		}
	}
	for start, want := range map[string]string{"\x1f\x8b\x08": "compressed by gzip", "BZh9": "compressed by bzip2",
		"\xfd7zXZ\x00": "compressed by xz", "\x28\xb5\x2f\xfd": "compressed by zstd", "7z\xbc\xaf\x27": "an archive of 7-Zip",
		"Rar!\x1a": "an archive of RAR"} {
		_, err := openStore(t.Context(), archive(t, "images.tar", []byte(start+strings.Repeat("x", 600))))
		wantError(t, err, want)
	}
}

func TestFilesOfASetAreComplete(t *testing.T) {
	for _, c := range []struct{ files, want string }{ // want: an error, a note after "note", or nothing
		{"train-00000-of-00002 train-00001-of-00002 test-00000-of-00001", ""},
		{"train-1-of-2 train-2-of-2", ""},
		{"data/train-00000-of-00003 data/train-00002-of-00003",
			"1 of the 3 parts of data/train-00000-of-00003.parquet are missing: 1;"},
		{"train-00002-of-00012 x-0-of-1",
			"11 of the 12 parts of train-00002-of-00012.parquet are missing: 0, 1, 3, 4, 5, 6, …;"},
		{"train-00000-of-00001 train-00000-of-00002 train-00001-of-00002", "two versions"},
		{"train train-00000-of-00001", "two versions"},
		{"train-00000-of-00002-aaaaaaaaaaaaaaaa train-00000-of-00002-bbbbbbbbbbbbbbbb train-00001-of-00002",
			"both part 0 of 2"},
		{"train-3-of-2 train-0-of-2", "part 3 of 2, which does not exist"},
		{"train-00000-of-00003", "note train-00000-of-00003.parquet is part 0 of 3"},
		{"train/0000 train/0001 train/0003", "note the numbers of the files go to 3, and 2 is missing"},
		{"photos2017 photos2019", ""},
		{"default/train-0 small/train-0", "configurations"},
		{"default/train/0000 small/train/0000", "configurations"},
		{"a/0 b/0", "configurations"},
		{"data/train-0 train-0", "configurations"},
		{"en/train-0 fr/test-0", ""},
	} {
		var files []string
		for _, f := range strings.Fields(c.files) {
			files = append(files, f+".parquet")
		}
		notes, err := checkParts(files)
		if err == nil {
			_, _, err = fileSplits(files, Settings{})
		}
		got := strings.Join(notes, "; ")
		if got != "" {
			got = "note " + got
		}
		if err != nil {
			got = err.Error()
		}
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.files, got, c.want)
		}
	}
}

// A level has one kind of values in all files: a class that is a name in one and a number in another is two.
func TestKindsOfClassesAgreeBetweenFiles(t *testing.T) {
	type text struct {
		Image hubImage `parquet:"image"`
		Label string   `parquet:"label"`
	}
	type number struct {
		Image hubImage `parquet:"image"`
		Label *float64 `parquet:"label,optional"`
	}
	file := func(rows any) string {
		var out bytes.Buffer
		var err error
		switch rows := rows.(type) {
		case []text:
			err = parquet.Write(&out, rows)
		case []number:
			err = parquet.Write(&out, rows)
		}
		must.Do(t, err)
		return out.String()
	}
	photo := hubImage{Bytes: picture(t, 1)}
	texts := file([]text{{photo, "cat"}, {photo, "dog"}})
	numbers := file([]number{{photo, new(0.0)}, {photo, new(1.0)}, {photo, nil}})
	_, err := items(t, Parquet{}, Settings{Input: tree{"train.parquet": texts, "test.parquet": numbers}.folder(t)})
	wantError(t, err, "label holds numbers in test.parquet (0, 1) and texts in train.parquet (cat, dog)")
	got, err := items(t, Parquet{}, Settings{Input: tree{"x.parquet": numbers}.folder(t), Levels: []string{"label"}})
	if want := []string{"x.parquet/0 train 0", "x.parquet/1 train 1", "x.parquet/2 train "}; err != nil ||
		!slices.Equal(got, want) {
		t.Errorf("whole numbers as pandas writes them: %q, %v", got, err)
	}
	half := file([]number{{photo, new(0.5)}})
	_, err = items(t, Parquet{}, Settings{Input: tree{"x.parquet": half}.folder(t)})
	wantError(t, err, "x.parquet: label: row 0: 0.5 is not the number of a class")
	paths := file([]text{{hubImage{Path: new("photos/1.jpg")}, "cat"}})
	_, err = items(t, Parquet{}, Settings{Input: tree{"x.parquet": paths}.folder(t)})
	wantError(t, err, `the column image holds paths ("photos/1.jpg") and no bytes of images`)
}

// A path is found in either form of Unicode. In another case, the file that exists is named.
func TestPathsAreFoundInEitherForm(t *testing.T) {
	composed, apart := "Z\u00fcrich", "Zu\u0308rich"
	rows := "path,level_0\n" + composed + "/1.jpg,a\nb/2.jpg ,b\nB/3.JPG,c\nd/4.jpg,d\nb\\5.jpg,e\n"
	files := tree{apart + "/1.jpg": "x", "b/2.jpg": "y", "b/3.jpg": "z", "b/5.jpg": "w"}
	want := []string{composed + "/1.jpg train a", "b/2.jpg train b", "B/3.JPG train c missing", "d/4.jpg train d missing",
		"b/5.jpg train e"}
	for name, images := range map[string]string{"folder": files.folder(t), "zip": files.zip(t), "tar": files.tar(t)} {
		s := Settings{Input: filepath.Join(tree{"t.csv": rows}.folder(t), "t.csv"), Images: images}
		got, err := items(t, CSV{}, s)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v\n%q, want\n%q", name, err, got, want)
		}
	}
	for n := range files {
		files[n] = string(picture(t, len(n)))
	}
	r := build(t, CSV{}, Settings{Input: filepath.Join(tree{"t.csv": rows}.folder(t), "t.csv"), Images: files.folder(t)})
	var missing []string
	for _, f := range r.Failures {
		missing = append(missing, fmt.Sprint(f.Path, ": ", f.Error))
	}
	if want := []string{`B/3.JPG: no such image, but there is "b/3.jpg"`, "d/4.jpg: no such image"}; !slices.Equal(missing,
		want) {
		t.Errorf("%q, want %q", missing, want)
	}
}

// Columns of spreadsheets and detectors: unnamed ones at the end, and an id that is not that of images.
func TestColumnsThatAreNotIDsOfImages(t *testing.T) {
	for name, c := range map[string]struct{ table, note, id string }{
		"classes": {"id,path,label\n0,1.jpg,a\n0,2.jpg,a\n1,3.jpg,b\n", `column id is not taken for ids of images: "0" is in ` +
			"lines 2 and 3", ""},
		"boxes":   {"image_id;path;label;;\n7;1.jpg;a;;\n7;2.jpg;b;;\n", `column image_id is not taken`, ""},
		"its own": {"id,path,label\n0,1.jpg,a\n1,2.jpg,b\n", "", "0"},
		"empty":   {"id,path,label\n,1.jpg,a\n,2.jpg,b\n", "", ""},
	} {
		dir := tree{"t.csv": c.table, "1.jpg": "x", "2.jpg": "y", "3.jpg": "z"}.folder(t)
		src, err := CSV{}.Open(t.Context(), Settings{Input: filepath.Join(dir, "t.csv"), Levels: []string{"label"}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		defer src.Close()
		if notes := strings.Join(src.(*csvSource).Notes(), "; "); !strings.Contains(notes, c.note) ||
			(notes == "") != (c.note == "") {
			t.Errorf("%s: notes %q", name, notes)
		}
		if _, err := NewSurvey(t.Context(), src); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
