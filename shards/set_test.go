package shards

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"hgld/internal/testing/must"
	"hgld/labels"
)

// A View is what the trainer needs of a data set.
var _ interface {
	Len() int
	Levels() []string
	Classes(level int) []string
	Labels(i int) labels.Path
	Image(ctx context.Context, i int) ([]byte, error)
	ID(i int) string
} = (*View)(nil)

func TestSetReturnsTheWrittenRows(t *testing.T) {
	src := newSource(t, 47)
	dir := t.TempDir()
	mustBuild(t, src, dir, small())
	set := mustOpen(t, dir)
	next, most, all := map[labels.Split]int{}, map[labels.Split]int{}, map[labels.Split]int64{}
	for i, item := range src.items {
		v := mustSplit(t, set, item.Split)
		k := next[item.Split]
		next[item.Split]++
		image, err := v.Image(t.Context(), k)
		if want := photo(t, 20+i%30, 16+i%17, uint64(i)); err != nil || !bytes.Equal(image, want) {
			t.Errorf("item %d: image differs, %v", i, err)
		}
		most[item.Split], all[item.Split] = max(most[item.Split], len(image)), all[item.Split]+int64(len(image))
		if v.ID(k) != item.ID.String() {
			t.Errorf("item %d: id %s, want %s", i, v.ID(k), item.ID)
		}
		if got, err := v.Path(t.Context(), k); err != nil || got != item.Path {
			t.Errorf("item %d: path %q, %v; want %q", i, got, err, item.Path)
		}
		path := v.Labels(k)
		if item.Names == nil {
			if !slices.Equal(path, labels.Path{-1, -1}) {
				t.Errorf("item %d: labels %v, want none", i, path)
			}
		} else if got := []string{v.Classes(0)[path[0]], v.Classes(1)[path[1]]}; !slices.Equal(got, item.Names) {
			t.Errorf("item %d: classes %v, want %v", i, got, item.Names)
		}
	}
	for split, n := range next {
		v := mustSplit(t, set, split)
		if got := v.ImageBytes(); got != all[split] {
			t.Errorf("%s: the images have %d bytes, want %d", split, got, all[split])
		}
		if got := v.Len(); got != n {
			t.Errorf("%s: %d rows, want %d", split, got, n)
		}
		if got := v.MostBytes(); got != most[split] {
			t.Errorf("%s: the largest image has %d bytes, want %d", split, got, most[split])
		}
	}
	if got := mustSplit(t, set, labels.Train).Levels(); !slices.Equal(got, []string{"fine", "coarse"}) {
		t.Errorf("levels %v", got)
	}
	_, err := set.Split(labels.Gallery)
	wantError(t, err, "gallery", "train")
}

func TestRowsHaveAllColumns(t *testing.T) {
	src := newSource(t, 23)
	dir := t.TempDir()
	mustBuild(t, src, dir, small())
	v := mustSplit(t, mustOpen(t, dir), labels.Train)
	for _, images := range []bool{true, false} {
		var items []Item
		for _, item := range src.items {
			if item.Split == labels.Train {
				items = append(items, item)
			}
		}
		i := 0
		for row, err := range v.Rows(t.Context(), images) {
			must.Do(t, err)
			item := items[i]
			if row.ID != item.ID || row.Path != item.Path || row.Split != item.Split || row.Attributes != item.Attributes {
				t.Errorf("row %d: %+v, want %+v", i, row, item)
			}
			if !slices.Equal(row.Labels, v.Labels(i)) || (len(row.Image) > 0) != images || row.W < 20 || row.H < 16 {
				t.Errorf("row %d: labels %v, %d bytes, %d×%d", i, row.Labels, len(row.Image), row.W, row.H)
			}
			i++
		}
		if i != len(items) {
			t.Errorf("%d rows, want %d", i, len(items))
		}
	}
}

func TestFilterKeepsOrderAndNests(t *testing.T) {
	dir := t.TempDir()
	mustBuild(t, newSource(t, 60), dir, small())
	all := mustSplit(t, mustOpen(t, dir), labels.Train)
	some := all.Filter([]int{30, 5, 6, 7, 7, 20})
	few := some.Filter([]int{5, 0, 4})
	for i, want := range []int{20, 30, 7} {
		if few.ID(i) != all.ID(want) {
			t.Errorf("row %d is %s, want row %d", i, few.ID(i), want)
		}
	}
	i := 0
	for row, err := range some.Rows(t.Context(), false) {
		if err != nil || row.ID.String() != some.ID(i) {
			t.Errorf("row %d: %v, %v", i, row, err)
		}
		i++
	}
	k := 0
	for image, err := range some.Images(t.Context()) {
		want, imageErr := some.Image(t.Context(), k)
		if err != nil || imageErr != nil || image.Row != k || !bytes.Equal(image.File, want) {
			t.Errorf("image %d: row %d, %v, %v", k, image.Row, err, imageErr)
		}
		k++
	}
	if i != 6 || k != 6 {
		t.Errorf("%d rows and %d images, want 6", i, k)
	}
	if empty := all.Filter(nil); empty.Len() != 0 {
		t.Errorf("an empty filter has %d rows", empty.Len())
	}
}

