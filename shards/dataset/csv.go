package dataset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"hgld/internal/classes"
	"hgld/internal/csvfile"
	"hgld/internal/registry"
	"hgld/internal/spelling"
	"hgld/labels"
	"hgld/shards"
)

// Columns are the headers of CSV columns that differ from the usual ones. An empty one
// is the name below.
type Columns struct {
	Path     string `yaml:"path" json:"path,omitempty"`         // path
	Split    string `yaml:"split" json:"split,omitempty"`       // split
	ID       string `yaml:"id" json:"id,omitempty"`             // image_id, or id
	SHA256   string `yaml:"sha256" json:"sha256,omitempty"`     // sha256
	Landmark string `yaml:"landmark" json:"landmark,omitempty"` // landmark_id
}

// CSV imports a table with one row per image: its path in the folder or archive of
// images, its class at each level, and optionally split, image_id, sha256 (the expected
// hash), author, license, title and source_url. Other columns are ignored. The label
// columns are Levels or, by default, level_0, level_1 …, or label or class. Their order is Levels' unless the
// rows allow only another one. A cell that is empty, −1, or one of the words of Settings.NAValues means no class.
// A row with empty label columns is an image without a label; one of which some
// are empty is refused, unless Settings.PartialLabels keeps it. Columns are separated by commas, semicolons or tabs,
// and their names may be in any case.
//
// With Labels, the column landmark_id replaces the label columns: the label file gives
// the landmark's classes, Commons category and tag.
//
// Paths are relative to Images, by default the folder of the CSV. An address (https://…/1.jpg) in
// their place means the image of its last part (1.jpg), and is its source_url.
type CSV struct{}

// Open reads the header and opens the images. It returns a [classes.OrderError] if the names of the label columns
// contradict their order or that of the rows, and an *UndecidedError of package classes if the rows allow several
// other orders.
func (CSV) Open(ctx context.Context, s Settings) (shards.Source, error) {
	if info, err := os.Stat(s.Input); err == nil && info.IsDir() {
		return openMetadata(ctx, s)
	}
	src, err := openCSV(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("dataset: csv: %w", err)
	}
	if err := src.look(ctx, s.NAValues); err != nil {
		return nil, errors.Join(fmt.Errorf("dataset: csv: %s: %w", src.base(), err), src.Close())
	}
	return src, nil
}

type csvSource struct {
	name    string
	store   store
	images  string // name of the store
	split   labels.Split
	levels  []string
	columns csvColumns
	labels  *landmarks // nil: label columns
	used    []byte     // list of the images that Items yielded
	notes   []string
	keep    bool // rows may lack levels
	classes *classes.Columns
	splits  splitCells

	table  int    // its number among the tables of classes
	folder string // of the table in a folder of several, "" for a table alone
}

// csvColumns are the positions of columns in a record; −1 for a missing column.
type csvColumns struct {
	path, split, id, sha256        int
	landmark                       int
	levels                         []int
	author, license, title, source int
}

func openCSV(ctx context.Context, s Settings) (*csvSource, error) {
	src := &csvSource{name: s.Input, split: s.Split, levels: s.Levels}
	if src.split == "" {
		src.split = labels.Train
	}
	var err error
	if src.keep, err = keepsPartial(s); err != nil {
		return nil, err
	}
	if s.Labels != "" {
		if src.labels, err = readLandmarks(s.Labels, src.split, s.NAValues); err != nil {
			return nil, err
		}
		src.notes = append(src.notes, src.labels.notes...)
		if len(s.Levels) > 0 {
			return nil, errors.New("levels and labels exclude each other: the label file names its own levels")
		}
	}
	f, r, header, err := src.open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if r.Line() == 0 && !isParquet(src.name) {
		src.notes = append(src.notes, src.base()+" has no heading: its columns are read as path and label")
	}
	if err := src.setColumns(header, s.Columns); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", src.base(), r.Line(), err)
	}
	if s.Columns.ID == "" && src.columns.id >= 0 {
		if err := src.checkID(ctx, header[src.columns.id]); err != nil {
			return nil, err
		}
	}
	src.images = s.Images
	if src.images == "" {
		src.images = filepath.Dir(s.Input)
	}
	if src.store, err = openStore(ctx, src.images); err != nil {
		return nil, err
	}
	if err := src.checkAddresses(ctx, header); err != nil {
		return nil, errors.Join(err, src.store.Close())
	}
	return src, nil
}

