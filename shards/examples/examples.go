// Package examples finds landmarks that carry a tag of a draft, and their images, for
// the page of stage 3. It reads tags.jsonl, and images from shards or from a folder
// with a folder for each landmark.
package examples

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

	"hgld/internal/img"
	"hgld/internal/regular"
	"hgld/labels"
	"hgld/shards"
)

// Examples finds landmarks by tag. It is safe for concurrent use.
//
// Of tags.jsonl it keeps the positions of lines: the records themselves would take
// more memory than everything else that the page needs.
type Examples struct {
	draft  *labels.Draft
	tags   *os.File
	header []byte    // first line of tags
	lines  [][]int64 // offsets in tags of the landmarks of each tag, at most a few
	folder string
	set    *shards.Set
	rows   map[string][]image // of the set, by the landmark's class: its labels.LandmarkKey

	decoder *img.Decoder

	mu     sync.Mutex
	images map[string]image // by the name that the page asks for
}

type tagKey struct{ name, qid string }

// image is a file, or a row of a view if that is set.
type image struct {
	path string
	view *shards.View
	row  int
}

const (
	landmarksKept = 12 // of each tag
	imagesKept    = 3  // of each landmark
)

// ImagesError says that a folder cannot show images of landmarks.
type ImagesError struct {
	// Folder is the folder.
	Folder string
	Finest string // finest level of the shards in it, "" if it has none
	Err    error  // why the folder cannot be read; nil if it can
}

// Error names the folder and what it holds.
func (e *ImagesError) Error() string {
	switch {
	case e.Err != nil:
		return e.Err.Error()
	case e.Finest != "":
		return fmt.Sprintf("the images of %s do not show landmarks: their finest classes are %s", e.Folder, e.Finest)
	}
	return fmt.Sprintf("%s contains neither shards nor a folder of a landmark", e.Folder)
}

// Unwrap returns Err.
func (e *ImagesError) Unwrap() error { return e.Err }

// Open indexes the file tags, a tags.jsonl, by the tags of d. images is the folder of a
// data set of shards or of its Parquet files, or a folder with a folder of images for
// each landmark, named by its number; "" for no images.
func Open(d *labels.Draft, tags, images string) (*Examples, error) {
	f, err := regular.Open(tags)
	if err != nil {
		return nil, err
	}
	x := &Examples{draft: d, tags: f, lines: make([][]int64, len(d.Tags)), images: map[string]image{}}
	x.decoder, err = img.DefaultDecoder()
	if err == nil {
		err = x.indexTags()
	}
	if err == nil && images != "" {
		err = x.openImages(images)
	}
	if err != nil {
		return nil, errors.Join(err, x.Close())
	}
	return x, nil
}

// indexTags notes the lines of landmarks that carry a tag of the draft.
func (x *Examples) indexTags() error {
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
			return &RowError{x.tags.Name(), number, err}
		}
		if i, known := at[tagKey{r.Tag, r.QID}]; known && r.Outcome == labels.OK && len(x.lines[i]) < landmarksKept {
			x.lines[i] = append(x.lines[i], start)
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
func (x *Examples) record(offset int64) (labels.Record, error) {
	line, err := bufio.NewReader(io.NewSectionReader(x.tags, offset, tagsLine)).ReadBytes('\n')
	if err != nil && err != io.EOF {
		return labels.Record{}, err
	}
	_, records, err := labels.ReadTags(io.MultiReader(bytes.NewReader(x.header), bytes.NewReader(line)), x.tags.Name())
	if err == nil && len(records) != 1 {
		err = fmt.Errorf("%s was changed; restart the server", x.tags.Name())
	}
	if err != nil {
		return labels.Record{}, err
	}
	return records[0], nil
}

// openImages opens shards by the folder of the data set or of its files. Another folder
// is taken as one of images.
func (x *Examples) openImages(images string) error {
	set, err := shards.Open(context.Background(), images)
	if info, there := os.Stat(images); errors.Is(err, fs.ErrNotExist) && there == nil && info.IsDir() {
		set, err = shards.Open(context.Background(), filepath.Dir(filepath.Clean(images)))
	}
	if errors.Is(err, fs.ErrNotExist) {
		x.folder = images
		return checkFolder(images)
	}
	if err != nil {
		return err
	}
	return x.openSet(set, images)
}

// checkFolder returns an error unless a folder has a folder named by a landmark's
// number. Otherwise the page would silently show no images.
func checkFolder(images string) error {
	entries, err := os.ReadDir(images)
	if err != nil {
		return &ImagesError{Folder: images, Err: err}
	}
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err == nil {
			return nil
		}
	}
	return &ImagesError{Folder: images}
}

