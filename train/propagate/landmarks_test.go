package propagate

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/labels"
)

// someLabels has two labelled landmarks, one with an unknown tag on the Commons page of the second, one that was
// dropped, and one without a tag.
func someLabels(t *testing.T) *labels.Table {
	t.Helper()
	table, err := labels.Read(strings.NewReader(`{"hgld_labels": 1, "levels": ["landmark", "group"], "rows": [
		{"split": "train", "landmark_id": 0, "tag": "lake", "names": ["train/0", "lake"]},
		{"split": "train", "landmark_id": 1, "category": "x:One", "tag": "church", "names": ["train/1", "church"]},
		{"split": "train", "landmark_id": 2, "category": "x:One", "tag": "tarn", "names": ["train/2", ""], "reason": "tag_unknown"},
		{"split": "train", "landmark_id": 3, "tag": "firm", "names": ["train/3", ""], "reason": "tag_dropped"},
		{"split": "train", "landmark_id": 4, "tag": "pond", "names": ["train/4", ""], "reason": "tag_unknown"}]}`), "l.json", labels.ReadOptions{})
	must.Do(t, err)
	return table
}

func TestVectorsAreJoinedWithLandmarks(t *testing.T) {
	l := NewLandmarks(someLabels(t))
	owner, err := l.Owners(strings.NewReader("path,landmark_id\na/x.jpg,0\nb/y.jpg,3\nz.jpg,9\n"), "")
	must.Do(t, err)
	in, unknown := l.Input([]string{"x", "b/y.jpg", "z", "w"}, nil, owner)
	if want := []int32{0, -1, 5, -1}; !slices.Equal(in.Owner, want) || unknown != 1 || l.Dropped() != 1 {
		t.Errorf("landmarks %v, want %v; %d unknown, %d dropped", in.Owner, want, unknown, l.Dropped())
	}
	if want := []int32{0, 1, -1, -1, -1, -1}; !slices.Equal(in.Class, want) {
		t.Errorf("classes %v, want %v: landmark 9 is added without one", in.Class, want)
	}
}

func TestVotesAreDecided(t *testing.T) {
	table := someLabels(t)
	l := NewLandmarks(table)
	if _, err := l.Owners(strings.NewReader("id,landmark_id\nz,9\n"), ""); err != nil {
		t.Fatal(err)
	}
	votes := []Vote{{Landmark: 2, Class: 0, Share: 1, Second: -1}, {Landmark: 4, Class: 0, Share: 0.5, Second: 1},
		{Landmark: 5, Class: 1, Share: 0.75, Second: 0, Images: 3}}
	decisions, err := l.Give(votes, 0.6)
	if want := []Decision{Conflict, TooFew, Given}; err != nil || !slices.Equal(decisions, want) {
		t.Fatalf("%q, %v; want %q", decisions, err, want)
	}
	if row := table.Rows[5]; row.Landmark != 9 || row.Source != labels.Propagated || row.Names[1] != "church" {
		t.Errorf("landmark 9: %+v", row)
	}
	if row := table.Rows[2]; row.Labelled() {
		t.Errorf("landmark 2 has a label: %+v", row)
	}
	want := []string{"train", "9", "church", "0.7500", "lake", "3", "propagated"}
	if got := l.Review(votes, decisions).Rows[2]; !slices.Equal(got, want) {
		t.Errorf("review %q, want %q", got, want)
	}
	tags := l.Suggest(&Result{Votes: votes}).Rows
	if want := [][]string{{"tarn", "lake", "1.0000"}, {"pond", "lake", "0.5000"}}; !reflect.DeepEqual(tags, want) {
		t.Errorf("suggestions %q, want %q", tags, want)
	}
}