func (src *csvSource) base() string { return filepath.Base(src.name) }

// open opens the file and reads its header.
func (src *csvSource) open() (io.Closer, *csvfile.Reader, []string, error) {
	f, r, err := openTable(src.name)
	if err != nil {
		return nil, nil, nil, err
	}
	r.Trim()
	header, err := classes.ReadHeading(r)
	if err != nil {
		f.Close()
		return nil, nil, nil, fmt.Errorf("%s: %w", src.base(), err)
	}
	return f, r, header, nil
}

// checkID drops a column of ids that nobody named if an id repeats: then it is that of a class, an
// object or a row, and images are known by their paths.
func (src *csvSource) checkID(ctx context.Context, name string) error {
	f, r, _, err := src.open()
	if err != nil {
		return err
	}
	defer f.Close()
	type place struct {
		line int
		path string
	}
	first := map[string]place{}
	for {
		record, err := r.Read()
		if err != nil { // reported when the rows are imported
			return ctx.Err()
		}
		id := record[src.columns.id]
		here := place{r.Line(), record[src.columns.path]}
		if before, twice := first[id]; twice && id != "" && before.path != here.path {
			src.columns.id = -1
			src.notes = append(src.notes, fmt.Sprintf("column %s is not taken for ids of images: %.80q is in lines %d and %d",
				name, id, before.line, here.line))
			return ctx.Err()
		}
		first[id] = here
	}
}

func (src *csvSource) setColumns(header []string, names Columns) error {
	var unknown error
	find := func(asked string, usual ...string) int {
		if asked == "" {
			return classes.Column(header, usual...)
		}
		i := classes.Column(header, asked)
		if i < 0 {
			unknown = registry.Unknown("column", asked, header)
		}
		return i
	}
	c := &src.columns
	c.path = find(names.Path, classes.Paths...)
	c.split = find(names.Split, "split")
	c.id = find(names.ID, "image_id", "id")
	c.sha256 = find(names.SHA256, "sha256")
	c.author, c.license, c.title, c.source = find("", "author"), find("", "license"), find("", "title"),
		find("", "source_url")
	c.landmark = find(names.Landmark, "landmark_id")
	if len(src.levels) == 0 {
		src.levels = classes.Numbered(header)
	}
	if i := classes.Column(header, "label", "class"); len(src.levels) == 0 && i >= 0 {
		src.levels = header[i : i+1 : i+1]
	}
	for _, l := range src.levels {
		c.levels = append(c.levels, find(l))
	}
	switch {
	case unknown != nil:
		return unknown
	case c.path < 0 && slices.ContainsFunc(header, func(h string) bool { return isImage(strings.Split(h, " ")[0]) }):
		return fmt.Errorf("the first line is %s, a row; want a heading above it, such as path,label, and a comma between "+
			"path and class", shortList(header))
	case c.path < 0:
		return setting("columns.path", likelyColumn(header, "url", "img", "image_url"))(
			"no column path among %s; name another one, or call the column path", shortList(header))
	case src.labels != nil && c.landmark < 0:
		return setting("columns.landmark")("no column landmark_id among %s to join the labels by", shortList(header))
	case src.labels == nil && len(c.levels) == 0:
		return setting("levels", strings.Join(classes.Proposed(src.unusedColumns(header)), ","))(
			"no label columns level_0, level_1 … among %s", shortList(header))
	}
	return nil
}

