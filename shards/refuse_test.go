package shards

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hgld/internal/testing/fakes3"
	"hgld/internal/testing/must"
)

// refused builds and returns the error that the build was refused.
func refused(t *testing.T, src Source, dir string, o Options) *RefusedError {
	t.Helper()
	_, err := Build(t.Context(), src, dir, o)
	var r *RefusedError
	if !errors.As(err, &r) {
		t.Fatalf("error %v, want a RefusedError", err)
	}
	t.Log(err)
	return r
}

// settled returns the files of a data set, without those that a build keeps for the next one.
func settled(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := withoutLock(contents(t, dir))
	for name := range all {
		if strings.HasPrefix(name, nextFolder+"/") || strings.HasPrefix(name, partsFolder+"/") {
			delete(all, name)
		}
	}
	return all
}

func TestMissingImagesKeepTheFinishedDataSet(t *testing.T) {
	dir := t.TempDir()
	mustBuild(t, newSource(t, 60), dir, small())
	before := contents(t, dir)
	few := small()
	few.AllowMissing = 0.01
	for _, gone := range []int{60, 30, 1} {
		src := newSource(t, 60)
		lose(src.items[:gone])
		if r := refused(t, src, dir, few); len(r.Failures) != gone || r.Images != 60 || src.opened.Load() > 0 {
			t.Errorf("%d of %d images left out, %d opened; want %d of 60, and none opened",
				len(r.Failures), r.Images, src.opened.Load(), gone)
		}
		if r := refused(t, src, dir, small()); gone < 60 && (!r.Fewer || r.Was != 60) {
			t.Errorf("%+v, want that there were 60", r)
		}
		_, err := BuildSlice(t.Context(), src, dir, 1, 2, few)
		if !errors.As(err, new(*RefusedError)) {
			t.Errorf("slice: %v", err)
		}
		sameContents(t, contents(t, dir), before)
	}
	sameContents(t, contents(t, dir), before)
	less := newSource(t, 60)
	less.items = less.items[:50]
	if r := refused(t, less, dir, small()); !r.Fewer || r.Was != 60 {
		t.Errorf("%+v, want that there were 60", r)
	}
	sameContents(t, contents(t, dir), before)
	o := small()
	o.Replace = true
	mustBuild(t, less, dir, o)
	fresh := t.TempDir()
	mustBuild(t, less, fresh, small())
	sameContents(t, contents(t, dir), contents(t, fresh))
}

func TestEmptySourceIsRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	src := newSource(t, 40)
	lose(src.items)
	o := small()
	o.Replace = true
	refused(t, src, dir, o)
	if disk(dir).mayExist("") {
		t.Error("the folder is there")
	}
	bad := newSource(t, 40)
	for i := range bad.items {
		bad.put(&bad.items[i], []byte("no image"))
	}
	refused(t, bad, dir, o)
	if _, err := Open(t.Context(), dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder opens: %v", err)
	}
}

// Damaged images are counted at the end. The finished data set stays, and so do the new shards.
func TestTooManyBrokenImagesAreRefused(t *testing.T) {
	broken := func(n int) *memorySource {
		src := newSource(t, 100)
		for i := range n {
			src.put(&src.items[5*i], []byte("no image"))
		}
		return src
	}
	few := small()
	few.AllowMissing = 0.03
	for n, want := range map[int]bool{3: false, 4: true} { // at most 3 % of 100 may be missing
		dir := t.TempDir()
		_, err := Build(t.Context(), broken(n), dir, few)
		if errors.As(err, new(*RefusedError)) != want || err == nil == want {
			t.Errorf("%d broken: %v", n, err)
		}
		if _, err := Open(t.Context(), dir); (err != nil) != want {
			t.Errorf("%d broken: the folder opens with %v", n, err)
		}
	}
	dir := t.TempDir()
	mustBuild(t, newSource(t, 100), dir, small())
	before := contents(t, dir)
	refused(t, broken(20), dir, few)
	sameContents(t, settled(t, dir), before)
	if v := mustVerify(t, dir); len(v.Damage) > 0 {
		t.Errorf("damage %v", v.Damage)
	}
	o := small()
	o.Replace = true
	if r := mustBuild(t, broken(20), dir, o); r.Kept != len(r.Manifest.Files) {
		t.Errorf("%d of %d shards kept", r.Kept, len(r.Manifest.Files))
	}
	fresh := t.TempDir()
	mustBuild(t, broken(20), fresh, small())
	sameContents(t, contents(t, dir), contents(t, fresh))
}

