package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
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
// folder with a folder for each landmark. Of tags.jsonl it keeps where lines are:
// the records themselves would take more than all else that the page needs.
type examples struct {
	draft  *labels.Draft
	tags   *os.File
	header []byte    // first line of tags
	carry  [][]int64 // lines of tags, by their offset: at most a few landmarks a tag
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
func openExamples(d *labels.Draft, tags, images string) (*examples, error) {
	f, err := os.Open(tags)
	if err != nil {
		return nil, err
	}
	x := &examples{draft: d, tags: f, carry: make([][]int64, len(d.Tags)), images: map[string]image{}}
	err = x.indexTags()
	if err == nil && images != "" {
		err = x.openImages(images)
	}
	if err != nil {
		return nil, errors.Join(err, x.Close())
	}
	return x, nil
}

// indexTags notes the lines of landmarks that carry a tag of the draft.
func (x *examples) indexTags() error {
	at := make(map[tagKey]int, len(x.draft.Tags))
	for i, t := range x.draft.Tags {
		at[tagKey{t.Name, t.QID}] = i
	}
	lines := bufio.NewScanner(x.tags)
	lines.Buffer(nil, tagsLine)
	offset := int64(0)
	lines.Split(func(data []byte, end bool) (int, []byte, error) {
		n, line, err := bufio.ScanLines(data, end)
		offset += int64(n)
		return n, line, err
	})
	for number := 1; ; number++ {
		start := offset
		if !lines.Scan() {
			break
		}
		if number == 1 {
			x.header = append(bytes.Clone(lines.Bytes()), '\n')
			if _, _, err := labels.ReadTags(bytes.NewReader(x.header), x.tags.Name()); err != nil {
				return err
			}
			continue
		}
		var r struct {
			Outcome labels.Outcome `json:"outcome"`
			Tag     string         `json:"tag"`
			QID     string         `json:"qid"`
		}
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return fmt.Errorf("%s:%d: %w; `hgld labels check` lists all that is wrong with it", x.tags.Name(), number, err)
		}
		if i, known := at[tagKey{r.Tag, r.QID}]; known && r.Outcome == labels.OK && len(x.carry[i]) < examplesKept {
			x.carry[i] = append(x.carry[i], start)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s: %w", x.tags.Name(), err)
	}
	if x.header == nil {
		_, _, err := labels.ReadTags(bytes.NewReader(nil), x.tags.Name()) // says that it is empty
		return err
	}
	return nil
}

// tagsLine is the longest line of tags.jsonl that package labels reads.
const tagsLine = 1 << 20

// record reads a line of tags.jsonl.
func (x *examples) record(offset int64) (labels.Record, error) {
	line, err := bufio.NewReader(io.NewSectionReader(x.tags, offset, tagsLine)).ReadBytes('\n')
	if err != nil && err != io.EOF {
		return labels.Record{}, err
	}
	_, records, err := labels.ReadTags(io.MultiReader(bytes.NewReader(x.header), bytes.NewReader(line)), x.tags.Name())
	if err == nil && len(records) != 1 {
		err = fmt.Errorf("%s was changed; start the server again", x.tags.Name())
	}
	if err != nil {
		return labels.Record{}, err
	}
	return records[0], nil
}

// wantImages is what --images takes.
const wantImages = "--images takes the folder that `hgld shards build` wrote, or one with a folder of images for each landmark: " +
	"DIR/<landmark>/*.jpg"

// openImages opens shards, by their folder or the one of their files in it, or notes
// a folder of images.
func (x *examples) openImages(images string) error {
	set, err := shards.Open(images)
	if info, there := os.Stat(images); errors.Is(err, fs.ErrNotExist) && there == nil && info.IsDir() {
		set, err = shards.Open(filepath.Dir(filepath.Clean(images)))
	}
	if errors.Is(err, fs.ErrNotExist) {
		x.folder = images
		return checkImageFolder(images)
	}
	if err != nil {
		return err
	}
	return x.openSet(set, images)
}

// checkImageFolder looks whether a folder has the folder of a landmark: one that
// has none would show no image, and not say why.
func checkImageFolder(images string) error {
	entries, err := os.ReadDir(images)
	if err != nil {
		return withHint(err, wantImages)
	}
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err == nil {
			return nil
		}
	}
	err = fmt.Errorf("%s has neither shards nor a folder of a landmark", images)
	return withHint(withCode(exitUsage, err), wantImages)
}

// openSet notes the images of shards, which must be of landmarks.
func (x *examples) openSet(set *shards.Set, images string) error {
	if !set.Manifest().Landmarks {
		finest := set.Manifest().Levels[0].Name
		err := withCode(exitUsage, fmt.Errorf("the images of %s are of no landmarks: its finest classes are %s", images, finest))
		return withHint(errors.Join(err, set.Close()), "`hgld shards build --labels labels.csv` makes shards of landmarks; %s", wantImages)
	}
	x.set, x.rows = set, map[string][]image{}
	for _, split := range set.Manifest().Splits() {
		view, err := set.Split(split)
		if err != nil {
			return err
		}
		x.index(view)
	}
	return nil
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
	var list []serve.Example
	for _, offset := range x.carry[tag] {
		r, err := x.record(offset)
		if err != nil {
			return nil, err
		}
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
		return nil, fmt.Errorf("there is no image %.80q", name)
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

// Close closes the files.
func (x *examples) Close() error {
	if x.set == nil {
		return x.tags.Close()
	}
	return errors.Join(x.set.Close(), x.tags.Close())
}
