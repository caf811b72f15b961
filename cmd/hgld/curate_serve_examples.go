package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"hgld/curate/serve"
	"hgld/labels"
	"hgld/shards"
)

// examples finds landmarks that carry a tag, and their images in shards or in a
// folder with a folder for each landmark.
type examples struct {
	draft  *labels.Draft
	carry  map[tagKey][]labels.Record // at most a few landmarks a tag
	folder string
	set    *shards.Set
	rows   map[string][]image // of the set, by the landmark's class: its labels.LandmarkKey

	mu     sync.Mutex
	images map[string]image // by the name that the page asks for
}

type tagKey struct{ name, qid string }

// image is a file, or a row of a view.
type image struct {
	path string
	view *shards.View
	row  int
}

const (
	examplesKept = 12 // landmarks of a tag
	imagesKept   = 3  // images of a landmark
)

// openExamples gathers what tags.jsonl and the images offer. images may be "".
func openExamples(d *labels.Draft, records []labels.Record, images string) (*examples, error) {
	x := &examples{draft: d, carry: map[tagKey][]labels.Record{}, images: map[string]image{}}
	for _, r := range records {
		key := tagKey{r.Tag, r.QID}
		if r.Outcome == labels.OK && len(x.carry[key]) < examplesKept {
			x.carry[key] = append(x.carry[key], labels.Record{Landmark: r.Landmark, Split: r.Split, Title: r.Title, Category: r.Category})
		}
	}
	if images == "" {
		return x, nil
	}
	set, err := shards.Open(images)
	if errors.Is(err, fs.ErrNotExist) {
		info, err := os.Stat(images)
		if err == nil && !info.IsDir() {
			err = fmt.Errorf("%s is no folder", images)
		}
		x.folder = images
		return x, err
	}
	if err != nil {
		return nil, err
	}
	x.set, x.rows = set, map[string][]image{}
	for _, split := range set.Manifest().Splits() {
		view, err := set.Split(split)
		if err != nil {
			return nil, errors.Join(err, set.Close())
		}
		x.index(view)
	}
	return x, nil
}

// index notes some rows of every landmark.
func (x *examples) index(view *shards.View) {
	names := view.Classes(0)
	for i := range view.Len() {
		path := view.Labels(i)
		if len(path) == 0 || path[0] < 0 {
			continue
		}
		if name := names[path[0]]; len(x.rows[name]) < imagesKept {
			x.rows[name] = append(x.rows[name], image{view: view, row: i})
		}
	}
}

// Examples implements serve.Exampler: landmarks with images first.
func (x *examples) Examples(tag, n int) ([]serve.Example, error) {
	t := x.draft.Tags[tag]
	var list []serve.Example
	for _, r := range x.carry[tagKey{t.Name, t.QID}] {
		e := serve.Example{Title: r.Title, Link: commonsLink(r.Category)}
		if e.Title == "" {
			e.Title = strings.ReplaceAll(filepath.Base(r.Category), "_", " ")
		}
		e.Title = strings.TrimPrefix(e.Title, "Category:")
		found, err := x.of(r)
		if err != nil {
			return nil, err
		}
		for i, image := range found {
			name := fmt.Sprintf("%s-%d-%d", r.Split, r.Landmark, i)
			x.mu.Lock()
			x.images[name] = image
			x.mu.Unlock()
			e.Images = append(e.Images, name)
		}
		list = append(list, e)
	}
	slices.SortStableFunc(list, func(a, b serve.Example) int { return min(1, len(b.Images)) - min(1, len(a.Images)) })
	return list[:min(n, len(list))], nil
}

// of lists images of a landmark.
func (x *examples) of(r labels.Record) ([]image, error) {
	if x.folder == "" {
		return x.rows[labels.LandmarkKey{Split: r.Split, Landmark: r.Landmark}.String()], nil
	}
	id := strconv.Itoa(int(r.Landmark))
	entries, err := os.ReadDir(filepath.Join(x.folder, id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var found []image
	for _, e := range entries {
		switch strings.ToLower(filepath.Ext(e.Name())) {
		case ".jpg", ".jpeg", ".png", ".webp", ".gif":
			if e.Type().IsRegular() && len(found) < imagesKept {
				found = append(found, image{path: filepath.Join(x.folder, id, e.Name())})
			}
		}
	}
	return found, err
}

// commonsLink returns the address of a category if it is one of Commons: what a
// table says is not opened unseen.
func commonsLink(category string) string {
	u, err := url.Parse(category)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host != "commons.wikimedia.org" {
		return ""
	}
	u.Scheme = "https"
	return u.String()
}

// Image implements serve.Exampler. Only images that Examples has named are known.
func (x *examples) Image(ctx context.Context, name string) ([]byte, error) {
	x.mu.Lock()
	i, known := x.images[name]
	x.mu.Unlock()
	switch {
	case !known:
		return nil, fmt.Errorf("there is no image %q", name)
	case i.view != nil:
		return i.view.Image(ctx, i.row)
	}
	return readImage(i.path)
}

// largestImage is that of a file that the page shows.
const largestImage = 32 << 20

// readImage reads an image file of bounded size.
func readImage(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, largestImage+1))
	if err == nil && len(data) > largestImage {
		err = fmt.Errorf("%s has more than %d MB; the page does not show it", path, largestImage>>20)
	}
	return data, err
}

// Close closes the shards.
func (x *examples) Close() error {
	if x.set == nil {
		return nil
	}
	return x.set.Close()
}
