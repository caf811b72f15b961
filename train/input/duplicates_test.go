package input

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
