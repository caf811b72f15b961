package dataset

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"hgld/internal/classes"
	"hgld/shards"
)

// metadata is a folder of images with a table of them beside the images of each split, as the library datasets calls
// an ImageFolder (https://huggingface.co/docs/datasets/image_dataset):
//
//	train/metadata.csv        file_name,label    or metadata.jsonl, metadata.parquet
//	train/0001.jpg
//
// A folder called like a split gives the split; a table at the top is of all images. The paths are those in the folder.
type metadata struct {
	tables []*csvSource
	notes  []string
}

// metadataFiles lists the tables of a folder of images: one at the top, or one in each of its folders.
func metadataFiles(folder string) (names []string) {
	for _, pattern := range []string{"metadata.*", "*/metadata.*", "data/*/metadata.*"} {
		found, err := fs.Glob(os.DirFS(folder), pattern)
		if err != nil {
			continue // the importer says what is wrong with the folder
		}
		for _, name := range found {
			if slices.Contains([]string{".csv", ".jsonl", ".parquet"}, path.Ext(name)) {
				names = append(names, name)
			}
		}
		if len(names) > 0 {
			return names
		}
	}
	return nil
}

func openMetadata(ctx context.Context, s Settings) (shards.Source, error) {
	m := &metadata{}
	if err := m.open(ctx, s); err != nil {
		return nil, errors.Join(fmt.Errorf("dataset: csv: %s: %w", s.Input, err), m.Close())
	}
	return m, nil
}

func (m *metadata) open(ctx context.Context, s Settings) error {
	names := metadataFiles(s.Input)
	if len(names) == 0 {
		return errors.New("no metadata.csv, metadata.jsonl or metadata.parquet in it or in its folders")
	}
	var tables []classes.Table
	for i, name := range names {
		of := s
		of.Input = filepath.Join(s.Input, filepath.FromSlash(name))
		if split := splitLike(path.Base(path.Dir(name))); split != "" {
			of.Split = split
		}
		src, err := openCSV(ctx, of)
		if err != nil {
			return err
		}
		m.tables = append(m.tables, src)
		if src.folder = path.Dir(name); src.folder == "." {
			src.folder = ""
		}
		src.table = i
		if !slices.Equal(src.levels, m.tables[0].levels) {
			return fmt.Errorf("%s has the levels %v, but %s has %v; name those of all tables", name, src.levels, names[0],
				m.tables[0].levels)
		}
		tables = append(tables, classes.Table{Name: name, Rows: src.labelRows(ctx)})
	}
	if m.tables[0].labels != nil {
		return nil
	}
	read, err := classes.Look(m.tables[0].levels, classes.Options{Missing: s.NAValues}, tables...)
	if err != nil {
		return err
	}
	m.notes = read.Notes
	for _, src := range m.tables {
		src.classes, src.levels = read, read.Levels
	}
	return ctx.Err()
}

func (m *metadata) Levels() []string { return m.tables[0].Levels() }
func (m *metadata) Landmarks() bool  { return m.tables[0].Landmarks() }

// Notes says what was found out about the columns.
func (m *metadata) Notes() []string {
	list := m.notes
	for _, src := range m.tables {
		list = append(list, src.Notes()...)
	}
	return list
}

// Items yields the rows of one table after the other.
func (m *metadata) Items(ctx context.Context) iter.Seq2[shards.Item, error] {
	return func(yield func(shards.Item, error) bool) {
		for _, src := range m.tables {
			for item, err := range src.Items(ctx) {
				if !yield(item, err) || err != nil {
					return
				}
			}
		}
	}
}

// Inputs lists those of the tables.
func (m *metadata) Inputs(ctx context.Context, wanted func(int) bool) (all []shards.Input, err error) {
	for _, src := range m.tables {
		before := len(all)
		of, err := src.Inputs(ctx, func(i int) bool { return wanted(before + i) })
		if err != nil {
			return nil, err
		}
		for i := range of {
			if name := of[i].Name; name != "" && !strings.HasSuffix(name, "/") {
				of[i].Name = path.Join(src.folder, name)
			}
		}
		all = append(all, of...)
	}
	return all, nil
}

// Close closes the images.
func (m *metadata) Close() error {
	var err error
	for _, src := range m.tables {
		err = errors.Join(err, src.Close())
	}
	return err
}
