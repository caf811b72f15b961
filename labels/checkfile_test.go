package labels

import (
	"errors"
	"testing"
)

func TestCheckFileDetectsTheFormat(t *testing.T) {
	tags := `{"hgld_tags":1}` + "\n" + `{"landmark_id":1,"split":"train","category":"c","outcome":"ok","tag":"lake"}` + "\n"
	for _, c := range []struct {
		name, text, kind, summary string
		errors                    int
	}{
		{"tags.jsonl", tags, "tags", "1 landmark", 0},
		{"draft.json", `{"hgld_draft":1`, "draft", "", 1},
		{"hierarchy.json", "\ufeff" + `{"hgld_hierarchy": 1`, "hierarchy", "", 1},
		{"train_labels.csv", "landmark_id,category,tag\n1,http://commons.wikimedia.org/wiki/Category:A,lake\n", "labels",
			"1 rows, 1 with a label", 0},
		{"train_labels.csv", "a,b\n1", "labels", "", 1},
	} {
		f, err := CheckFile(c.name, []byte(c.text), ReadOptions{})
		if err != nil || f.Kind != c.kind || f.Errors != c.errors || c.errors == 0 && f.Summary != c.summary {
			t.Errorf("%s: %+v, %v", c.name, f, err)
		}
	}
	_, err := CheckFile("labels.csv", []byte("landmark_id,category\n1,http://commons.wikimedia.org/wiki/Category:A\n"),
		ReadOptions{})
	if !errors.As(err, new(*SplitUnknownError)) {
		t.Errorf("%v, want a *SplitUnknownError", err)
	}
}
