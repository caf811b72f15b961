package outputs

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"hgld/internal/usage"
	"hgld/labels"
	"hgld/train/retrieval"
)

func TestLegendHasAColourForEveryLevel(t *testing.T) {
	for levels, want := range map[string]string{
		"a":             "3 same a; 0 nothing in common",
		"a b":           "3 same a; 1 same b; 0 nothing in common",
		"a b c":         "3 same a; 2 same b; 1 same c; 0 nothing in common",
		"a b c d e f g": "3 same a; 2 same b, c, d; 1 same e, f, g; 0 nothing in common",
	} {
		var got []string
		for _, l := range legend(strings.Fields(levels)) {
			got = append(got, strconv.Itoa(l.Level)+" "+l.Text)
		}
		if strings.Join(got, "; ") != want {
			t.Errorf("%s: %s", levels, strings.Join(got, "; "))
		}
	}
}

func TestLeastIsWithinTheLevels(t *testing.T) {
	rows := Rows{&retrieval.Side{Labels: []labels.Path{{0, 0}}}}
	for _, o := range []TREC{{Least: 3, Places: 1}, {Least: -1, Places: 1}, {Least: 1, Places: 0}} {
		o.Prefix, o.Levels, o.Query, o.Gallery = t.TempDir()+"/x", 2, rows, rows
		if _, err := o.Open(); !errors.As(err, new(*usage.Error)) {
			t.Errorf("least %d, %d places: %v", o.Least, o.Places, err)
		}
	}
}

// An output receives as many places as it requested.
func TestOutputsShareALook(t *testing.T) {
	a, b := &counter{places: 2}, &counter{places: 5}
	o := Join(a, b)
	if o.Look().Places != 5 {
		t.Errorf("%d places, want 5", o.Look().Places)
	}
	if err := o.Look().Ranking(0, []int32{4, 3, 2, 1}, []float32{4, 3, 2, 1}); err != nil || a.seen != 2 || b.seen != 4 {
		t.Errorf("%d and %d places, %v", a.seen, b.seen, err)
	}
	failed := errors.New("failed")
	if err := o.Finish(t.Context(), nil, failed); !errors.Is(err, failed) || a.finished || !a.closed || !b.closed {
		t.Errorf("%v, %+v, %+v", err, a, b)
	}
}
