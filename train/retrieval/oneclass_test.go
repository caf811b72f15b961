package retrieval

import (
	"bytes"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/labels"
)

func TestAnEvaluationOfOneClassSaysSo(t *testing.T) {
	one, two, none := labels.Path{3, 1}, labels.Path{4, 1}, labels.Path{-1, 1}
	for _, c := range []struct {
		query, gallery []labels.Path
		want           bool
	}{
		{[]labels.Path{one, one}, []labels.Path{one}, true},
		{[]labels.Path{one, two}, []labels.Path{one}, false},
		{[]labels.Path{one}, []labels.Path{one, two}, false},
		{[]labels.Path{one}, []labels.Path{one, none}, false},
		{[]labels.Path{none}, []labels.Path{none}, false},
		{nil, []labels.Path{one}, false},
	} {
		if got := oneClass(c.query, c.gallery); got != c.want {
			t.Errorf("queries %v, gallery %v: %v", c.query, c.gallery, got)
		}
	}
	for _, is := range []bool{true, false} {
		var table bytes.Buffer
		must.Do(t, (&Result{Levels: []string{"fine"}, OneClass: is}).Table(&table))
		if strings.Contains(table.String(), "one class at fine") != is {
			t.Errorf("one class is %v: %s", is, table.String())
		}
	}
}
