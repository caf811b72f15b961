package shards

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"hgld/internal/filelock"
	"hgld/internal/testing/must"
)

func TestSlicesTogetherEqualABuild(t *testing.T) {
	whole, dir := t.TempDir(), t.TempDir()
	mustBuild(t, newSource(t, 60), whole, small())
	var group sync.WaitGroup
	sum := make([]*Slice, 3)
	for n := range sum {
		group.Go(func() { // concurrently, as on several machines
			s, err := BuildSlice(t.Context(), newSource(t, 60), dir, n+1, len(sum), small())
			if err != nil {
				t.Error(err)
				return
			}
			sum[n] = s
		})
	}
	group.Wait()
	if t.Failed() {
		t.FailNow()
	}
	if images := sum[0].Images + sum[1].Images + sum[2].Images; images != 60 {
		t.Errorf("%d images in the slices, want 60", images)
	}
	if _, err := Open(t.Context(), dir); err == nil {
		t.Error("slices alone open as a data set")
	}
	r := mustBuild(t, newSource(t, 60), dir, small())
	if shards := sum[0].Shards + sum[1].Shards + sum[2].Shards; r.Kept != shards || len(r.Manifest.Files) != shards {
		t.Errorf("%d of %d shards kept, %d built in slices", r.Kept, len(r.Manifest.Files), shards)
	}
	sameContents(t, contents(t, dir), contents(t, whole))
}

func TestPlanMarksFinishedShards(t *testing.T) {
	dir := t.TempDir()
	if _, err := BuildSlice(t.Context(), newSource(t, 60), dir, 2, 3, small()); err != nil {
		t.Fatal(err)
	}
	there := func() (list []int) {
		t.Helper()
		before := contents(t, dir)
		p := must.Get(Plan(t.Context(), newSource(t, 60), dir, small()))(t)
		images := 0
		for i, s := range p.Shards {
			if images += s.Images; s.There {
				list = append(list, i)
			}
		}
		if images != 60 {
			t.Errorf("%d images planned, want 60", images)
		}
		sameContents(t, contents(t, dir), before)
		return list
	}
	for _, i := range there() {
		if i%3 != 1 {
			t.Errorf("shard %d is there", i)
		}
	}
	mustBuild(t, newSource(t, 60), dir, small())
	if n := len(there()); n != len(must.Get(ReadManifest(t.Context(), dir))(t).Files) {
		t.Errorf("%d shards there after the build", n)
	}
	names, err := filepath.Glob(filepath.Join(dir, LockName+"*"))
	if err != nil || len(names) > 0 {
		t.Errorf("locks left: %v, %v", names, err)
	}
}

func TestSliceAndBuildExcludeEachOther(t *testing.T) {
	dir := t.TempDir()
	held := must.Get(filelock.Acquire(filepath.Join(dir, LockName+"-1-of-2")))(t)
	var locked *filelock.LockedError
	if _, err := BuildSlice(t.Context(), newSource(t, 10), dir, 1, 2, small()); !errors.As(err, &locked) {
		t.Errorf("the slice of another process: %v", err)
	}
	if _, err := Build(t.Context(), newSource(t, 10), dir, small()); !errors.As(err, &locked) {
		t.Errorf("a build while a slice is made: %v", err)
	}
	if _, err := BuildSlice(t.Context(), newSource(t, 10), dir, 2, 2, small()); err != nil {
		t.Errorf("another slice: %v", err)
	}
	must.Do(t, held.Close())
	whole := must.Get(filelock.Acquire(filepath.Join(dir, LockName)))(t)
	if _, err := BuildSlice(t.Context(), newSource(t, 10), dir, 1, 2, small()); !errors.As(err, &locked) {
		t.Errorf("a slice while a build is made: %v", err)
	}
	must.Do(t, whole.Close())
	for _, n := range []int{0, 3} {
		if _, err := BuildSlice(t.Context(), newSource(t, 10), dir, n, 2, small()); err == nil {
			t.Errorf("slice %d of 2 is built", n)
		}
	}
}

// A slice removes what a killed process left of its own shards, but nothing that another slice
// writes.
func TestSliceLeavesUnfinishedShardsOfOthers(t *testing.T) {
	dir := t.TempDir()
	p := must.Get(Plan(t.Context(), newSource(t, 60), dir, small()))(t)
	must.Do(t, os.MkdirAll(filepath.Join(dir, "data"), 0o755))
	left := func(i int) string { return filepath.Join(dir, "data", "."+filepath.Base(p.Shards[i].Name)+".tmp-7") }
	for i := range 2 {
		must.Do(t, os.WriteFile(left(i), []byte("x"), 0o644))
	}
	if _, err := BuildSlice(t.Context(), newSource(t, 60), dir, 1, 2, small()); err != nil {
		t.Fatal(err)
	}
	got := []bool{disk("").mayExist(left(0)), disk("").mayExist(left(1))}
	if !slices.Equal(got, []bool{false, true}) {
		t.Errorf("left: own %v, the other slice's %v", got[0], got[1])
	}
}

// Whoever reads the shards must see which images were accepted without author or licence.
func TestUnattributedImagesAreMarked(t *testing.T) {
	src := newSource(t, 20)
	src.items[0].Attributes.Author = ""                           // train
	src.items[1].Attributes.License = ""                          // train
	src.items[3].Attributes = Attributes{Title: "no attribution"} // val: in the public domain
	read := func(o Options) map[string]Attributes {
		dir := t.TempDir()
		mustBuild(t, src, dir, o)
		set := must.Get(Open(t.Context(), dir))(t)
		defer set.Close()
		all := map[string]Attributes{}
		for _, split := range set.Manifest().Splits() {
			for row, err := range must.Get(set.Split(split))(t).Rows(t.Context(), false) {
				must.Do(t, err)
				all[row.Path] = row.Attributes
			}
		}
		return all
	}
	plain := read(small())
	marked := read(with(small(), func(o *Options) { o.MarkUnattributed = true }))
	if a := marked["photos/0.jpg"]; a.Author != Unattributed || a.License != "CC BY 4.0" {
		t.Errorf("without author: %+v", a)
	}
	if a := marked["photos/1.jpg"]; a.Author != "author 1" || a.License != Unattributed {
		t.Errorf("without licence: %+v", a)
	}
	for path, a := range marked {
		if path != "photos/0.jpg" && path != "photos/1.jpg" && a != plain[path] {
			t.Errorf("%s: %+v, want %+v", path, a, plain[path])
		}
	}
	if plain["photos/0.jpg"].Author != "" {
		t.Errorf("marked although not asked to: %+v", plain["photos/0.jpg"])
	}
}

// Slices that start together must not take the folder of another for somebody else's: all else comes after the mark.
func TestTheMarkComesBeforeTheShards(t *testing.T) {
	dir := disk(filepath.Join(t.TempDir(), "set"))
	must.Do(t, makeFolder(dir))
	if names := must.Get(os.ReadDir(string(dir)))(t); len(names) > 0 {
		t.Errorf("before the mark there is %v", names)
	}
	must.Do(t, markFolder(t.Context(), dir))
	if !dir.mayExist(LockName) || !dir.mayExist("data") {
		t.Error("the mark or the folder of the shards is missing")
	}
}
