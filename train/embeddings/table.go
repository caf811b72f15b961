package embeddings

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"

	"hgld/internal/half"
	"hgld/internal/parquetfile"
	"hgld/internal/registry"
)

// table is an open Parquet file of embeddings.
type table struct{ *parquetfile.File }

func openTable(path string) (*table, error) {
	f, err := parquetfile.Open(path)
	return &table{f}, err
}

// find returns the columns for which match is true.
func (t *table) find(match func(leaf parquetfile.Leaf) bool) (found []parquetfile.Leaf) {
	for _, leaf := range t.Leaves() {
		if match(leaf) {
			found = append(found, leaf)
		}
	}
	return found
}

// one returns the only column for which match is true, or nil if there is none. More than one is
// an error.
func (t *table) one(match func(leaf parquetfile.Leaf) bool) (*parquetfile.Leaf, error) {
	found := t.find(match)
	switch len(found) {
	case 0:
		return nil, nil
	case 1:
		return &found[0], nil
	}
	return nil, fmt.Errorf("columns %s and %s both match, want only one", found[0].Name, found[1].Name)
}

// isVector reports whether each row of a column is a list of floats.
func isVector(leaf parquetfile.Leaf) bool {
	return (leaf.Kind == parquet.Float || leaf.Kind == parquet.Double || leaf.Half()) && leaf.Lists == 1
}

