package dataset

import (
	"bytes"
	"crypto/md5"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hgld/internal/testing/must"
	"hgld/labels"
	"hgld/shards"
)

// gldv2Tables are invented tables in the published layout. Images are named by their first and last
// digit.
var gldv2Tables = tree{
	"metadata/train_clean.csv": "landmark_id,images\n7,000000000000000a " +
		"100000000000000b\n8,200000000000000c\n",
	"metadata/train.csv": "id,url,landmark_id\nffffffffffffffff,http://u,1\n",
	"metadata/train_attribution.csv": "id,url,author,license,title\n" +
		"000000000000000a,http://u/a,Ann,https://creativecommons.org/licenses/by/2.0/,\"File:A, b.jpg\"\n" +
		"200000000000000c,http://u/c,Cid,CC0,C\nffffffffffffffff,u,x,y,z\n",
	"metadata/index_image_to_landmark.csv": "id,landmark_id\n300000000000000d,7\n400000000000000e,9\n",
	"metadata/retrieval_solution_v2.1.csv": "id,images,Usage\n500000000000000f,300000000000000d " +
		"400000000000000e,Public\n6000000000000010,None,Ignored\n",
	"metadata/train_label_to_hierarchical.csv": "landmark_id,category,supercategory,hierarchical_label," +
		"natural_or_human_made,wikidata_id\n" +
		"7,http://commons.wikimedia.org/wiki/Category:A,parish " +
		"church,church,human-made,Q243\n8,http://commons.wikimedia.org/wiki/Category:B,,,,\n",
	"metadata/index_label_to_hierarchical.csv": "landmark_id,category,supercategory,hierarchical_label," +
		"natural_or_human_made\n" +
		"7,http://commons.wikimedia.org/wiki/Category:C,peak,mountain,natural\n" +
		"9,http://commons.wikimedia.org/wiki/Category:D,lake,lake,natural\n",
}

var gldv2Want = []string{
	"train/0/0/0/000000000000000a.jpg train train/7<church<human-made",
	"train/1/0/0/100000000000000b.jpg train train/7<church<human-made",
	"train/2/0/0/200000000000000c.jpg train train/8<<", "index/3/0/0/300000000000000d.jpg index index/7<mountain<natural",
	"index/4/0/0/400000000000000e.jpg index index/9<lake<natural",
	"test/5/0/0/500000000000000f.jpg test index/7<mountain<natural",
}

// gldv2Folder writes the tables and the images, as folders or in two TARs per split.
func gldv2Folder(t *testing.T, tars bool) string {
	files := maps.Clone(gldv2Tables)
	for i, line := range gldv2Want {
		name, _, _ := strings.Cut(line, " ")
		data := string(picture(t, i))
		if !tars {
			files[name] = data
			continue
		}
		split, member, _ := strings.Cut(name, "/")
		archive := must.Get(os.ReadFile(tree{member: data}.tar(t)))(t)
		file := fmt.Sprintf("images_%03d.tar", i)
		files[split+"/"+file] = string(archive)
		sum := fmt.Sprintf("%x  %s\n", md5.Sum(archive), file)
		if split == "train" {
			files["train/md5."+strings.TrimSuffix(file, ".tar")+".txt"] = sum
		} else {
			files["md5sum/"+split+"/md5."+strings.TrimSuffix(file, ".tar")+".txt"] = sum
		}
	}
	return files.folder(t)
}

func TestGLDv2ReadsTablesAndTARs(t *testing.T) {
	var rows [2][]*shards.Row
	for i, tars := range []bool{false, true} {
		s := Settings{Input: gldv2Folder(t, tars)}
		got, err := items(t, GLDv2{}, s)
		if err != nil || !slices.Equal(got, gldv2Want) {
			t.Fatalf("tars %v: %v\n%s\nwant\n%s", tars, err, strings.Join(got, "\n"), strings.Join(gldv2Want, "\n"))
		}
		rows[i] = builtRows(t, GLDv2{}, s)
	}
	for i, r := range rows[0] {
		if other := rows[1][i]; r.SHA256 != other.SHA256 || r.ID != other.ID || r.Attributes != other.Attributes {
			t.Errorf("row %d is %+v from folders and %+v from TARs", i, r, other)
		}
	}
	first, last := rows[0][0], rows[0][5]
	if a := first.Attributes; a.Author != "Ann" || a.Title != "File:A, b.jpg" || a.SourceURL != "http://u/a" ||
		a.Tag != "parish church" || a.WikidataQID != "Q243" || !strings.HasSuffix(a.CategoryURL, "Category:A") {
		t.Errorf("attributes %+v", a)
	}
	if first.ID.String() != "000000000000000a" || last.Split != labels.Test || last.Landmark != 7 ||
		!slices.Equal(last.Labels, rows[0][3].Labels) {
		t.Errorf("the query is %+v, and its answer %+v", last, rows[0][3])
	}
}

