package embeddings

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hgld/internal/tensorfile"
	"hgld/labels"
)

// Classes assigns numbers to the classes of several label files. Equal names get equal numbers
// in all of them. The zero value is ready to use.
type Classes struct {
	levels  []string
	builder *labels.Builder
}

// Levels returns the names of the levels, finest first. It is nil before the first Read.
func (c *Classes) Levels() []string { return c.levels }

// Names returns the class names of a level, indexed by class number.
func (c *Classes) Names(level int) []string {
	var names []string
	for _, class := range c.builder.Hierarchy().Levels[level].Classes {
		names = append(names, class.Name)
	}
	return names
}

// Read returns the labels of each row of a file, and the names of the rows. ids is nil if the
// file has no names. The extension selects the format:
//
//   - .npy: integers [rows] or [rows, levels], finest first; a negative integer means no class
//   - .parquet: as the package comment describes
//   - any other: CSV with a heading, where "id" names the rows and every other column
//     is a level, finest first
//
// A row without any class has −1 at every level. Read fails if the levels differ from those of
// an earlier file, or if a class has two parents.
func (c *Classes) Read(path string) (list []labels.Path, ids []string, err error) {
	switch filepath.Ext(path) {
	case ".npy":
		list, err = c.readNPY(path)
	case ".parquet":
		list, ids, err = c.readParquet(path)
	default:
		list, ids, err = c.readCSV(path)
	}
	return list, ids, err
}

func (c *Classes) readCSV(path string) (list []labels.Path, ids []string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.ReuseRecord = true
	head, err := r.Read()
	if errors.Is(err, io.EOF) {
		return nil, nil, fmt.Errorf("%s is empty; want a heading with a column for each level, finest first", path)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	idColumn := slices.Index(head, "id")
	level := func(row []string) []string {
		if idColumn < 0 {
			return row
		}
		return slices.Concat(row[:idColumn], row[idColumn+1:])
	}
	if err := c.declare(path, slices.Clone(level(head))); err != nil {
		return nil, nil, err
	}
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return list, ids, nil
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", path, err)
		}
		line, _ := r.FieldPos(0)
		p, err := c.add(level(row), fmt.Sprintf("%s:%d", path, line))
		if err != nil {
			return nil, nil, err
		}
		list = append(list, p)
		if idColumn >= 0 {
			ids = append(ids, row[idColumn])
		}
	}
}

func (c *Classes) readNPY(path string) ([]labels.Path, error) {
	a, err := tensorfile.OpenNPY(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	defer a.Close()
	t, err := a.Tensor()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	values, err := t.Int64()
	if err != nil || len(a.Shape) == 0 || len(a.Shape) > 2 {
		return nil, fmt.Errorf("%s: %s%v, want integers [rows] or [rows, levels]", path, a.DType, a.Shape)
	}
	rows, cols := a.Rows()
	levels := make([]string, cols)
	for l := range levels {
		levels[l] = fmt.Sprintf("level_%d", l)
	}
	if err := c.declare(path, levels); err != nil {
		return nil, err
	}
	list := make([]labels.Path, rows)
	names := make([]string, cols)
	for i := range list {
		for l := range names {
			names[l] = className(values[i*cols+l])
		}
		if list[i], err = c.add(names, fmt.Sprintf("%s, row %d", path, i)); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (c *Classes) readParquet(path string) (list []labels.Path, ids []string, err error) {
	t, err := openTable(path)
	if err != nil {
		return nil, nil, err
	}
	defer t.Close()
	columns, levels, err := t.levels()
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := c.declare(path, levels); err != nil {
		return nil, nil, err
	}
	byLevel := make([][]string, len(columns))
	for l, leaf := range columns {
		if byLevel[l], err = t.texts(leaf); err != nil {
			return nil, nil, fmt.Errorf("%s: %s: %w", path, levels[l], err)
		}
	}
	if ids, err = t.ids(); err != nil {
		return nil, nil, fmt.Errorf("%s: id: %w", path, err)
	}
	list = make([]labels.Path, len(byLevel[0]))
	names := make([]string, len(columns))
	for i := range list {
		for l := range names {
			names[l] = byLevel[l][i]
		}
		if list[i], err = c.add(names, fmt.Sprintf("%s, row %d", path, i)); err != nil {
			return nil, nil, err
		}
	}
	return list, ids, nil
}

// declare records the levels of the first file. For later files it checks that the levels are
// the same.
func (c *Classes) declare(path string, levels []string) error {
	switch {
	case len(levels) == 0:
		return fmt.Errorf("%s: no column with classes", path)
	case c.builder == nil:
		c.levels, c.builder = levels, labels.NewBuilder(levels...)
	case !slices.Equal(c.levels, levels):
		return fmt.Errorf("%s: its levels are %s, those of the queries %s", path, strings.Join(levels, ", "),
			strings.Join(c.levels, ", "))
	}
	return nil
}

// add returns the class numbers of a row and assigns numbers to new classes.
func (c *Classes) add(names []string, where string) (labels.Path, error) {
	if !slices.ContainsFunc(names, func(name string) bool { return name != "" }) {
		return slices.Repeat(labels.Path{-1}, len(names)), nil
	}
	return c.builder.Add(labels.Row{Names: names, Where: where})
}

// Beside returns the file that holds the labels of vectors. If labelFile is "", this is the
// vectors' own file for Parquet, and "" for other formats.
func Beside(labelFile, vectors string) string {
	if labelFile == "" && strings.HasSuffix(vectors, ".parquet") {
		return vectors
	}
	return labelFile
}