// openParquet is [Open] for a Parquet file. It holds at most held numbers in memory.
func openParquet(path string, held int) (Vectors, error) {
	t, err := openTable(path)
	if err != nil {
		return nil, err
	}
	m, err := t.matrix(held)
	if err := errors.Join(err, t.Close()); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// matrix reads the only column of vectors in the table. It holds at most held numbers in memory.
func (t *table) matrix(held int) (Vectors, error) {
	leaf, err := t.one(isVector)
	if err != nil {
		return nil, err
	}
	if leaf == nil {
		return nil, errors.New("no column is a list of floats; want one, such as the column embedding of an export")
	}
	c := collector{held: held}
	err = t.vectors(*leaf, c.add, func(row, values, want int) error {
		if values == 0 {
			return fmt.Errorf("row %d has no vector", row)
		}
		return fmt.Errorf("row %d has %d numbers, want %d as in the first", row, values, want)
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", leaf.Name, err), c.drop())
	}
	return c.vectors()
}

// vectors calls each for the lists of a column of floats; the slice is reused. If a list is empty
// or its length differs from the first one's, it returns the error that mistake builds.
func (t *table) vectors(leaf parquetfile.Leaf, each func(row []float32) error,
	mistake func(row, values, want int) error) error {
	var row []float32
	rows, cols := 0, 0
	endRow := func() error {
		if rows == 1 {
			cols = len(row)
		}
		switch {
		case rows == 0:
			return nil
		case len(row) == 0 || len(row) != cols:
			return mistake(rows-1, len(row), cols)
		}
		return each(row)
	}
	err := t.Values(leaf, func(v parquet.Value, first bool) error {
		if first {
			if err := endRow(); err != nil {
				return err
			}
			row = row[:0]
			rows++
		}
		switch {
		case v.IsNull():
		case v.Kind() == parquet.Double:
			row = append(row, float32(v.Double()))
		case v.Kind() == parquet.FixedLenByteArray:
			row = append(row, half.F16(binary.LittleEndian.Uint16(v.ByteArray())))
		default:
			row = append(row, v.Float())
		}
		return nil
	})
	if err == nil {
		err = endRow()
	}
	return err
}

// scalars lists the columns with one value in each row.
func (t *table) scalars() []parquetfile.Leaf {
	return t.find(func(leaf parquetfile.Leaf) bool { return leaf.Lists == 0 && leaf.Depth == 1 })
}

// levels returns the columns that hold classes and the names of their levels: those asked for, label_0 or
// level_0 and so on, those of OpenMetricLearning with the columns that tell its tables, or label or class.
func (t *table) levels(o *reading) (columns []parquetfile.Leaf, names []string, err error) {
	numbered, own, err := t.numbered()
	if err != nil {
		return nil, nil, err
	}
	scalars := t.scalars()
	at := func(name string) int {
		return slices.IndexFunc(scalars, func(leaf parquetfile.Leaf) bool { return leaf.Name == name })
	}
	take := func(list ...string) {
		for _, name := range list {
			if k := at(name); k >= 0 && !slices.Contains(names, name) {
				columns, names = append(columns, scalars[k]), append(names, name)
			}
		}
	}
	switch {
	case len(o.asked) > 0:
		for _, name := range o.asked {
			if k := slices.Index(own, name); k >= 0 {
				columns, names = append(columns, numbered[k]), append(names, name)
				continue
			}
			if at(name) < 0 {
				return nil, nil, registry.Unknown("column", name, slices.Compact(append(own, namesOf(scalars)...)))
			}
			take(name)
		}
	case len(numbered) > 0:
		return numbered, own, nil
	case at("path") >= 0 && at("label") >= 0 && at("split") >= 0:
		take(append(slices.Clone(openMetricLevels), openMetric...)...)
	default:
		if take("label"); len(names) == 0 {
			take("class")
		}
	}
	if len(columns) == 0 {
		return nil, nil, fmt.Errorf("%w; its columns are %s: name those of classes in levels, finest first", ErrNoClasses,
			firstFew(namesOf(scalars)))
	}
	return columns, names, nil
}

// numbered returns the columns label_0 or level_0 and so on, and the names of their levels.
func (t *table) numbered() (columns []parquetfile.Leaf, names []string, err error) {
	for {
		n := strconv.Itoa(len(columns))
		leaf, err := t.one(func(leaf parquetfile.Leaf) bool {
			return leaf.Lists == 0 && (leaf.Name == "label_"+n || leaf.Name == "level_"+n)
		})
		if err != nil || leaf == nil {
			return columns, names, err
		}
		name := leaf.Name
		if own, ok := t.Metadata("hgld.level_" + n); ok {
			name = own
		}
		columns, names = append(columns, *leaf), append(names, name)
	}
}

// namesLevels reports whether the file itself names its levels.
func (t *table) namesLevels() bool {
	_, ok := t.Metadata("hgld.level_0")
	return ok
}

// The values of ColumnError.Of.
const (
	OfTexts   = "text"
	OfVectors = "lists of floats"
)

// ColumnError reports that no column of a Parquet file qualifies, or that several do.
type ColumnError struct {
	// Of is the expected content of the column, OfTexts or OfVectors.
	Of string

	// Found lists the names of the columns that qualify.
	Found []string
}

// Error lists the columns that qualify.
func (e *ColumnError) Error() string {
	return fmt.Sprintf("%d columns of %s (%s), want one", len(e.Found), e.Of, strings.Join(e.Found, ", "))
}

// TextVectors is a table of texts with one vector each.
type TextVectors struct {
	// Texts holds the text of each row.
	Texts []string

	// Values holds the vectors row by row, Cols numbers each.
	Values []float32

	// Cols is the length of a vector.
	Cols int
}

// ReadTextVectors reads one column of texts and one of lists of floats from a Parquet file.
// All lists must have the same length. An empty column name selects the column by its type. It
// returns a *ColumnError if no column qualifies, or more than one.
func ReadTextVectors(path, textColumn, vectorColumn string) (*TextVectors, error) {
	t, err := openTable(path)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	v, err := t.textVectors(textColumn, vectorColumn)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return v, nil
}

func (t *table) textVectors(textColumn, vectorColumn string) (*TextVectors, error) {
	texts := t.find(func(leaf parquetfile.Leaf) bool {
		return leaf.Kind == parquet.ByteArray && leaf.Lists == 0 && leaf.Depth == 1 &&
			(textColumn == "" || leaf.Name == textColumn)
	})
	lists := t.find(func(leaf parquetfile.Leaf) bool {
		return isVector(leaf) && (vectorColumn == "" || leaf.Name == vectorColumn)
	})
	if len(texts) != 1 {
		return nil, &ColumnError{OfTexts, namesOf(texts)}
	}
	if len(lists) != 1 {
		return nil, &ColumnError{OfVectors, namesOf(lists)}
	}
	v := &TextVectors{Texts: []string{}}
	err := t.Values(texts[0], func(text parquet.Value, _ bool) error {
		if text.IsNull() {
			return fmt.Errorf("row %d has no text", len(v.Texts))
		}
		v.Texts = append(v.Texts, string(text.ByteArray()))
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = t.vectors(lists[0], func(row []float32) error {
		v.Values, v.Cols = append(v.Values, row...), len(row)
		return nil
	}, func(row, values, want int) error {
		return fmt.Errorf("row %d: text %.80q with %d values, want a text with %d", row, v.Texts[row], values, want)
	})
	return v, err
}

func namesOf(leaves []parquetfile.Leaf) (list []string) {
	for _, leaf := range leaves {
		list = append(list, leaf.Name)
	}
	return list
}