// builtRows builds shards and reads all rows of all splits.
func builtRows(t *testing.T, by Importer, s Settings) []*shards.Row {
	t.Helper()
	src := must.Get(by.Open(t.Context(), s))(t)
	defer src.Close()
	dir := t.TempDir()
	if _, err := shards.Build(t.Context(), src, dir, shards.Options{Workers: 2}); err != nil {
		t.Fatal(err)
	}
	if v, err := shards.Verify(t.Context(), dir, shards.VerifyOptions{}); err != nil || len(v.Damage) > 0 {
		t.Fatalf("%v, %+v", err, v)
	}
	set := must.Get(shards.Open(t.Context(), dir))(t)
	defer set.Close()
	var rows []*shards.Row
	for _, split := range set.Manifest().Splits() {
		v := must.Get(set.Split(split))(t)
		i := 0
		for row, err := range v.Rows(t.Context(), false) {
			must.Do(t, err)
			if !slices.Equal(row.Labels, v.Labels(i)) {
				t.Errorf("%s row %d: classes %v in the shard and %v in the sidecar", split, i, row.Labels, v.Labels(i))
			}
			rows = append(rows, row)
			i++
		}
	}
	return rows
}

func TestGLDv2NotesSkippedImages(t *testing.T) {
	src := must.Get(GLDv2{}.Open(t.Context(), Settings{Input: gldv2Folder(t, true)}))(t)
	defer src.Close()
	notes := strings.Join(src.(interface{ Notes() []string }).Notes(), "; ")
	for _, want := range []string{"queries without an answer in the index, which are left out: 1",
		"train has 3 images (published: 1580470)",
		"index has 2 images"} {
		if !strings.Contains(notes, want) {
			t.Errorf("notes %q do not say %q", notes, want)
		}
	}
	n := 0
	for item, err := range Labelled(src).Items(t.Context()) {
		if err != nil || item.Names[1] == "" {
			t.Errorf("%+v, %v", item, err)
		}
		n++
	}
	if n != 5 {
		t.Errorf("%d labelled images, want 5", n)
	}
}

// Of the two training sets, the clean one is taken unless the settings name the other.
func TestGLDv2Subsets(t *testing.T) {
	files := maps.Clone(gldv2Tables)
	files["metadata/train.csv"] = "id,url,landmark_id\n000000000000000a,u,7\n100000000000000b,u,7\n" +
		"200000000000000c,u,8\nffffffffffffffff,u,8\n"
	dir := files.folder(t)
	for _, c := range []struct {
		subset string
		images int
		note   string
	}{
		{"", 3, "train has 3 images (published: 1580470)"}, {"clean", 3, "(published: 81313)"},
		{"full", 4, "train has 4 images (published: 4132914)"},
	} {
		src := must.Get(GLDv2{}.Open(t.Context(), Settings{Input: dir, Subset: c.subset}))(t)
		n := 0
		for item, err := range src.Items(t.Context()) {
			must.Do(t, err)
			if item.Split == labels.Train {
				n++
			}
		}
		notes := strings.Join(src.(interface{ Notes() []string }).Notes(), "; ")
		if n != c.images || !strings.Contains(notes, c.note) {
			t.Errorf("%q: %d training images, notes %q", c.subset, n, notes)
		}
		if err := src.Close(); err != nil {
			t.Error(err)
		}
	}
	_, err := GLDv2{}.Open(t.Context(), Settings{Input: dir, Subset: "cleen"})
	wantError(t, err, "cleen", "clean")
	full := without(files, "metadata/train_clean.csv").folder(t)
	_, err = GLDv2{}.Open(t.Context(), Settings{Input: full, Subset: "clean"})
	wantError(t, err, "train_clean.csv is missing")
}