// A limited trial may replace another one.
func TestTrialsReplaceEachOther(t *testing.T) {
	dir := t.TempDir()
	for _, limit := range []int{30, 20} {
		o := small()
		o.Limit = limit
		mustBuild(t, newSource(t, 60), dir, o)
	}
	mustBuild(t, newSource(t, 60), dir, small())
	o := small()
	o.Limit = 20
	refused(t, newSource(t, 60), dir, o)
}

// A damaged manifest, which does not tell the number of images, must not permit a smaller data set.
func TestDamagedManifestStillProtectsTheFinishedDataSet(t *testing.T) {
	dir := t.TempDir()
	mustBuild(t, newSource(t, 60), dir, small())
	less := newSource(t, 60)
	less.items = less.items[:50]
	path := filepath.Join(dir, ManifestFile)
	must.Do(t, os.WriteFile(path, []byte("{"), 0o644))
	before := contents(t, dir)
	if r := refused(t, less, dir, small()); r.Was != 60 {
		t.Errorf("%d images there, want 60", r.Was)
	}
	sameContents(t, contents(t, dir), before)
	if err := errors.Join(os.Remove(path), os.Symlink(ManifestFile, path)); err != nil { // cannot be read
		t.Skip(err)
	}
	o := small()
	o.Replace = true
	_, err := Build(t.Context(), less, dir, o)
	if !errors.Is(err, syscall.ELOOP) {
		t.Errorf("error %v, want that of reading the manifest", err)
	}
}

// The same build mends a data set whose manifest or SHA256SUMS is damaged or has disappeared, in a folder and in a
// store; a smaller one does not replace it.
func TestABuildMendsALostManifest(t *testing.T) {
	server := fakes3.Start(t)
	for _, name := range []string{ManifestFile, SumsFile} {
		for _, lost := range []bool{true, false} {
			dir := t.TempDir()
			mustBuild(t, newSource(t, 60), dir, small())
			mustBuild(t, newSource(t, 60), place, small())
			want := contents(t, dir)
			if lost {
				must.Do(t, os.Remove(filepath.Join(dir, name)))
				server.Remove("sets/one/" + name)
			} else {
				must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte("{"), 0o644))
				server.Put("sets/one/"+name, []byte("{"), false)
			}
			for _, at := range []string{dir, place} {
				if v := mustVerify(t, at); len(v.Damage) == 0 {
					t.Errorf("%s, lost %t: no damage", name, lost)
				}
				less := newSource(t, 60)
				less.items = less.items[:50]
				refused(t, less, at, small())
				mustBuild(t, newSource(t, 60), at, small())
			}
			sameContents(t, contents(t, dir), want)
			sameContents(t, objects(server), want)
		}
	}
}

func TestSlicesOfARebuildWaitForTheBuild(t *testing.T) {
	dir, fresh := t.TempDir(), t.TempDir()
	mustBuild(t, newSource(t, 60), dir, small())
	before := contents(t, dir)
	o := small()
	o.ShortSide = 18
	for n := range 3 {
		if _, err := BuildSlice(t.Context(), newSource(t, 60), dir, n+1, 3, o); err != nil {
			t.Fatal(err)
		}
		now := settled(t, dir)
		for name := range now {
			if strings.HasPrefix(name, LockName) {
				delete(now, name)
			}
		}
		sameContents(t, now, before)
		if v := mustVerify(t, dir); len(v.Damage) > 0 {
			t.Errorf("damage %v", v.Damage)
		}
	}
	if r := mustBuild(t, newSource(t, 60), dir, o); r.Kept != len(r.Manifest.Files) {
		t.Errorf("%d of %d shards kept", r.Kept, len(r.Manifest.Files))
	}
	mustBuild(t, newSource(t, 60), fresh, o)
	sameContents(t, contents(t, dir), contents(t, fresh))
}

// failing makes the image of an item fail with an error.
func failing(item *Item, err error) {
	item.Open = func() (io.ReadCloser, error) {
		return nil, &fs.PathError{Op: "open", Path: "/somewhere/" + item.Path, Err: err}
	}
}

