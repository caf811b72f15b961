package shards

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hgld/internal/filelock"
	"hgld/internal/img"
	"hgld/internal/testing/effort"
	"hgld/internal/testing/must"
	"hgld/labels"
)

func TestSameBytesForAnyNumberOfWorkers(t *testing.T) {
	src := newSource(t, 83)
	o := small()
	o.ShortSide = 18 // shrinks some images and not others
	var want map[string]string
	for _, workers := range []int{1, 2, 5, 16} {
		dir := t.TempDir()
		o.Workers = workers
		mustBuild(t, src, dir, o)
		got := contents(t, dir)
		if want == nil {
			want = got
		}
		sameContents(t, got, want)
	}
	if len(want) != 2*(6+2+2)+4+4 { // 51, 16 and 16 images, ten per shard
		t.Errorf("%d files: %v", len(want), slices.Sorted(mapKeys(want)))
	}
}

func mapKeys(m map[string]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func TestFinishedShardsAreKept(t *testing.T) {
	src := newSource(t, 60)
	dir := t.TempDir()
	mustBuild(t, src, dir, small())
	want := contents(t, dir)
	src.opened.Store(0)
	r := mustBuild(t, src, dir, small())
	if r.Kept != len(r.Manifest.Files) || src.opened.Load() != 0 {
		t.Errorf("%d of %d shards kept, %d images opened", r.Kept, len(r.Manifest.Files), src.opened.Load())
	}
	sameContents(t, contents(t, dir), want)
}

func TestOnlyMissingChangedAndDamagedShardsAreBuilt(t *testing.T) {
	src := newSource(t, 100)
	dir := t.TempDir()
	r := mustBuild(t, src, dir, small())
	names := r.Manifest.Files
	if err := os.Remove(filepath.Join(dir, names[0].Name)); err != nil { // missing
		t.Fatal(err)
	}
	flip(t, filepath.Join(dir, names[1].Name), 1000, 1)           // damaged
	flip(t, filepath.Join(dir, indexName(names[2].Name)), 100, 1) // sidecar damaged
	src.put(&src.items[99], photo(t, 50, 50, 99))                 // changed: the last image of test
	r = mustBuild(t, src, dir, small())
	if want := len(names) - 4; r.Kept != want {
		t.Errorf("%d shards kept, want %d", r.Kept, want)
	}
	fresh := t.TempDir()
	mustBuild(t, src, fresh, small())
	sameContents(t, contents(t, dir), contents(t, fresh))
}

func TestShardsOfAnEarlierBuildAreRemoved(t *testing.T) {
	dir := t.TempDir()
	mustBuild(t, newSource(t, 100), dir, small())
	src := newSource(t, 30)
	o := small()
	o.Replace = true
	mustBuild(t, src, dir, o)
	fresh := t.TempDir()
	mustBuild(t, src, fresh, small())
	sameContents(t, contents(t, dir), contents(t, fresh))
}

func TestForeignShardsAreKept(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, os.MkdirAll(filepath.Join(dir, "data"), 0o755))
	foreign := filepath.Join(dir, "data", "train-00000-of-00009.parquet")
	must.Do(t, os.WriteFile(foreign, []byte("precious"), 0o644))
	_, err := Build(t.Context(), newSource(t, 5), dir, small())
	wantError(t, err, "train-00000-of-00009.parquet", "empty folder")
	if data, err := os.ReadFile(foreign); string(data) != "precious" {
		t.Errorf("the foreign file is %q, %v", data, err)
	}
}

func TestSecondBuilderIsLockedOut(t *testing.T) {
	dir := t.TempDir()
	src := newSource(t, 5)
	var second error
	open := src.items[0].Open
	src.items[0].Open = func() (io.ReadCloser, error) {
		_, second = Build(context.Background(), newSource(t, 5), dir, small())
		return open()
	}
	mustBuild(t, src, dir, small())
	var locked *filelock.LockedError
	if !errors.As(second, &locked) || locked.PID != os.Getpid() {
		t.Errorf("error %v, want a LockedError with our process id", second)
	}
}

// TestCancelledBuildContinues stops a build at many of its images. What exists then must be valid,
// and the next run must give the bytes of an undisturbed build.
func TestCancelledBuildContinues(t *testing.T) {
	fresh := t.TempDir()
	src := newSource(t, 40)
	mustBuild(t, src, fresh, small())
	want := contents(t, fresh)
	step := 13
	if effort.Exhaustive() {
		step = 3
	}
	for stop := 0; stop < 40; stop += step {
		dir := t.TempDir()
		ctx, cancel := context.WithCancel(t.Context())
		hindered := newSource(t, 40)
		open := hindered.items[stop].Open
		hindered.items[stop].Open = func() (io.ReadCloser, error) { cancel(); return open() }
		if _, err := Build(ctx, hindered, dir, small()); !errors.Is(err, context.Canceled) {
			t.Fatalf("stopped at %d: %v", stop, err)
		}
		if _, err := Open(t.Context(), dir); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("stopped at %d, the folder opens: %v", stop, err)
		}
		mustBuild(t, src, dir, small())
		sameContents(t, contents(t, dir), want)
		cancel()
	}
}

