package labels

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"hgld/internal/testing/must"
)

func TestDraftKeepsItsOptionalFields(t *testing.T) {
	d := &Draft{
		Version: DraftVersion,
		Origin: Origin{Algorithm: "k-means", Init: "random", WeightedBy: "images", Center: true, PCA: 7,
			Given: "hierarchy.json", GivenSHA256: "ab"},
		Tags: []DraftTag{{Tag: Tag{Name: "church"}, Landmarks: 2, Images: 9}, {Tag: Tag{Name: "chapel"}, Landmarks: 1}},
		Clusters: []Cluster{{Name: "worship", Known: true, Alternatives: []int{0, 1}, Landmarks: 3, Images: 9,
			Members: []Member{{Tag: 0}, {Tag: 1, Distance: 1}}}},
	}
	var b bytes.Buffer
	must.Do(t, WriteDraft(&b, d))
	text := b.String()
	back, err := ReadDraft(strings.NewReader(text), "f")
	if err != nil || !reflect.DeepEqual(back, d) {
		t.Errorf("read back %+v, %v; want %+v", back, err, d)
	}
	for old, message := range map[string]string{
		`[0,1]`:          `alternatives name tag 2, which is not a member`,
		`"landmarks": 3`: `-3 landmarks`,
	} {
		broken := strings.Replace(text, old, map[string]string{`[0,1]`: `[0,2]`, `"landmarks": 3`: `"landmarks": -3`}[old], 1)
		if broken == text {
			t.Fatalf("%q is not in\n%s", old, text)
		}
		if _, err := ReadDraft(strings.NewReader(broken), "f"); err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("error %v, want one with %q", err, message)
		}
	}
}
