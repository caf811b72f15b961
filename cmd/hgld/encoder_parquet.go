package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/parquet-go/parquet-go"

	"hgld/cluster"
)

// vectorColumns are the leaves of a Parquet file that hold texts and vectors.
type vectorColumns struct{ text, vector int }

// readParquetVectors reads a column of texts and one of lists of floats, all of one
// length. Where the file has several of a kind, the settings name one.
func readParquetVectors(path string, s vectorSettings) (texts []string, x cluster.Matrix, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, x, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, x, err
	}
	defer func() { // the library does not survive damage to headers
		if p := recover(); p != nil {
			err = withCode(exitIntegrity, fmt.Errorf("%s: damaged: %v", path, p))
		}
	}()
	file, err := parquet.OpenFile(f, info.Size(), parquet.SkipBloomFilters(true), parquet.SkipPageIndex(true))
	if err != nil {
		return nil, x, withCode(exitIntegrity, fmt.Errorf("%s: %w", path, err))
	}
	columns, err := findVectorColumns(file.Schema(), s)
	if err != nil {
		return nil, x, usagef("%s: %w", path, err)
	}
	texts = []string{}
	for _, group := range file.RowGroups() {
		if err := columns.read(group, &texts, &x); err != nil {
			return nil, x, withCode(exitIntegrity, fmt.Errorf("%s: row %d: %w", path, len(texts), err))
		}
	}
	return texts, x, nil
}

// findVectorColumns finds the columns by their names, or by their types.
func findVectorColumns(schema *parquet.Schema, s vectorSettings) (c vectorColumns, err error) {
	var strs, lists []string
	for _, path := range schema.Columns() {
		leaf, ok := schema.Lookup(path...)
		if !ok {
			continue
		}
		name := path[0]
		switch kind := leaf.Node.Type().Kind(); {
		case kind == parquet.ByteArray && leaf.MaxRepetitionLevel == 0 && len(path) == 1 && (s.TextColumn == "" || name == s.TextColumn):
			strs, c.text = append(strs, name), int(leaf.ColumnIndex)
		case (kind == parquet.Float || kind == parquet.Double) && leaf.MaxRepetitionLevel == 1 && (s.VectorColumn == "" || name == s.VectorColumn):
			lists, c.vector = append(lists, name), int(leaf.ColumnIndex)
		}
	}
	if len(strs) != 1 {
		return c, fmt.Errorf("%d columns of text (%s), and one is wanted; -o vectors.text_column=NAME chooses it", len(strs), strings.Join(strs, ", "))
	}
	if len(lists) != 1 {
		return c, fmt.Errorf("%d columns of lists of floats (%s), and one is wanted; -o vectors.vector_column=NAME chooses it", len(lists), strings.Join(lists, ", "))
	}
	return c, nil
}

// read appends the rows of a group.
func (c vectorColumns) read(group parquet.RowGroup, texts *[]string, x *cluster.Matrix) error {
	rows := group.Rows()
	defer rows.Close()
	var buf [64]parquet.Row
	for {
		n, err := rows.ReadRows(buf[:])
		for _, row := range buf[:n] {
			if err := c.add(row, texts, x); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (c vectorColumns) add(row parquet.Row, texts *[]string, x *cluster.Matrix) error {
	values, text, hasText := 0, "", false
	for _, v := range row {
		switch {
		case v.IsNull():
		case v.Column() == c.text:
			text, hasText = string(v.ByteArray()), true
		case v.Column() == c.vector && v.Kind() == parquet.Double:
			x.Data = append(x.Data, float32(v.Double()))
			values++
		case v.Column() == c.vector:
			x.Data = append(x.Data, v.Float())
			values++
		}
	}
	if x.Rows == 0 {
		x.Cols = values
	}
	if !hasText || values == 0 || values != x.Cols {
		return fmt.Errorf("text %.80q with %d values, want a text with %d", text, values, x.Cols)
	}
	x.Rows++
	*texts = append(*texts, text)
	return nil
}
