package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"

	"hgld/labels"
)

// embeddedRows is an open Parquet file of embeddings: a column of lists of floats,
// and beside it, if it has them, "id" and the labels, called label_0, label_1 … or
// level_0, level_1 … from the finest on, texts or numbers. `hgld train export` writes
// such a file, with the levels' names in its metadata as "hgld.level_0" ….
type embeddedRows struct {
	path string
	file *parquet.File
	f    *os.File
}

// openParquet opens a file. What the library does not survive becomes an error of
// the reading functions.
func openParquet(path string) (p *embeddedRows, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(withCode(exitIntegrity, fmt.Errorf("%s: %w", path, err)), f.Close())
		}
	}()
	defer recoverParquet(&err)
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	file, err := parquet.OpenFile(f, info.Size(), parquet.SkipBloomFilters(true), parquet.SkipPageIndex(true))
	return &embeddedRows{path, file, f}, err
}

func recoverParquet(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("damaged: %v", p)
	}
}

// column finds a leaf.
func (p *embeddedRows) column(match func(name string, leaf parquet.LeafColumn) bool) (index int, name string, err error) {
	index = -1
	for _, path := range p.file.Schema().Columns() {
		leaf, ok := p.file.Schema().Lookup(path...)
		if !ok || !match(path[0], leaf) {
			continue
		}
		if index >= 0 {
			return -1, "", fmt.Errorf("%s: the columns %s and %s could both be meant", p.path, name, path[0])
		}
		index, name = int(leaf.ColumnIndex), path[0]
	}
	return index, name, nil
}

// values calls each for the values of a leaf, in order; first says that one begins
// a row.
func (p *embeddedRows) values(index int, each func(v parquet.Value, first bool) error) (err error) {
	defer recoverParquet(&err)
	for _, group := range p.file.RowGroups() {
		pages := group.ColumnChunks()[index].Pages()
		err := eachValue(pages, each)
		if err = errors.Join(err, pages.Close()); err != nil {
			return err
		}
	}
	return nil
}

func eachValue(pages parquet.Pages, each func(v parquet.Value, first bool) error) error {
	var buf [1024]parquet.Value
	for {
		page, err := pages.ReadPage()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for values := page.Values(); err == nil; {
			var n int
			n, err = values.ReadValues(buf[:])
			for _, v := range buf[:n] {
				if err := each(v, v.RepetitionLevel() == 0); err != nil {
					return err
				}
			}
		}
		parquet.Release(page)
		if !errors.Is(err, io.EOF) {
			return err
		}
	}
}

// matrix reads the vectors.
func (p *embeddedRows) matrix() (*matrix, error) {
	index, name, err := p.column(func(_ string, leaf parquet.LeafColumn) bool {
		kind := leaf.Node.Type().Kind()
		return (kind == parquet.Float || kind == parquet.Double) && leaf.MaxRepetitionLevel == 1
	})
	if err != nil {
		return nil, err
	}
	if index < 0 {
		return nil, fmt.Errorf("%s: no column is a list of floats; want one, such as the embedding of `hgld train export`", p.path)
	}
	m, row := &matrix{}, -1
	err = p.values(index, func(v parquet.Value, first bool) error {
		if first {
			if err := m.endRow(row); err != nil {
				return err
			}
			row++
		}
		switch {
		case v.IsNull():
			return fmt.Errorf("row %d has no vector", row)
		case v.Kind() == parquet.Double:
			m.values = append(m.values, float32(v.Double()))
		default:
			m.values = append(m.values, v.Float())
		}
		return nil
	})
	if err == nil {
		err = m.endRow(row)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", p.path, name, err)
	}
	return m, nil
}

// endRow checks that row is as long as the first.
func (m *matrix) endRow(row int) error {
	if row == 0 {
		m.cols = len(m.values)
	}
	if row >= 0 && len(m.values) != (row+1)*m.cols {
		return fmt.Errorf("row %d has %d numbers, want %d as in the first", row, len(m.values)-row*m.cols, m.cols)
	}
	return nil
}

// texts reads a column of texts or whole numbers; null is "".
func (p *embeddedRows) texts(index int) (list []string, err error) {
	err = p.values(index, func(v parquet.Value, _ bool) error {
		switch {
		case v.IsNull():
			list = append(list, "")
		case v.Kind() == parquet.ByteArray:
			list = append(list, string(v.ByteArray()))
		case v.Kind() == parquet.Int32:
			list = append(list, numberName(int64(v.Int32())))
		case v.Kind() == parquet.Int64:
			list = append(list, numberName(v.Int64()))
		default:
			return fmt.Errorf("%v; want texts or whole numbers", v.Kind())
		}
		return nil
	})
	return list, err
}

// numberName names a class by its number; −1 is no class.
func numberName(n int64) string {
	if n < 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// labelColumns finds the columns of the levels, and names the levels.
func (p *embeddedRows) labelColumns() (columns []int, levels []string, err error) {
	for {
		n := strconv.Itoa(len(columns))
		index, name, err := p.column(func(name string, leaf parquet.LeafColumn) bool {
			return leaf.MaxRepetitionLevel == 0 && (name == "label_"+n || name == "level_"+n)
		})
		if err != nil {
			return nil, nil, err
		}
		if index < 0 {
			break
		}
		if own, ok := p.file.Lookup("hgld.level_" + n); ok {
			name = own
		}
		columns, levels = append(columns, index), append(levels, name)
	}
	if len(columns) == 0 {
		return nil, nil, fmt.Errorf("%s: no column label_0 or level_0; give the labels as a .csv by --labels", p.path)
	}
	return columns, levels, nil
}

// readParquet returns the labels of a file and, if it has them, the ids.
func (c *classes) readParquet(path string) (list []labels.Path, ids []string, err error) {
	p, err := openParquet(path)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, p.f.Close()) }()
	columns, levels, err := p.labelColumns()
	if err != nil {
		return nil, nil, err
	}
	if err := c.declare(path, levels); err != nil {
		return nil, nil, err
	}
	table := make([][]string, len(columns))
	for l, index := range columns {
		if table[l], err = p.texts(index); err != nil {
			return nil, nil, fmt.Errorf("%s: %s: %w", path, levels[l], err)
		}
	}
	id, _, err := p.column(func(name string, leaf parquet.LeafColumn) bool { return name == "id" && leaf.MaxRepetitionLevel == 0 })
	if err == nil && id >= 0 {
		ids, err = p.texts(id)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: id: %w", path, err)
	}
	list = make([]labels.Path, len(table[0]))
	names := make([]string, len(columns))
	for i := range list {
		for l := range names {
			names[l] = table[l][i]
		}
		if list[i], err = c.add(names, fmt.Sprintf("%s, row %d", path, i)); err != nil {
			return nil, nil, err
		}
	}
	return list, ids, nil
}

// labelsBeside is the file that vectors bring their labels in: themselves, if they
// are Parquet.
func labelsBeside(labelFile, embeddings string) string {
	if labelFile == "" && strings.HasSuffix(embeddings, ".parquet") {
		return embeddings
	}
	return labelFile
}
