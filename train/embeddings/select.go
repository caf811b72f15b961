package embeddings

import (
	"fmt"
	"path/filepath"

	"hgld/internal/parquetfile"
)

// Select returns the rows of a label file that are true in which.
func (r *Rows) Select(which []bool) *Rows { return r.at(RowsWhere(which)) }

// at returns some rows, in the order of their numbers.
func (r *Rows) at(rows []int) *Rows {
	return &Rows{Labels: pick(r.Labels, rows), IDs: pick(r.IDs, rows), Ignore: pick(r.Ignore, rows),
		IsQuery: pick(r.IsQuery, rows), IsGallery: pick(r.IsGallery, rows)}
}

// pick returns some elements of a list, nil of nil.
func pick[T any](list []T, rows []int) []T {
	if list == nil {
		return nil
	}
	picked := make([]T, len(rows))
	for i, row := range rows {
		picked[i] = list[row]
	}
	return picked
}

// Match brings the rows of a label file into the order of the vectors' ids. It fails if an
// id of the vectors has no row, or if the rows have one twice. left counts the rows that no
// vector has.
func (r *Rows) Match(ids []string) (matched *Rows, left int, err error) {
	row, err := RowsByID(r.IDs)
	if err != nil {
		return nil, 0, err
	}
	at := make([]int, len(ids))
	for i, id := range ids {
		k, known := row[id]
		if !known {
			return nil, 0, fmt.Errorf("the vector %d is called %.80q, and no row of the labels is", i, id)
		}
		at[i] = k
	}
	return r.at(at), len(r.IDs) - len(ids), nil
}

// RowsByID maps ids to their rows. It fails if two rows have the same id.
func RowsByID(ids []string) (map[string]int, error) {
	row := make(map[string]int, len(ids))
	for i, id := range ids {
		if first, twice := row[id]; twice {
			return nil, fmt.Errorf("the rows %d and %d have the same id, %.80q", first, i, id)
		}
		row[id] = i
	}
	return row, nil
}

// Common returns for each query the row of the gallery with the same id, −1 where there is
// none; nil if either side has no ids. It fails if the gallery has an id twice.
func Common(query, gallery []string) (self []int32, err error) {
	if query == nil || gallery == nil {
		return nil, nil
	}
	row, err := RowsByID(gallery)
	if err != nil {
		return nil, fmt.Errorf("gallery: %w", err)
	}
	self = make([]int32, len(query))
	for q, id := range query {
		self[q] = -1
		if k, known := row[id]; known {
			self[q] = int32(k)
		}
	}
	return self, nil
}

// IDs returns the ids of the vectors of a Parquet file, nil if it has no column "id" or is
// a file of another kind, which has none.
func IDs(path string) ([]string, error) {
	if filepath.Ext(path) != ".parquet" {
		return nil, nil
	}
	t, err := openTable(path)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	ids, err := t.named("id")
	if err != nil {
		return nil, fmt.Errorf("%s: id: %w", path, err)
	}
	return ids, nil
}

// named reads a column of texts or numbers, nil if there is none of the name.
func (t *table) named(name string) ([]string, error) {
	leaf, err := t.one(func(leaf parquetfile.Leaf) bool { return leaf.Name == name && leaf.Lists == 0 })
	if err != nil || leaf == nil {
		return nil, err
	}
	return t.texts(*leaf)
}

// SomeRows are the rows of a matrix that are picked by their numbers, which rise.
type SomeRows struct {
	Vectors

	// At are the numbers of the rows.
	At []int
}

// Rows returns the size of the picked matrix.
func (s SomeRows) Rows() (rows, cols int) {
	_, cols = s.Vectors.Rows()
	return len(s.At), cols
}

// ReadRows reads runs of neighbours together.
func (s SomeRows) ReadRows(dst []float32, lo int) error {
	_, cols := s.Vectors.Rows()
	for n := len(dst) / cols; n > 0; {
		run := 1
		for run < n && s.At[lo+run] == s.At[lo]+run {
			run++
		}
		if err := s.Vectors.ReadRows(dst[:run*cols], s.At[lo]); err != nil {
			return err
		}
		dst, lo, n = dst[run*cols:], lo+run, n-run
	}
	return nil
}

// GiveBack lets the memory of the rows from the first to the last of those picked be taken back,
// if the matrix can do so.
func (s SomeRows) GiveBack(lo, hi int) {
	if v, can := s.Vectors.(interface{ GiveBack(lo, hi int) }); can && lo < hi {
		v.GiveBack(s.At[lo], s.At[hi-1]+1)
	}
}

// RowsWhere lists the numbers of the rows that are true.
func RowsWhere(which []bool) (rows []int) {
	for i, yes := range which {
		if yes {
			rows = append(rows, i)
		}
	}
	return rows
}