func TestDamagedTARFailsTheBuildByItsMD5(t *testing.T) {
	dir := gldv2Folder(t, true)
	file := filepath.Join(dir, "index", "images_004.tar")
	data, err := os.ReadFile(file)
	must.Do(t, err)
	data[600] ^= 1 // in the image
	must.Do(t, os.WriteFile(file, data, 0o644))
	src, err := GLDv2{}.Open(t.Context(), Settings{Input: dir})
	must.Do(t, err)
	defer src.Close()
	out := t.TempDir()
	_, err = shards.Build(t.Context(), src, out, shards.Options{})
	wantError(t, err, "index/images_004.tar", "MD5", "load it again")
	if !errors.As(err, new(*shards.InputError)) {
		t.Errorf("%T, want an InputError", err)
	}
	if _, err := shards.Open(t.Context(), out); err == nil {
		t.Error("the damaged data set is there")
	}
	if left, _ := filepath.Glob(filepath.Join(out, "data", "index-00001-*")); len(left) > 0 {
		t.Errorf("shards with images of the damaged TAR stand: %v", left)
	}
}

// TestTARLoadedAgainGivesItsImages builds from a TAR with a changed but valid image, and then from
// the right TAR, whose members have the same sizes. The data set must end with the right image.
// published says whether there was a published checksum.
func TestTARLoadedAgainGivesItsImages(t *testing.T) {
	for _, published := range []bool{true, false} {
		dir := gldv2Folder(t, true)
		file := filepath.Join(dir, "index", "images_004.tar")
		sum := filepath.Join(dir, "md5sum", "index", "md5.images_004.txt")
		right := must.Get(os.ReadFile(file))(t)
		wrong := bytes.Clone(right)
		quantization := bytes.Index(wrong, []byte("\xff\xdb"))
		wrong[quantization+10] ^= 1
		text := fmt.Sprintf("%x", md5.Sum(wrong)) // as if these had been the published bytes
		must.Do(t, errors.Join(os.WriteFile(file, wrong, 0o644), os.WriteFile(sum, []byte(text), 0o644)))
		if !published {
			must.Do(t, os.Remove(sum))
		}
		out := t.TempDir()
		first := gldv2Image(t, dir, out, "400000000000000e")
		must.Do(t, os.WriteFile(file, right, 0o644))
		if published {
			must.Do(t, os.WriteFile(sum, fmt.Appendf(nil, "%X", md5.Sum(right)), 0o644))
		}
		second := gldv2Image(t, dir, out, "400000000000000e")
		if bytes.Equal(first, second) || !bytes.Equal(second, picture(t, 4)) {
			t.Errorf("published %v: the image of the first TAR is still in the data set", published)
		}
	}
}

// gldv2Image builds a data set in out and returns one of its index images.
func gldv2Image(t *testing.T, dir, out, id string) []byte {
	t.Helper()
	src := must.Get(GLDv2{}.Open(t.Context(), Settings{Input: dir}))(t)
	defer src.Close()
	if _, err := shards.Build(t.Context(), src, out, shards.Options{}); err != nil {
		t.Fatal(err)
	}
	return imageOf(t, out, labels.Index, id)
}

func imageOf(t *testing.T, dir string, split labels.Split, id string) []byte {
	t.Helper()
	set := must.Get(shards.Open(t.Context(), dir))(t)
	defer set.Close()
	view := must.Get(set.Split(split))(t)
	for i := range view.Len() {
		if view.ID(i) == id {
			image := must.Get(view.Image(t.Context(), i))(t)
			return image
		}
	}
	t.Fatalf("no image %s", id)
	return nil
}

