package train

import (
	"context"
	"slices"
	"testing"

	"hgld/labels"
)

// files is a data set of files of a byte each.
type files string

func (f files) Len() int                                       { return len(f) }
func (f files) ID(i int) string                                { return string(f[i]) }
func (f files) Labels(int) labels.Path                         { return labels.Path{0} }
func (f files) Levels() []string                               { return []string{"class"} }
func (f files) Classes(int) []string                           { return []string{"a"} }
func (f files) Image(_ context.Context, i int) ([]byte, error) { return []byte{f[i]}, nil }

func TestCopiesAreTheFirstEqualFiles(t *testing.T) {
	rows, n, err := Copies(t.Context(), files("abx"), files("zaba"))
	if err != nil || n != 2 || !slices.Equal(rows, []int32{1, 2, -1}) {
		t.Errorf("%v, %d, %v; want [1 2 -1], 2", rows, n, err)
	}
	if d := First(files("abc"), 2); d.Len() != 2 || d.ID(1) != "b" {
		t.Errorf("the first two items are %d", d.Len())
	}
	if d := First(files("abc"), 5); d.Len() != 3 {
		t.Errorf("the first five of three items are %d", d.Len())
	}
}

func TestTimesOfSteps(t *testing.T) {
	got := timesOf([]Event{{Seconds: 3, Images: 10, Waited: 1}, {Seconds: 1, Images: 10},
		{Seconds: 2, Images: 10, Waited: 0.5}})
	if want := (StepTimes{3, 2000, 1000, 3000, 5, 0.25, 30 / 4.5}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if timesOf(nil) != (StepTimes{}) {
		t.Error("no steps have times")
	}
}