// openSet notes the images of shards, whose finest classes must be landmarks.
func (x *Examples) openSet(set *shards.Set, images string) error {
	if !set.Manifest().Landmarks {
		err := &ImagesError{Folder: images, Finest: set.Manifest().Levels[0].Name}
		return errors.Join(err, set.Close())
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

// index notes the first rows of every landmark.
func (x *Examples) index(view *shards.View) {
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

// Examples calls show for at most n landmarks that carry the tag, those with images
// first: with the title, the address of the Commons category ("" for none) and the names
// of images, for Image.
func (x *Examples) Examples(tag, n int, show func(title, link string, images []string)) error {
	type landmark struct {
		title, link string
		images      []string
	}
	var list []landmark
	for _, offset := range x.lines[tag] {
		r, err := x.record(offset)
		if err != nil {
			return err
		}
		title := r.Title
		if title == "" {
			title = strings.ReplaceAll(filepath.Base(r.Category), "_", " ")
		}
		l := landmark{title: strings.TrimPrefix(title, "Category:"), link: commonsLink(r.Category)}
		if l.images, err = x.name(r); err != nil {
			return err
		}
		list = append(list, l)
	}
	slices.SortStableFunc(list, func(a, b landmark) int { return min(1, len(b.images)) - min(1, len(a.images)) })
	for _, l := range list[:min(n, len(list))] {
		show(l.title, l.link, l.images)
	}
	return nil
}

// name gives the images of a landmark names by which Image finds them.
func (x *Examples) name(r labels.Record) ([]string, error) {
	found, err := x.of(r)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	var names []string
	for i, image := range found {
		name := fmt.Sprintf("%s-%d-%d", r.Split, r.Landmark, i)
		x.images[name] = image
		names = append(names, name)
	}
	return names, nil
}

// of returns images of a landmark.
func (x *Examples) of(r labels.Record) ([]image, error) {
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

// commonsLink returns the https address of a category of Commons, and "" for any other
// address: the page must not link to wherever a table points.
func commonsLink(category string) string {
	u, err := url.Parse(category)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host != "commons.wikimedia.org" {
		return ""
	}
	u.Scheme = "https"
	return u.String()
}

// Image returns the bytes of an image that Examples has named; others are not found.
func (x *Examples) Image(ctx context.Context, name string) ([]byte, error) {
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

// HasImages reports whether there is a folder or a set of images.
func (x *Examples) HasImages() bool { return x.folder != "" || x.set != nil }

// thumbnailSide is the shorter side of a thumbnail in pixels: two for each that the page
// gives it, as dense screens show.
const thumbnailSide = 52

// Thumbnail returns an image that Examples has named as a small JPEG.
func (x *Examples) Thumbnail(ctx context.Context, name string) ([]byte, error) {
	data, err := x.Image(ctx, name)
	if err != nil {
		return nil, err
	}
	m, err := x.decoder.Small(data, thumbnailSide, img.Bilinear)
	if err != nil {
		return nil, fmt.Errorf("image %s: %w", name, err)
	}
	return img.EncodeJPEG(m, 85, nil) // a profile may be larger than the thumbnail
}

// largestImage is the largest image file that is read, in bytes.
const largestImage = 32 << 20

// readImage reads an image file of bounded size.
func readImage(path string) ([]byte, error) {
	f, err := regular.Open(path)
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
func (x *Examples) Close() error {
	if x.set == nil {
		return x.tags.Close()
	}
	return errors.Join(x.set.Close(), x.tags.Close())
}