// A slice opens its own TARs alone if their members are listed, and with others' hashes the data set has the bytes of
// one build, whether the lists are there or not.
func TestSliceOpensItsOwnTARs(t *testing.T) {
	s, dir := newGLDv2Server(t), t.TempDir()
	must.Do(t, FetchGLDv2(t.Context(), s.fetch(dir)))
	lists, err := filepath.Glob(filepath.Join(dir, "*", "*.members"))
	if err != nil || len(lists) != 4 {
		t.Fatalf("%v, %q", err, lists)
	}
	open := func(wanted func(int) bool) *gldv2 {
		src := must.Get(GLDv2{}.Open(t.Context(), Settings{Input: dir, Wanted: wanted}))(t)
		t.Cleanup(func() { src.Close() })
		return src.(*gldv2)
	}
	o := shards.Options{Workers: 2, AllowMissing: 1}
	one := t.TempDir()
	if _, err := shards.Build(t.Context(), open(nil), one, o); err != nil {
		t.Fatal(err)
	}
	for name, remove := range map[string]func(){"listed": func() {}, "one list damaged, one gone": func() {
		os.WriteFile(lists[0], []byte("hgldtar1"), 0o644)
		os.Remove(lists[1])
	}} {
		remove()
		many := t.TempDir()
		for n := 1; n <= 4; n++ {
			src := open(shards.OfSlice(n, 4))
			if _, err := shards.BuildSlice(t.Context(), src, many, n, 4, o); err != nil {
				t.Fatal(err)
			}
			for i, tar := range src.tars.tars {
				if own := i == n-1; (tar.opened != nil) != own {
					t.Errorf("%s: slice %d of 4 has opened %s: %v", name, n, tar.name, !own)
				}
			}
		}
		r, err := shards.Finish(t.Context(), many, o)
		if err != nil || r.Kept != 5 { // the query is in a folder
			t.Fatalf("%s: %v, %+v", name, err, r)
		}
		for _, f := range r.Manifest.Files {
			a, err := os.ReadFile(filepath.Join(one, f.Name))
			b, other := os.ReadFile(filepath.Join(many, f.Name))
			if err != nil || other != nil || !bytes.Equal(a, b) {
				t.Errorf("%s: %s differs: %v, %v", name, f.Name, err, other)
			}
		}
		a, err := os.ReadFile(filepath.Join(one, shards.ManifestFile))
		b, other := os.ReadFile(filepath.Join(many, shards.ManifestFile))
		if err != nil || other != nil || !bytes.Equal(a, b) {
			t.Errorf("%s: the manifests differ: %v, %v", name, err, other)
		}
	}
}

// If a TAR changes while it is read, neither the old nor the new images are used.
func TestTARChangedMeanwhileStopsTheBuild(t *testing.T) {
	dir := gldv2Folder(t, true)
	src := must.Get(GLDv2{}.Open(t.Context(), Settings{Input: dir}))(t)
	defer src.Close()
	later := time.Now().Add(time.Hour)
	must.Do(t, os.Chtimes(filepath.Join(dir, "index", "images_004.tar"), later, later))
	wantError(t, buildError(t, src), "index/images_004.tar was changed while it was read")
}

func TestGLDv2MistakesAreNamed(t *testing.T) {
	for name, c := range map[string]struct {
		file, old, new string
		set            Settings
		want           []string
	}{
		"no table":  {"", "", "", Settings{}, []string{"no train_clean.csv and no train.csv"}},
		"no labels": {"metadata/x_label_to_hierarchical.csv", "", "", Settings{}, []string{"no labels: want a label file"}},
		"one label file": {"metadata/index_label_to_hierarchical.csv", "", "", Settings{},
			[]string{"index_image_to_landmark.csv:2:", "no labels of split index"}},
		"column": {"metadata/train_clean.csv", "landmark_id,", "landmark,", Settings{},
			[]string{"train_clean.csv:1:", "no column landmark_id"}},
		"id":       {"metadata/train_clean.csv", "000000000000000a", "xyz", Settings{}, []string{"train_clean.csv:2:", `image "xyz"`}},
		"landmark": {"metadata/train_clean.csv", "\n8,", "\neight,", Settings{}, []string{"train_clean.csv:3:", `landmark_id "eight"`}},
		"fields":   {"metadata/train_clean.csv", "\n8,", "\n", Settings{}, []string{"train_clean.csv", "line 3"}},
		"answer": {"metadata/retrieval_solution_v2.1.csv", "300000000000000d", "310000000000000d", Settings{},
			[]string{"retrieval_solution_v2.1.csv:2:", "310000000000000d, which is not in"}},
		"levels": {"", "", "", Settings{Levels: []string{"landmark"}}, []string{"leave out the settings levels, columns " +
			"and split"}},
	} {
		files := maps.Clone(gldv2Tables)
		switch {
		case name == "no table":
			files = tree{"train/x": ""}
		case name == "no labels":
			files = without(without(files, "metadata/train_label_to_hierarchical.csv"),
				"metadata/index_label_to_hierarchical.csv")
		case c.old != "":
			files = edit(files, c.file, c.old, c.new)
		case c.file != "":
			files = without(files, c.file)
		}
		c.set.Input = files.folder(t)
		_, err := items(t, GLDv2{}, c.set)
		wantError(t, err, append([]string{"gldv2"}, c.want...)...)
	}
}