func TestBadImagesBecomeFailures(t *testing.T) {
	src := newSource(t, 30)
	var good bytes.Buffer
	must.Do(t, png.Encode(&good, image.NewGray(image.Rect(0, 0, 9000, 9000))))
	truncated := photo(t, 40, 40, 1)
	src.put(&src.items[0], truncated[:len(truncated)/2])
	src.put(&src.items[1], good.Bytes())
	lose(src.items[2:3])
	src.items[5].Attributes.Author = ""
	src.items[6].SHA256 = hex.EncodeToString(make([]byte, 32))
	src.items[7].Open = func() (io.ReadCloser, error) { return nil, errors.New("input/output error") }
	src.items[10].Size = 1 << 40
	src.put(&src.items[11], []byte("no image at all"))
	o := small()
	o.Attribution = true
	dir := t.TempDir()
	r := mustBuild(t, src, dir, o)
	var got []string
	for _, f := range r.Failures {
		got = append(got, fmt.Sprintf("%s %s %s", f.Path, f.Where, f.Class))
		if strings.Contains(f.Error, "somewhere") {
			t.Errorf("%q tells where the input lay", f.Error)
		}
	}
	want := []string{
		"photos/0.jpg labels.csv:2 decode", "photos/1.jpg labels.csv:3 too big", "photos/2.jpg labels.csv:4 missing",
		"photos/5.jpg labels.csv:7 licence", "photos/6.jpg labels.csv:8 hash", "photos/7.jpg labels.csv:9 read",
		"photos/10.jpg labels.csv:12 too big", "photos/11.jpg labels.csv:13 decode",
	}
	if !slices.Equal(got, want) {
		t.Errorf("failures\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	set := mustOpen(t, dir)
	if n := mustSplit(t, set, labels.Train).Len(); n != 18-8 {
		t.Errorf("%d training rows, want 10", n)
	}
	lines, err := os.ReadFile(filepath.Join(dir, FailuresFile))
	if err != nil || bytes.Count(lines, []byte("\n")) != len(want) {
		t.Errorf("failures.jsonl: %v\n%s", err, lines)
	}
	if v := mustVerify(t, dir); len(v.Damage) > 0 {
		t.Errorf("damage: %v", v.Damage[0])
	}
	again := mustBuild(t, src, dir, o)
	if again.Kept != len(again.Manifest.Files) || len(again.Failures) != len(want) {
		t.Errorf("the second run kept %d shards and knows %d failures", again.Kept, len(again.Failures))
	}
}

func TestShrunkImagesAreMarked(t *testing.T) {
	src := newSource(t, 4)
	src.put(&src.items[0], photo(t, 300, 200, 1))
	o := small()
	o.ShortSide, o.Quality = 100, 80
	dir := t.TempDir()
	mustBuild(t, src, dir, o)
	for row, err := range mustSplit(t, mustOpen(t, dir), labels.Train).Rows(t.Context(), true) {
		must.Do(t, err)
		m, err := new(img.Decoder).Decode(row.Image)
		if err != nil || m.W != row.W || m.H != row.H {
			t.Fatalf("%s: %v, columns say %d×%d", row.Path, err, row.W, row.H)
		}
		if row.Path == "photos/0.jpg" {
			if want := "resized from 300×200, bicubic, JPEG quality 80"; row.W != 150 || row.H != 100 ||
				row.Attributes.Modifications != want {
				t.Errorf("%d×%d, %q", row.W, row.H, row.Attributes.Modifications)
			}
		} else if original := photo(t, row.W, row.H, uint64(row.Path[7]-'0')); !bytes.Equal(row.Image, original) ||
			row.Attributes.Modifications != "" {
			t.Errorf("%s was changed", row.Path)
		}
	}
}

func TestShardsAreCutByBytes(t *testing.T) {
	src := newSource(t, 50)
	o := small()
	o.ImagesPerShard, o.ShardBytes = 0, 4000
	dir := t.TempDir()
	r := mustBuild(t, src, dir, o)
	if len(r.Manifest.Files) < 8 {
		t.Errorf("%d shards", len(r.Manifest.Files))
	}
	for _, f := range r.Manifest.Files {
		sum := int64(0)
		for row, err := range mustRows(t, dir, f) {
			must.Do(t, err)
			sum += int64(len(row.Image))
		}
		if sum > 4000 {
			t.Errorf("%s holds %d bytes of images", f.Name, sum)
		}
	}
}

// mustRows returns the rows of one shard.
func mustRows(tb testing.TB, dir string, f File) func(func(*Row, error) bool) {
	set := mustOpen(tb, dir)
	v := mustSplit(tb, set, f.Split)
	for i, sh := range v.shards {
		if sh.file.Name == f.Name {
			var rows []int
			for r := range sh.index.rows() {
				rows = append(rows, v.starts[i]+r)
			}
			return v.Filter(rows).Rows(context.Background(), true)
		}
	}
	tb.Fatalf("no shard %s", f.Name)
	return nil
}

func TestWrongItemsAreErrorsThatNameTheirRow(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*memorySource)
		want   []string
	}{
		"two parents": {func(s *memorySource) { s.items[3].Names = []string{"class 0", "group 9"} },
			[]string{"labels.csv:5", "class 0", "group 9", "two parents"}},
		"twice": {func(s *memorySource) { s.items[3].ID = s.items[1].ID },
			[]string{"labels.csv:5", "labels.csv:3", "twice"}},
		"split":   {func(s *memorySource) { s.items[3].Split = "trian" }, []string{"labels.csv:5", "trian"}},
		"levels":  {func(s *memorySource) { s.items[3].Names = []string{"one"} }, []string{"labels.csv:5", "want 2"}},
		"nothing": {func(s *memorySource) { s.items = nil }, []string{"no images"}},
	} {
		src := newSource(t, 8)
		c.change(src)
		dir := t.TempDir()
		_, err := Build(t.Context(), src, dir, small())
		t.Log(name, err)
		wantError(t, err, c.want...)
		if entries, _ := os.ReadDir(dir); len(entries) > 0 {
			t.Errorf("%s: the folder was written to", name)
		}
	}
}