func TestSetServesManyGoroutines(t *testing.T) {
	dir := t.TempDir()
	mustBuild(t, newSource(t, 60), dir, small())
	want := readAll(t, dir)
	set := mustOpen(t, dir)
	v := mustSplit(t, set, labels.Train)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(g), 1))
			var buf []byte
			for range 200 {
				i := rng.IntN(v.Len())
				var err error
				if buf, err = v.AppendImage(context.Background(), buf[:0], i); err != nil || !bytes.Equal(buf, want[v.ID(i)]) {
					t.Errorf("row %d: %v", i, err)
				}
			}
			for row, err := range v.Rows(context.Background(), true) {
				if err != nil || !bytes.Equal(row.Image, want[row.ID.String()]) {
					t.Errorf("row %s: %v", row.ID, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestReadersStopWithTheContext(t *testing.T) {
	dir := t.TempDir()
	mustBuild(t, newSource(t, 20), dir, small())
	v := mustSplit(t, mustOpen(t, dir), labels.Train)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := v.Image(ctx, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("Image: %v", err)
	}
	for _, err := range v.Rows(ctx, false) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Rows: %v", err)
		}
	}
	for _, err := range v.Images(ctx) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Images: %v", err)
		}
	}
	for range v.Rows(t.Context(), false) { // after a cancelled iteration, and left early
		break
	}
}

func TestLabelsOfARowHaveNoSpareCapacity(t *testing.T) {
	dir := t.TempDir()
	mustBuild(t, newSource(t, 20), dir, small())
	v := mustSplit(t, mustOpen(t, dir), labels.Train)
	next := slices.Clone(v.Labels(1))
	_ = append(v.Labels(0), 99)
	if !slices.Equal(v.Labels(1), next) {
		t.Error("appending to one row's labels changed another's")
	}
}

func TestFolderWithoutManifestIsRefused(t *testing.T) {
	_, err := Open(t.Context(), t.TempDir())
	if !errors.Is(err, fs.ErrNotExist) || !errors.As(err, new(*UnfinishedError)) {
		t.Errorf("error %v", err)
	}
	wantError(t, err, ManifestFile, "not finished")
	gone := t.TempDir() + "/gone"
	_, err = Open(t.Context(), gone)
	wantError(t, err, gone+": the folder does not exist")
}

// GLDv2 numbers train and index separately, so id 5 is two landmarks. Id 0 is a landmark, and not
// NULL.
func TestLandmarksOfTwoSplitsAreDistinct(t *testing.T) {
	src := newSource(t, 12)
	src.levels = []string{labels.LandmarkLevel, labels.SupercategoryLevel, labels.KindLevel}
	for i := range src.items {
		item := &src.items[i]
		item.Split = []labels.Split{labels.Train, labels.Index, labels.Test}[i%3]
		item.Landmark, item.Names = -1, nil
		if item.Split != labels.Test {
			item.Landmark = labels.LandmarkID(i / 6 * 5)
			key := labels.LandmarkKey{Split: item.Split, Landmark: item.Landmark}
			item.Names = []string{key.String(), fmt.Sprintf("church %d", i%2), "human-made"}
			if i%3 == 0 {
				item.Names[1], item.Names[2] = "", "" // a landmark without label
			} else {
				item.Names[1] = "church"
			}
		}
		item.Attributes.Tag = "parish church"
	}
	src.landmarks = true
	dir := t.TempDir()
	mustBuild(t, src, dir, small())
	if v := mustVerify(t, dir); len(v.Damage) > 0 {
		t.Fatal(v.Damage[0])
	}
	set := mustOpen(t, dir)
	for split, want := range map[labels.Split][]string{
		labels.Train: {"train/0", "train/0", "train/5", "train/5"},
		labels.Index: {"index/0", "index/0", "index/5", "index/5"},
		labels.Test:  {"", "", "", ""},
	} {
		v := mustSplit(t, set, split)
		i := 0
		for row, err := range v.Rows(t.Context(), false) {
			must.Do(t, err)
			name := ""
			if c := row.Labels[0]; c >= 0 {
				name = v.Classes(0)[c]
			}
			if name != want[i] || !slices.Equal(row.Labels, v.Labels(i)) || row.Attributes.Tag != "parish church" {
				t.Errorf("%s row %d: %q, %v, %+v", split, i, name, row.Labels, row)
			}
			i++
		}
	}
}