// unusedColumns lists the named columns that no role is found for: they may be the levels.
func (src *csvSource) unusedColumns(header []string) (names []string) {
	c := &src.columns
	used := []int{c.path, c.split, c.id, c.sha256, c.landmark, c.author, c.license, c.title, c.source}
	for i, h := range header {
		if h != "" && !slices.Contains(used, i) && !classes.Describes(h) {
			names = append(names, h)
		}
	}
	return names
}

func (src *csvSource) Levels() []string {
	if src.labels != nil {
		return src.labels.table.Levels
	}
	return src.levels
}

func (src *csvSource) Landmarks() bool { return src.labels != nil }

func (src *csvSource) Items(ctx context.Context) iter.Seq2[shards.Item, error] {
	return func(yield func(shards.Item, error) bool) {
		f, r, _, err := src.open()
		if err != nil {
			yield(shards.Item{}, err)
			return
		}
		defer f.Close()
		src.used, src.splits = nil, splitCells{}
		for {
			record, err := r.Read()
			if errors.Is(err, io.EOF) {
				return
			}
			if err == nil {
				err = ctx.Err()
			}
			var item shards.Item
			if err == nil {
				item, err = src.item(record, fmt.Sprintf("%s:%d", src.base(), r.Line()))
			} else {
				err = fmt.Errorf("%s: %w", src.base(), err)
			}
			if !yield(item, err) || err != nil {
				return
			}
		}
	}
}

// item converts a record to an item.
func (src *csvSource) item(record []string, where string) (shards.Item, error) {
	c := &src.columns
	get := func(i int) string {
		if i < 0 {
			return ""
		}
		return record[i]
	}
	name, address := imageName(get(c.path))
	item := shards.Item{Path: src.imagePath(name), Split: cmp.Or(splitLike(get(c.split)), labels.Split(get(c.split))),
		Where: where, SHA256: strings.ToLower(known(get(c.sha256)))}
	if get(c.path) == "" || !fs.ValidPath(item.Path) {
		return item, fmt.Errorf("%s: path %.80q; want one within the folder of images, %s", where, get(c.path), src.images)
	}
	stored := item.Path
	item.Path = path.Join(src.folder, item.Path)
	item.ID = shards.NewImageID(item.Path)
	if id := get(c.id); id != "" {
		item.ID = shards.NewImageID(id)
	}
	if c.split >= 0 && src.split == labels.Train {
		if err := src.splits.add(item.Split, where); err != nil {
			return item, err
		}
	}
	item.Split = cmp.Or(item.Split, src.split)
	item.Attributes = shards.Attributes{Author: known(get(c.author)), License: known(get(c.license)), Title: get(c.title),
		SourceURL: cmp.Or(get(c.source), address)}
	if err := src.label(&item, get); err != nil {
		return item, fmt.Errorf("%s: %w", where, err)
	}
	e, err := attach(&item, src.store, stored)
	src.used = appendUsed(src.used, e)
	return item, err
}

// known returns a cell, or "" for a word by which data frames write a missing value: nan is no author.
func known(cell string) string {
	if spelling.MeansMissing(strings.TrimSpace(cell)) {
		return ""
	}
	return cell
}

// splitCells are the first row with a split, and the first without one.
type splitCells struct {
	split      labels.Split
	has, lacks string // where
}

// add returns an error if some rows have a split and others have none. As training images are the default, one of
// the test could be trained on.
func (s *splitCells) add(split labels.Split, where string) error {
	switch {
	case split != "" && s.has == "":
		s.split, s.has = split, where
	case split == "" && s.lacks == "":
		s.lacks = where
	}
	if s.has == "" || s.lacks == "" {
		return nil
	}
	return fmt.Errorf("%s: the split is empty, and that of %s is %s; name the split of every row, or of none", s.lacks,
		s.has, s.split)
}

