package shards

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"io"
	"io/fs"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"hgld/internal/testing/must"
	"hgld/labels"
)

// memorySource holds its images in memory.
type memorySource struct {
	levels    []string
	items     []Item
	opened    *atomic.Int64
	landmarks bool
}

func (s *memorySource) Levels() []string { return s.levels }
func (s *memorySource) Landmarks() bool  { return s.landmarks }
func (s *memorySource) Close() error     { return nil }

func (s *memorySource) Items(ctx context.Context) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		for _, item := range s.items {
			if !yield(item, ctx.Err()) || ctx.Err() != nil {
				return
			}
		}
	}
}

func (s *memorySource) Inputs(context.Context, func(int) bool) ([]Input, error) {
	return []Input{{Name: "memory", Bytes: int64(len(s.items))}}, nil
}

// photo returns a JPEG of w×h pixels with content from the seed.
func photo(tb testing.TB, w, h int, seed uint64) []byte {
	tb.Helper()
	rng := rand.New(rand.NewPCG(seed, 0))
	m := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			m.SetRGBA(x, y, color.RGBA{byte(x*7) + byte(rng.Uint32()%32), byte(y * 5), byte(seed), 255})
		}
	}
	var buf bytes.Buffer
	must.Do(tb, jpeg.Encode(&buf, m, nil))
	return buf.Bytes()
}

// newSource returns n photographs in three splits, with 10 classes below 3. Every seventh has no
// label.
func newSource(tb testing.TB, n int) *memorySource {
	tb.Helper()
	s := &memorySource{levels: []string{"fine", "coarse"}, opened: new(atomic.Int64)}
	for i := range n {
		c := (i * 7) % 10
		names := []string{fmt.Sprintf("class %d", c), fmt.Sprintf("group %d", c%3)}
		if i%7 == 6 {
			names = nil
		}
		item := Item{
			Path: fmt.Sprintf("photos/%d.jpg", i), Where: fmt.Sprintf("labels.csv:%d", i+2),
			Split: []labels.Split{labels.Train, labels.Train, labels.Train, labels.Val, labels.Test}[i%5], Names: names,
			Attributes: Attributes{Author: fmt.Sprintf("author %d", i%4), License: "CC BY 4.0",
				Title: fmt.Sprintf("Photo é %d", i)},
		}
		item.ID = NewImageID(item.Path)
		s.put(&item, photo(tb, 20+i%30, 16+i%17, uint64(i)))
		s.items = append(s.items, item)
	}
	return s
}

// put gives an item its bytes.
func (s *memorySource) put(item *Item, data []byte) {
	item.Size = int64(len(data))
	item.Open = func() (io.ReadCloser, error) {
		s.opened.Add(1)
		return io.NopCloser(bytes.NewReader(data)), nil
	}
}

// mustBuild builds in dir.
func mustBuild(tb testing.TB, src Source, dir string, o Options) *Result {
	tb.Helper()
	r := must.Get(Build(context.Background(), src, dir, o))(tb)
	return r
}

// lose marks items as missing.
func lose(items []Item) {
	for i := range items {
		item := &items[i]
		item.Size, item.Missing = 0, true
		item.Open = func() (io.ReadCloser, error) {
			return nil, &fs.PathError{Op: "open", Path: "/somewhere/else/" + item.Path, Err: fs.ErrNotExist}
		}
	}
}

// small returns options for several shards of a few photographs, however many of them fail.
func small() Options {
	o := Options{Settings: Settings{ImagesPerShard: 10}, Tool: "test", Taxonomy: listClasses, Workers: 2}
	o.AllowMissing = 1
	return o
}

// listClasses replaces the writer of SKOS.
func listClasses(w io.Writer, tree *labels.Hierarchy) error {
	for _, l := range tree.Levels {
		for _, c := range l.Classes {
			if _, err := fmt.Fprintf(w, "%s\t%s\t%d\n", l.Name, c.Name, c.Parent); err != nil {
				return err
			}
		}
	}
	return nil
}

// contents reads all files below dir.
func contents(tb testing.TB, dir string) map[string]string {
	tb.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		rel, _ := filepath.Rel(dir, p)
		all[filepath.ToSlash(rel)] = string(data)
		return err
	})
	must.Do(tb, err)
	return all
}

// sameContents reports the files that differ.
func sameContents(tb testing.TB, got, want map[string]string) {
	tb.Helper()
	for name := range want {
		if _, ok := got[name]; !ok {
			tb.Errorf("%s is missing", name)
		} else if got[name] != want[name] {
			tb.Errorf("%s differs", name)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			tb.Errorf("%s should not be there", name)
		}
	}
}

func mustOpen(tb testing.TB, dir string) *Set {
	tb.Helper()
	s := must.Get(Open(tb.Context(), dir))(tb)
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

func mustSplit(tb testing.TB, s *Set, name labels.Split) *View {
	tb.Helper()
	v, err := s.Split(name)
	must.Do(tb, err)
	return v
}

// wantError fails the test unless the text of err contains all parts.
func wantError(tb testing.TB, err error, parts ...string) {
	tb.Helper()
	if err == nil {
		tb.Errorf("no error, want one with %q", parts)
		return
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			tb.Errorf("error %q does not say %q", err, p)
		}
	}
}
