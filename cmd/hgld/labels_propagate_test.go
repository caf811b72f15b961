package main

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"hgld/internal/tensorfile"
	"hgld/internal/testing/must"
	"hgld/internal/testing/testfile"
)

// propagationFiles writes seven landmarks with two images each: of the train split 0 and 1 are lakes near 0°, 2 and
// 3 are churches near 90°; 4, at 3°, has a tag that curation does not know, 5, at 88°, none, and 6, at 2°, one
// that was dropped. Landmark 7 of the index split is a church near 1° on the Commons page of train 4.
func propagationFiles(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	testfile.Write(t, ".", "labels.json", `{"hgld_labels": 1, "levels": ["landmark", "supercategory", "kind"], "rows": [
		{"split": "train", "landmark_id": 0, "tag": "lake", "names": ["train/0", "lake", "natural"]},
		{"split": "train", "landmark_id": 1, "tag": "lake", "names": ["train/1", "lake", "natural"], "source": "curated"},
		{"split": "train", "landmark_id": 2, "tag": "church", "names": ["train/2", "church", "human-made"]},
		{"split": "train", "landmark_id": 3, "tag": "church", "names": ["train/3", "church", "human-made"]},
		{"split": "train", "landmark_id": 4, "category": "x:Four", "tag": "tarn", "names": ["train/4", "", ""], "reason": "tag_unknown"},
		{"split": "train", "landmark_id": 5, "names": ["train/5", "", ""], "reason": "no_infobox"},
		{"split": "train", "landmark_id": 6, "tag": "firm", "names": ["train/6", "", ""], "reason": "tag_dropped"}]}`)
	angles := []float64{0, 1, 90, 91, 3, 88, 2}
	images, ids := "id,landmark_id\n", "id\n"
	var vectors []float32
	for landmark, angle := range angles {
		for view := range 2 {
			a := (angle + float64(view)/4) * math.Pi / 180
			vectors = append(vectors, float32(math.Cos(a)), float32(math.Sin(a)))
			images += fmt.Sprintf("im%d_%d,%d\n", landmark, view, landmark)
			ids += fmt.Sprintf("photos/im%d_%d.jpg\n", landmark, view)
		}
	}
	testfile.Write(t, ".", "images.csv", images)
	testfile.Write(t, ".", "v.csv", ids)
	f := must.Get(os.Create("v.npy"))(t)
	defer f.Close()
	must.Do(t, tensorfile.WriteNPY(f, tensorfile.NewF32("", []int{len(vectors) / 2, 2}, vectors)))
}

func propagateArgs(more ...string) []string {
	return append([]string{"labels", "propagate", "--vectors", "v.npy", "--images", "images.csv", "--neighbours", "2"},
		more...)
}

func TestLabelsAreTakenFromLandmarksThatLookAlike(t *testing.T) {
	propagationFiles(t)
	out := succeeds(t, propagateArgs("--review", "votes.csv", "--suggest", "tags.csv", "labels.json", "new.csv")...)
	if !strings.Contains(out, "2 landmarks labelled, 0 with votes below 0.9, 0 in conflict") ||
		!strings.Contains(out, "≥ 0.9          4    100.0%      51.0 to 100.0") {
		t.Error(out)
	}
	for name, want := range map[string]string{
		"new.csv": "landmark_id,category,supercategory,hierarchical_label,natural_or_human_made,label_source\n" +
			"0,,lake,lake,natural,\n1,,lake,lake,natural,curated\n2,,church,church,human-made,\n3,,church,church,human-made,\n" +
			"4,x:Four,tarn,lake,natural,propagated\n5,,,church,human-made,propagated\n6,,firm,,,\n",
		"votes.csv": "split,landmark_id,class,share,second,images,decision\ntrain,4,lake,1.0000,,2,propagated\n" +
			"train,5,church,1.0000,,2,propagated\n",
		"tags.csv": "tag,group,score\ntarn,lake,1.0000\n",
	} {
		if got := readText(t, name); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
	}
	// A sheet keeps its bytes but for the new column; a label that is there stays.
	succeeds(t, "labels", "convert", "--to", "hierarchical", "labels.json", "old.csv")
	succeeds(t, propagateArgs("--split", "train", "old.csv", "sheet.csv")...)
	if got := readText(t, "sheet.csv"); !strings.Contains(got, "4,x:Four,tarn,lake,natural,propagated\n") ||
		!strings.Contains(got, "0,,lake,lake,natural,\n") {
		t.Error(got)
	}
}

// A landmark whose page has another class in another split gets none.
func TestAPropagatedLabelContradictsNoOtherSplit(t *testing.T) {
	propagationFiles(t)
	text := readText(t, "labels.json")
	text = strings.Replace(text, `"rows": [`, `"rows": [{"split": "index", "landmark_id": 7, "category": "x:Four", "tag": "church",
		"names": ["index/7", "church", "human-made"]},`, 1)
	testfile.Write(t, ".", "labels.json", text)
	says(t, exitUsage, "no column split, and the labels are of 2 splits", propagateArgs("labels.json", "new.json")...)
	images := strings.ReplaceAll(readText(t, "images.csv"), "\n", ",train\n")
	testfile.Write(t, ".", "images.csv", strings.Replace(images, ",train", ",split", 1))
	out := succeeds(t, propagateArgs("--review", "votes.csv", "labels.json", "new.json")...)
	if !strings.Contains(out, "1 landmarks labelled, 0 with votes below 0.9, 1 in conflict") {
		t.Error(out)
	}
	if votes := readText(t, "votes.csv"); !strings.Contains(votes, "train,4,lake,1.0000,,2,conflict\n") {
		t.Error(votes)
	}
}

func TestPropagationNamesWhatIsWrong(t *testing.T) {
	propagationFiles(t)
	testfile.Write(t, ".", "other.csv", "id,landmark_id\nzz,0\n")
	testfile.Write(t, ".", "twice.csv", "id,landmark_id\nim0_0,0\nim0_0,1\n")
	testfile.Write(t, ".", "urls.csv", "id,url\nim0_0,x\n")
	testfile.Write(t, ".", "word.csv", "id,landmark_id\nim0_0,none\n")
	testfile.Write(t, ".", "part.csv", "id,landmark_id,split\nim0_0,0,trian\n")
	for _, c := range []struct{ args, want string }{
		{"labels.json x.json", "needs --"},
		{"--images other.csv labels.json x.json", "none of the 14 vectors of v.npy has an id"},
		{"--images twice.csv labels.json x.json", `line 3: image "im0_0" has two landmarks`},
		{"--images urls.csv labels.json x.json", "urls.csv: its columns are id, url, want id"},
		{"--images word.csv labels.json x.json", `line 2: landmark_id is "none"`},
		{"--images part.csv labels.json x.json", `line 2: split is "trian"`},
		{"--images images.csv --min-vote 2 labels.json x.json", "--min-vote is 2"},
		{"--images images.csv --temperature 0 labels.json x.json", "--temperature is 0"},
		{"--images images.csv labels.json", "the labels to read and those to write"},
	} {
		args := []string{"labels", "propagate", "--vectors", "v.npy"}
		says(t, exitUsage, c.want, append(args, strings.Fields(c.args)...)...)
		if _, err := os.Stat("x.json"); err == nil {
			t.Fatalf("%s wrote x.json", c.args)
		}
	}
}

func readText(t *testing.T, name string) string {
	t.Helper()
	data := must.Get(os.ReadFile(name))(t)
	return string(data)
}