// imagePath returns the path of an image below the folder of images, with slashes. An absolute path into
// the folder, and a path with the \ of Windows, name the same image.
func (src *csvSource) imagePath(name string) string {
	if filepath.IsAbs(name) {
		if root, err := filepath.Abs(src.images); err == nil {
			if rel, err := filepath.Rel(root, name); err == nil {
				name = filepath.ToSlash(rel)
			}
		}
	}
	for _, other := range []string{strings.ReplaceAll(name, `\`, "/"), strings.TrimSpace(name),
		strings.TrimSpace(strings.ReplaceAll(name, `\`, "/"))} {
		if other == name {
			continue
		}
		if _, err := src.store.find(name); err == nil {
			break
		}
		if _, err := src.store.find(path.Clean(other)); err == nil || strings.Contains(name, `\`) {
			name = other
		}
	}
	return path.Clean(name)
}

// Notes says what was found out about the columns and the archive.
func (src *csvSource) Notes() []string { return append(slices.Clone(src.notes), notesOf(src.store)...) }

// imageName returns the path of an image. Of an image that the table names by its address, it is
// the last part of the address, under which the image was saved.
func imageName(cell string) (name, address string) {
	u, err := url.Parse(cell)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return cell, ""
	}
	return path.Base(u.Path), cell
}

// likelyColumn returns the first column that has one of the usual names, or COLUMN.
func likelyColumn(header []string, usual ...string) string {
	for _, name := range usual {
		if i := slices.IndexFunc(header, func(h string) bool { return strings.EqualFold(h, name) }); i >= 0 {
			return header[i]
		}
	}
	return "COLUMN"
}

// label sets the class names of an item.
func (src *csvSource) label(item *shards.Item, get func(column int) string) error {
	if src.labels != nil {
		return src.labels.label(item, known(get(src.columns.landmark)))
	}
	var cells []string
	for _, l := range src.columns.levels {
		cells = append(cells, get(l))
	}
	item.Names, item.Partial = unnamed(src.classes.Read(src.table, cells)), src.keep
	return nil
}

// look finds out how the cells of the label columns are read.
func (src *csvSource) look(ctx context.Context, missing []string) (err error) {
	if src.labels != nil {
		return nil
	}
	src.classes, err = classes.Look(src.levels, classes.Options{Missing: missing}, classes.Table{Rows: src.labelRows(ctx)})
	if err = cmp.Or(err, ctx.Err()); err == nil {
		src.levels, src.notes = src.classes.Levels, append(src.notes, src.classes.Notes...)
	}
	return err
}

// labelRows are the label columns of all rows. Rows that cannot be read are reported when they are imported.
func (src *csvSource) labelRows(ctx context.Context) classes.Rows {
	return func(yield func(cells []string, where string) bool) {
		f, r, _, err := src.open()
		if err != nil {
			return
		}
		defer f.Close()
		cells := make([]string, len(src.columns.levels))
		for {
			record, err := r.Read()
			if err != nil {
				return
			}
			for i, c := range src.columns.levels {
				cells[i] = record[c]
			}
			if ctx.Err() != nil || !yield(cells, fmt.Sprintf("%s:%d", src.base(), r.Line())) {
				return
			}
		}
	}
}

// unnamed returns the names of a row, none if all are empty.
func unnamed(names []string) []string {
	if slices.ContainsFunc(names, func(name string) bool { return name != "" }) {
		return names
	}
	return nil
}

// Inputs lists the CSV, the label file and the store of images. A folder is hashed by
// the files that Items yielded last.
func (src *csvSource) Inputs(ctx context.Context, wanted func(int) bool) ([]shards.Input, error) {
	files := []string{src.name}
	if src.labels != nil {
		files = append(files, src.labels.file)
	}
	all := make([]shards.Input, len(files)+1)
	for i, f := range files {
		if !wanted(i) {
			continue
		}
		in, err := FileInput(ctx, f)
		if err != nil {
			return nil, err
		}
		all[i] = in
	}
	if !wanted(len(files)) {
		return all, nil
	}
	images, err := src.store.input(ctx, src.used)
	all[len(files)] = images
	return all, err
}

func (src *csvSource) Close() error { return src.store.Close() }
