package dataset

import (
	"bytes"
	"context"
	"encoding/csv"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"hgld/internal/img"
	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
	"hgld/labels"
	"hgld/shards"
)

// groceryShards builds shards of the 5,421 photographs of the Grocery Store Dataset: 81 classes
// below 43 below 3.
func groceryShards(t testing.TB, dir string, o shards.Options) *shards.Result {
	t.Helper()
	data := goldens.Shared(t, "data", "grocery128")
	src, err := CSV{}.Open(context.Background(), Settings{
		Input: filepath.Join(data, "manifest.csv"), Images: filepath.Join(data, "grocery128.zip"),
		Levels: []string{"fine", "coarse", "top"},
	})
	must.Do(t, err)
	defer src.Close()
	r := must.Get(shards.Build(context.Background(), src, dir, o))(t)
	return r
}

func TestGroceryPhotosComeBackFromShards(t *testing.T) {
	dir := t.TempDir()
	o := shards.Options{Workers: runtime.NumCPU()}
	o.ImagesPerShard, o.HeadersOnly = 1000, true
	r := groceryShards(t, dir, o)
	if len(r.Failures) > 0 {
		t.Fatalf("%d failures, the first: %+v", len(r.Failures), r.Failures[0])
	}
	set := must.Get(shards.Open(t.Context(), dir))(t)
	defer set.Close()
	f := must.Get(os.Open(filepath.Join(goldens.Shared(t, "data", "grocery128"), "manifest.csv")))(t)
	defer f.Close()
	rows := must.Get(csv.NewReader(f).ReadAll())(t)
	want := map[string][]string{}
	for _, row := range rows[1:] {
		want[row[0]] = row
	}
	for split, n := range map[labels.Split]int{labels.Train: 2640, labels.Val: 296, labels.Test: 2485} {
		v := must.Get(set.Split(split))(t)
		if v.Len() != n {
			t.Errorf("%s: %d rows, want %d", split, v.Len(), n)
		}
		if got := []int{len(v.Classes(0)), len(v.Classes(1)), len(v.Classes(2))}; !slices.Equal(got, []int{81, 43, 3}) {
			t.Errorf("%v classes, want 81, 43 and 3", got)
		}
		i := 0
		for row, err := range v.Rows(t.Context(), true) {
			must.Do(t, err)
			w := want[row.Path]
			delete(want, row.Path)
			compareGrocery(t, v, i, row, w)
			i++
		}
		if i != n {
			t.Errorf("%s: %d rows read, want %d", split, i, n)
		}
	}
	if len(want) > 0 {
		t.Errorf("%d photographs are missing", len(want))
	}
}

// compareGrocery compares a row with its line in the CSV
// (path,split,fine_id,fine,coarse_id,coarse,top, width,height) and with the sidecar.
func compareGrocery(t *testing.T, v *shards.View, i int, row *shards.Row, w []string) {
	t.Helper()
	if w == nil {
		t.Fatalf("%s is not in the CSV", row.Path)
	}
	path := v.Labels(i)
	names := []string{v.Classes(0)[path[0]], v.Classes(1)[path[1]], v.Classes(2)[path[2]]}
	if !slices.Equal(names, []string{w[3], w[5], w[6]}) || string(row.Split) != w[1] {
		t.Errorf("%s: %v in %s, want %v", row.Path, names, row.Split, w)
	}
	if strconv.Itoa(row.W) != w[7] || strconv.Itoa(row.H) != w[8] {
		t.Errorf("%s: %d×%d, want %s×%s", row.Path, row.W, row.H, w[7], w[8])
	}
	if !slices.Equal(path, row.Labels) || row.ID.String() != v.ID(i) {
		t.Errorf("%s: sidecar %v %s, Parquet %v %s", row.Path, path, v.ID(i), row.Labels, row.ID)
	}
	image, err := v.Image(t.Context(), i)
	if err != nil || !bytes.Equal(image, row.Image) {
		t.Fatalf("%s: the image differs from Parquet's, %v", row.Path, err)
	}
	if i%20 > 0 {
		return
	}
	if m, err := new(img.Decoder).Decode(image); err != nil || m.W != row.W {
		t.Errorf("%s: %v", row.Path, err)
	}
}
