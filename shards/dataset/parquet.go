package dataset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"

	"hgld/internal/classes"
	"hgld/internal/parquetfile"
	"hgld/labels"
	"hgld/shards"
)

// Parquet imports a Hugging Face data set: a .parquet file, or a folder of them, with a
// row for each image. The image is a struct of bytes and path, in the column image or
// Columns.Path. Settings.Levels names the columns of classes, finest first; by default it is
// the only ClassLabel, or the column label. Classes are texts, numbers with names in the metadata
// ("huggingface") of the file, or plain numbers, in every file alike; null, NaN and −1 are no class.
//
// The name of a file gives the split (train-00000-of-00002.parquet, validation/0000.parquet),
// Settings.SplitFolders gives that of others, and a column split of texts that of rows. An image is called
// FILE/ROW, or FILE/ROW/NAME where its path has a name; rows count from 0.
//
// Features are described at https://huggingface.co/docs/datasets/about_dataset_features.
type Parquet struct{}

// Open reads the classes of all rows, and no image. It returns a [classes.OrderError] if the levels
// appear to be coarsest first.
func (Parquet) Open(ctx context.Context, s Settings) (shards.Source, error) {
	if s.Images != "" || s.Labels != "" || s.Columns != (Columns{Path: s.Columns.Path, Split: s.Columns.Split}) {
		return nil, errors.New("dataset: parquet takes images and classes from its input; leave out images, labels and " +
			"all columns except columns.path, the column of images, and columns.split")
	}
	src := &parquetSource{pages: &pageCache{limit: pageBytes}}
	if err := src.open(ctx, s); err != nil {
		return nil, fmt.Errorf("dataset: parquet %s: %w", s.Input, errors.Join(err, src.Close()))
	}
	return src, nil
}

type parquetSource struct {
	notes   []string
	files   []*parquetTable
	levels  []string
	pages   *pageCache
	classes *classes.Columns
	keep    bool // rows may lack levels
}

// parquetTable is a file of the data set.
type parquetTable struct {
	*parquetfile.File
	inputFile
	bytes  parquetfile.Leaf
	pages  []parquetfile.Page
	names  []string // file names of the images by row, "" for none; nil: there is no such column
	levels [][]string
	splits []labels.Split // by row; nil: all are that of the file
	kinds  []string       // of the values of each level: texts, numbers or booleans
}

func (src *parquetSource) open(ctx context.Context, s Settings) (err error) {
	if src.keep, err = keepsPartial(s); err != nil {
		return err
	}
	files, notes, err := inputFiles(s, ".parquet")
	if err != nil {
		return err
	}
	src.notes = notes
	for _, file := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		t := &parquetTable{inputFile: file}
		if t.File, err = parquetfile.Open(t.path); err != nil {
			return err
		}
		src.files = append(src.files, t)
		if src.levels == nil {
			if src.levels, err = t.chooseLevels(s); err != nil {
				return fmt.Errorf("%s: %w", file.name, err)
			}
		}
		if err := t.read(src.levels, s.Columns.Path); err != nil {
			return fmt.Errorf("%s: %w", file.name, err)
		}
		note, err := t.readSplits(s)
		if err != nil {
			return fmt.Errorf("%s: %w", file.name, err)
		}
		if note != "" {
			src.notes = append(src.notes, note)
		}
		if err := src.files[0].sameKinds(t, src.levels); err != nil {
			return err
		}
	}
	src.classes, err = classes.Look(src.levels, classes.Options{Missing: s.NAValues}, classes.Table{Rows: src.rows(ctx)})
	if err != nil {
		return err
	}
	src.levels, src.notes = src.classes.Levels, append(src.notes, src.classes.Notes...)
	return nil
}

func isParquet(name string) bool { return strings.EqualFold(path.Ext(name), ".parquet") }

// read finds the columns of a file and reads all but the images.
func (t *parquetTable) read(levels []string, imageColumn string) error {
	image, names, err := t.imageLeaves(imageColumn)
	if err != nil {
		return err
	}
	t.bytes = image
	if t.pages, err = t.Pages(image); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(image.Path, "."), err)
	}
	if names != nil {
		err := t.Values(*names, func(v parquet.Value, _ bool) error {
			t.names = append(t.names, string(v.ByteArray())) // null has none
			return nil
		})
		if err != nil {
			return fmt.Errorf("%s: %w", strings.Join(names.Path, "."), err)
		}
	}
	if err := t.checkBytes(); err != nil {
		return err
	}
	for _, level := range levels {
		classes, kind, err := t.classes(level)
		if err != nil {
			return fmt.Errorf("%s: %w", level, err)
		}
		t.levels, t.kinds = append(t.levels, classes), append(t.kinds, kind)
	}
	return nil
}