// TestReadErrorStopsTheBuild checks that a possibly temporary error does not change the data set.
func TestReadErrorStopsTheBuild(t *testing.T) {
	fresh := t.TempDir()
	mustBuild(t, newSource(t, 60), fresh, small())
	want := contents(t, fresh)
	for name, spoil := range map[string]func(*Item){
		"EIO":       func(item *Item) { failing(item, syscall.EIO) },
		"EMFILE":    func(item *Item) { failing(item, syscall.EMFILE) },
		"vanished":  func(item *Item) { failing(item, fs.ErrNotExist) }, // it was there when the build began
		"cut":       func(item *Item) { item.Size += 5 },
		"EIO later": func(item *Item) { laterFails(item, syscall.EIO) },
	} {
		dir := t.TempDir()
		src := newSource(t, 60)
		spoil(&src.items[33])
		_, err := Build(t.Context(), src, dir, small())
		var at *ReadError
		if !errors.As(err, &at) || at.Path != "photos/33.jpg" || at.Where != "labels.csv:35" ||
			strings.Contains(err.Error(), "somewhere") {
			t.Errorf("%s: error %v, want a ReadError that names the image", name, err)
		}
		if _, err := Open(t.Context(), dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the folder opens: %v", name, err)
		}
		mustBuild(t, newSource(t, 60), dir, small())
		sameContents(t, contents(t, dir), want)
	}
}

// laterFails makes the image of an item fail after half of it has been read.
func laterFails(item *Item, err error) {
	half := bytes.NewReader(make([]byte, item.Size/2))
	item.Open = func() (io.ReadCloser, error) {
		return io.NopCloser(io.MultiReader(half, brokenReader{err})), nil
	}
}

type brokenReader struct{ err error }

func (r brokenReader) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: "x", Err: r.err}
}

// A missing permission is permanent, so the file is listed like a damaged one.
func TestUnreadableFileIsListed(t *testing.T) {
	src := newSource(t, 60)
	failing(&src.items[33], syscall.EACCES)
	r := mustBuild(t, src, t.TempDir(), small())
	if len(r.Failures) != 1 || r.Failures[0].Class != ReadFailure || r.Failures[0].Error != "permission denied" {
		t.Errorf("failures %+v", r.Failures)
	}
}

func TestRepairedImageOfEqualSizeIsNoticed(t *testing.T) {
	dir, fresh := t.TempDir(), t.TempDir()
	src := newSource(t, 60)
	good := src.items[21]
	src.put(&src.items[21], bytes.Repeat([]byte("x"), int(good.Size)))
	failing(&src.items[42], syscall.EACCES)
	if r := mustBuild(t, src, dir, small()); len(r.Failures) != 2 {
		t.Fatalf("failures %+v", r.Failures)
	}
	if r := mustBuild(t, src, dir, small()); r.Kept != len(r.Manifest.Files) || len(r.Failures) != 2 {
		t.Errorf("nothing was mended: %d of %d shards kept", r.Kept, len(r.Manifest.Files))
	}
	if r := mustBuild(t, newSource(t, 60), dir, small()); r.Kept != len(r.Manifest.Files)-2 || len(r.Failures) > 0 {
		t.Errorf("%d of %d shards kept, failures %v", r.Kept, len(r.Manifest.Files), r.Failures)
	}
	mustBuild(t, newSource(t, 60), fresh, small())
	sameContents(t, contents(t, dir), contents(t, fresh))
}

func TestPatchReleaseKeepsShards(t *testing.T) {
	dir := t.TempDir()
	o := small()
	o.Tool = "hgld 1.2.3"
	n := len(mustBuild(t, newSource(t, 60), dir, o).Manifest.Files)
	for _, c := range []struct {
		tool string
		kept int
	}{{"hgld 1.2.4", n}, {"hgld 1.3.0", 0}, {"hgld 1.3.1-rc1", n}, {"other", 0}} {
		o.Tool = c.tool
		if r := mustBuild(t, newSource(t, 60), dir, o); r.Kept != c.kept || r.Manifest.Tool != c.tool {
			t.Errorf("%s kept %d of %d shards, want %d", c.tool, r.Kept, n, c.kept)
		}
	}
}
