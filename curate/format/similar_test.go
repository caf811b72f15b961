package format

import (
	"fmt"
	"testing"

	"hgld/labels"
)

func TestSimilarFindsMisspellings(t *testing.T) {
	var tags []labels.DraftTag
	for i := range 400 {
		tags = append(tags, labels.DraftTag{Tag: labels.Tag{Name: fmt.Sprintf("church building %d", i)}})
	}
	tags = append(tags, labels.DraftTag{Tag: labels.Tag{Name: "archaeological site"}},
		labels.DraftTag{Tag: labels.Tag{Name: "bay"}})
	s := newSimilar(tags)
	for name, want := range map[string]string{
		"archeological site": "archaeological site", "Archaeologcial site": "archaeological site", "bays": "bay",
		"church building 39x": "church building 39", "windmill": "", "": "", "é": "",
	} {
		if got := s.nearest(name); got != want {
			t.Errorf("%q is near %q, want %q", name, got, want)
		}
	}
}
