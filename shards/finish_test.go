package shards

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hgld/internal/testing/must"
)

// richSource is newSource with missing images, images that occur twice, and other things that the parts must keep.
func richSource(t *testing.T) *memorySource {
	t.Helper()
	s := newSource(t, 60)
	lose(s.items[3:5])
	s.items[10].Open, s.items[10].Size = s.items[20].Open, s.items[20].Size
	s.items[11].Attributes = Attributes{}
	s.items[12].Attributes.Title = "<\"title\"> & \u2028 \x01"
	s.items[13].Attributes.SourceURL = "https://example.org/?a=1&b=2"
	return s
}

func rich() Options {
	o := small()
	o.ShortSide, o.Quality = 18, 90 // some are made smaller
	o.Made = Provenance{Source: map[string]any{"z": 1, "dataset": "a<b"}, Unknown: []string{"first"}}
	return o
}

// buildSlices builds slices of richSource.
func buildSlices(t *testing.T, dir string, of int, which ...int) {
	t.Helper()
	for _, n := range which {
		if _, err := BuildSlice(t.Context(), richSource(t), dir, n, of, rich()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFinishedSlicesEqualABuild(t *testing.T) {
	whole := t.TempDir()
	want := mustBuild(t, richSource(t), whole, rich())
	for _, of := range []int{1, 3, 40} { // of 40, most have no shard
		dir := t.TempDir()
		for n := range of {
			if _, err := Finish(t.Context(), dir, rich()); !errors.As(err, new(*MissingSlicesError)) {
				t.Fatalf("%d of %d slices: %v", n, of, err)
			}
			buildSlices(t, dir, of, n+1)
		}
		for again := range 2 { // the second time it is finished
			r := must.Get(Finish(t.Context(), dir, rich()))(t)
			if again == 0 && (!slices.Equal(r.Notes, want.Notes) || !slices.Equal(r.Failures, want.Failures)) {
				t.Errorf("notes %q, want %q; failures %v, want %v", r.Notes, want.Notes, r.Failures, want.Failures)
			}
			sameContents(t, contents(t, dir), contents(t, whole))
		}
	}
}

// A data set that is there stays until the new one is complete.
func TestFinishReplacesAFinishedDataSet(t *testing.T) {
	dir, whole := t.TempDir(), t.TempDir()
	mustBuild(t, newSource(t, 60), dir, small())
	before := contents(t, dir)
	o := rich()
	o.Replace = true
	for n := range 2 {
		if _, err := BuildSlice(t.Context(), richSource(t), dir, n+1, 2, o); err != nil {
			t.Fatal(err)
		}
	}
	for name, data := range before {
		if contents(t, dir)[name] != data {
			t.Errorf("%s changed before the end", name)
		}
	}
	// A kill between the moves of a sidecar and its shard.
	shard := must.Get(filepath.Glob(filepath.Join(dir, nextFolder, "*.parquet")))(t)[0]
	sidecar := filepath.Base(indexName(shard))
	must.Do(t, os.Rename(indexName(shard), filepath.Join(dir, "data", sidecar)))
	if _, err := Finish(t.Context(), dir, rich()); !errors.As(err, new(*RefusedError)) {
		t.Errorf("fewer images: %v", err)
	}
	if _, err := Finish(t.Context(), dir, o); err != nil {
		t.Fatal(err)
	}
	mustBuild(t, richSource(t), whole, rich())
	sameContents(t, contents(t, dir), contents(t, whole))
}

func TestFinishRefusesWhatDoesNotFit(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(dir string)
		o     Options
		want  string
	}{
		"settings": {func(string) {}, small(), `"short_side":18`},
		"version":  {func(string) {}, with(rich(), func(o *Options) { o.Tool = "hgld 9.0.0" }), "another version"},
		"shard gone": {func(dir string) { remove(t, dir, "data/train-00000-of-00004.parquet") }, rich(),
			"train-00000-of-00004"},
		"sidecar gone": {func(dir string) { remove(t, dir, "data/train-00001-of-00004.idx") }, rich(), "missing"},
		"rows gone": {func(dir string) { remove(t, dir, rowsName(2, 2)) }, rich(),
			"missing"},
		"rows changed": {func(dir string) { spoil(t, dir, rowsName(2, 2)) }, rich(), "hash"},
		"part changed": {func(dir string) { spoil(t, dir, partName(2, 2)) }, rich(),
			"of 2 slices, these are missing: 2"},
	} {
		dir := t.TempDir()
		buildSlices(t, dir, 2, 1, 2)
		c.spoil(dir)
		_, err := Finish(t.Context(), dir, c.o)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if disk(dir).mayExist(ManifestFile) {
			t.Errorf("%s: there is a manifest", name)
		}
	}
	if _, err := Finish(t.Context(), t.TempDir(), small()); err == nil || !strings.Contains(err.Error(), "no slice") {
		t.Errorf("an empty folder: %v", err)
	}
}

func with(o Options, change func(*Options)) Options {
	change(&o)
	return o
}

func remove(t *testing.T, dir, name string) {
	t.Helper()
	must.Do(t, os.Remove(filepath.Join(dir, name)))
}

// spoil changes a byte in the middle of a file and keeps its time.
func spoil(t *testing.T, dir, name string) {
	t.Helper()
	file := filepath.Join(dir, name)
	data := must.Get(os.ReadFile(file))(t)
	info := must.Get(os.Stat(file))(t)
	data[len(data)/2] ^= 0x80
	must.Do(t, os.WriteFile(file, data, 0o644))
	must.Do(t, os.Chtimes(file, info.ModTime(), info.ModTime()))
}

// After a change of the inputs, the parts of both are there for a while.
func TestPartsOfOtherInputsAreLeftOut(t *testing.T) {
	dir, whole := t.TempDir(), t.TempDir()
	if _, err := BuildSlice(t.Context(), newSource(t, 50), dir, 1, 2, rich()); err != nil {
		t.Fatal(err)
	}
	buildSlices(t, dir, 2, 2)
	missing := func(want ...int) {
		t.Helper()
		p := must.Get(Plan(t.Context(), richSource(t), dir, rich()))(t)
		got, err := missingSlices(p, 2)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("missing %v, %v; want %v", got, err, want)
		}
	}
	missing(1)
	if _, err := Finish(t.Context(), dir, rich()); !errors.As(err, new(*MissingSlicesError)) {
		t.Errorf("%v", err)
	}
	buildSlices(t, dir, 2, 1)
	missing()
	remove(t, dir, partName(1, 2)) // a slice that was killed before its end
	missing(1)
	buildSlices(t, dir, 2, 1)
	if _, err := Finish(t.Context(), dir, rich()); err != nil {
		t.Fatal(err)
	}
	missing()
	mustBuild(t, richSource(t), whole, rich())
	sameContents(t, contents(t, dir), contents(t, whole))
}

// A build after the slices trusts their hashes, but not a shard that has changed since.
func TestBuildDoesNotHashTheShardsOfSlices(t *testing.T) {
	dir, whole := t.TempDir(), t.TempDir()
	buildSlices(t, dir, 2, 1, 2)
	b := must.Get(newBuilder(t.Context(), richSource(t), dir, rich(), nil))(t)
	mustBuild(t, richSource(t), whole, rich())
	first, second := b.plan.shards[0].name, b.plan.shards[1].name
	spoil(t, dir, first) // only reading it would find it
	later := time.Now().Add(time.Second)
	spoil(t, dir, second)
	must.Do(t, os.Chtimes(filepath.Join(dir, second), later, later))
	must.Do(t, b.reuse(t.Context(), b.slice(1, 1), 0))
	if !b.made[0].kept || b.made[1].kept {
		t.Errorf("kept: %v, a shard with a new time %v", b.made[0].kept, b.made[1].kept)
	}
	spoil(t, dir, first)
	mustBuild(t, richSource(t), dir, rich())
	sameContents(t, contents(t, dir), contents(t, whole))
}

// Every input is hashed by one of the slices.
func TestSlicesShareTheInputs(t *testing.T) {
	in := []Input{{Name: "a"}, {Name: "b"}, {Name: "c"}}
	parts := []*part{{Slice: 1, Of: 2, Inputs: []Input{in[0], {}, in[2]}},
		{Slice: 2, Of: 2, Inputs: []Input{{}, in[1], {}}}}
	if got, err := joinInputs(parts); err != nil || !slices.Equal(got, in) {
		t.Errorf("%v, %v", got, err)
	}
	for want, spoil := range map[string]func(p *part){
		"no slice": func(p *part) { p.Inputs[1] = Input{} }, "changed": func(p *part) { p.Inputs[2].Name = "d" },
		"1 inputs": func(p *part) { p.Inputs = in[:1] },
	} {
		other := *parts[1]
		other.Inputs = slices.Clone(other.Inputs)
		spoil(&other)
		if _, err := joinInputs([]*part{parts[0], &other}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