// checkBytes returns an error if the first rows name files in place of holding images.
func (t *parquetTable) checkBytes() error {
	if len(t.pages) == 0 || t.names == nil || len(t.names) == 0 || t.names[0] == "" {
		return nil
	}
	images, err := t.images(t.pages[0])
	if err != nil || slices.ContainsFunc(images, func(data []byte) bool { return len(data) > 0 }) {
		return err
	}
	return fmt.Errorf("the column %s holds paths (%.80q) and no bytes of images; write it again with the bytes "+
		"(datasets.table.embed_table_storage), or import a .csv with the columns path and label", t.bytes.Name, t.names[0])
}

// sameKinds returns an error if the values of a level are texts in one file and numbers in another: a
// class would have two names.
func (t *parquetTable) sameKinds(other *parquetTable, levels []string) error {
	for l, level := range levels {
		if t.kinds[l] != other.kinds[l] {
			return fmt.Errorf("%s holds %s in %s (%s) and %s in %s (%s), so that a class would have two names; write both alike",
				level, t.kinds[l], t.name, firstNames(t.levels[l]), other.kinds[l], other.name, firstNames(other.levels[l]))
		}
	}
	return nil
}

// firstNames lists a few of the classes of rows.
func firstNames(rows []string) string {
	const few, looked = 3, 1000
	var names []string
	for _, name := range rows[:min(looked, len(rows))] {
		if name != "" && len(names) < few && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return shortList(names)
}

// row returns the cells of the levels in a row.
func (t *parquetTable) row(r int64) []string {
	cells := make([]string, len(t.levels))
	for l := range t.levels {
		cells[l] = t.levels[l][r]
	}
	return cells
}

func (t *parquetTable) splitOf(r int64) labels.Split {
	if t.splits == nil {
		return t.split
	}
	return t.splits[r]
}

func (t *parquetTable) where(r int64) string { return fmt.Sprintf("%s: row %d", t.name, r) }

func (src *parquetSource) Levels() []string { return src.levels }
func (src *parquetSource) Landmarks() bool  { return false }

// Notes names parts that are missing.
func (src *parquetSource) Notes() []string { return src.notes }

// rows yields the cells of the levels in all rows.
func (src *parquetSource) rows(ctx context.Context) classes.Rows {
	return func(yield func([]string, string) bool) {
		for _, t := range src.files {
			for r := range int64(len(t.levels[0])) {
				if ctx.Err() != nil || !yield(t.row(r), t.where(r)) {
					return
				}
			}
		}
	}
}

// Items yields the rows. It reads every image once, for its size and CRC-32.
func (src *parquetSource) Items(ctx context.Context) iter.Seq2[shards.Item, error] {
	return func(yield func(shards.Item, error) bool) {
		for _, t := range src.files {
			for p, page := range t.pages {
				images, err := t.images(page)
				if err == nil {
					err = ctx.Err()
				}
				if err != nil {
					yield(shards.Item{}, err)
					return
				}
				for i, data := range images {
					if !yield(src.item(t, p, i, data), nil) {
						return
					}
				}
			}
		}
	}
}

// item describes image i of a page.
func (src *parquetSource) item(t *parquetTable, page, i int, data []byte) shards.Item {
	r := t.pages[page].First + int64(i)
	item := shards.Item{Path: fmt.Sprintf("%s/%d", t.name, r), Split: t.splitOf(r), Partial: src.keep,
		Names: unnamed(src.classes.Read(0, t.row(r))), Where: t.where(r), Size: int64(len(data)), Missing: len(data) == 0}
	if t.names != nil {
		if name := path.Base(t.names[r]); t.names[r] != "" && fs.ValidPath(name) && name != "." {
			item.Path += "/" + name
		}
	}
	item.ID = shards.NewImageID(item.Path)
	if item.Missing {
		item.Open = func() (io.ReadCloser, error) {
			return nil, fmt.Errorf("%s: the row contains no image: %w", item.Where, fs.ErrNotExist)
		}
		return item
	}
	item.Stamp = fmt.Sprintf("crc32:%08x", crc32.ChecksumIEEE(data))
	item.Open = func() (io.ReadCloser, error) {
		images, err := src.pages.get(t, page)
		if err != nil {
			return nil, &shards.ReadError{Path: item.Path, Where: item.Where, Err: err}
		}
		return io.NopCloser(bytes.NewReader(images[i])), nil
	}
	return item
}

// Inputs lists the files.
func (src *parquetSource) Inputs(ctx context.Context, wanted func(int) bool) ([]shards.Input, error) {
	all := make([]shards.Input, len(src.files))
	for i, t := range src.files {
		if !wanted(i) {
			continue
		}
		in, err := FileInput(ctx, t.path)
		if err != nil {
			return nil, err
		}
		in.Name = t.name
		all[i] = in
	}
	return all, nil
}

func (src *parquetSource) Close() error {
	var err error
	for _, t := range src.files {
		err = errors.Join(err, t.File.Close())
	}
	return err
}