func TestGivenHierarchyDecidesTheClassNumbers(t *testing.T) {
	h := &labels.Hierarchy{Version: 1, Levels: []labels.Level{{Name: "fine"}, {Name: "coarse"}}}
	for g := range 3 {
		h.Levels[1].Classes = append(h.Levels[1].Classes, labels.Class{Name: fmt.Sprintf("group %d", 2-g), Parent: -1})
	}
	for c := range 12 {
		h.Levels[0].Classes = append(h.Levels[0].Classes,
			labels.Class{Name: fmt.Sprintf("class %d", 11-c), Parent: int32(2 - (11-c)%3)})
	}
	o := small()
	o.Hierarchy = h
	dir := t.TempDir()
	mustBuild(t, newSource(t, 20), dir, o)
	v := mustSplit(t, mustOpen(t, dir), labels.Train)
	if got, want := v.Labels(1), (labels.Path{4, 1}); !slices.Equal(got, want) { // class 7, group 1
		t.Errorf("labels %v, want %v", got, want)
	}
	src := newSource(t, 20)
	src.items[3].Names[1] = "group 2" // class 1 is in group 1
	_, err := Build(t.Context(), src, t.TempDir(), o)
	wantError(t, err, "labels.csv:5", "group 2", "group 1")
}

// flip changes a bit of a file.
func flip(tb testing.TB, path string, at int64, mask byte) {
	tb.Helper()
	f := must.Get(os.OpenFile(path, os.O_RDWR, 0))(tb)
	defer f.Close()
	var b [1]byte
	if _, err := f.ReadAt(b[:], at); err != nil {
		tb.Fatal(err)
	}
	b[0] ^= mask
	if _, err := f.WriteAt(b[:], at); err != nil {
		tb.Fatal(err)
	}
}

// A hierarchy of a Mac is decomposed. Its classes are found without a scan of all of them for each item.
func TestClassesInAnotherUnicodeFormAreLookedUp(t *testing.T) {
	const classes = 100
	h := &labels.Hierarchy{Levels: []labels.Level{{Name: "fine"}, {Name: "coarse"}}}
	h.Levels[1].Classes = []labels.Class{{Name: "p", Parent: -1}}
	for i := range classes {
		h.Levels[0].Classes = append(h.Levels[0].Classes, labels.Class{Name: fmt.Sprintf("e\u0301glise %d", i)})
	}
	h.Levels[0].Classes = append(h.Levels[0].Classes, labels.Class{Name: "e\u0301glise 3"}) // the first counts
	tree := newTree([]string{"fine", "coarse"}, h, true)
	for i := range classes {
		path, err := tree.path(&Item{Names: []string{fmt.Sprintf("\u00e9glise %d", i), "p"}})
		if err != nil || path[0] != int32(i) || path[1] != 0 {
			t.Fatalf("église %d: %v, %v", i, path, err)
		}
	}
	if _, err := tree.path(&Item{Names: []string{"\u00e9glise", "p"}}); err == nil {
		t.Error("a class that the hierarchy lacks was found")
	}
	if n := testing.AllocsPerRun(9, func() { tree.otherForm(0, "\u00e9glise 99") }); n > 0 {
		t.Errorf("a look-up among %d classes composes names anew: %v allocations", classes, n)
	}
}
