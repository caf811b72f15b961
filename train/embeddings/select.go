package embeddings

import (
	"fmt"
	"path/filepath"

	"hgld/internal/parquetfile"
	"hgld/internal/spelling"
)

// Select returns the rows of a label file for which which is true.
func (r *Rows) Select(which []bool) *Rows { return r.at(RowsWhere(which)) }

// at returns some rows, in the order of their numbers.
func (r *Rows) at(rows []int) *Rows {
	return &Rows{Labels: pick(r.Labels, rows), IDs: pick(r.IDs, rows), Ignore: pick(r.Ignore, rows),
		IsQuery: pick(r.IsQuery, rows), IsGallery: pick(r.IsGallery, rows), Unnamed: r.Unnamed, Part: pick(r.Part, rows),
		Splits: pick(r.Splits, rows)}
}

// pick returns some elements of a list, or nil if the list is nil.
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

// Match sorts the rows of a label file into the order of the vectors' ids. It fails if an id of
// the vectors has no row, or if two rows or two vectors have the same id. left counts the rows without a vector.
func (r *Rows) Match(ids []string) (matched *Rows, left int, err error) {
	row, err := RowsByID(r.IDs)
	if err != nil {
		return nil, 0, err
	}
	at := make([]int, len(ids))
	vector := make(map[int]int, len(ids)) // by row
	for i, id := range ids {
		k, known := row.Find(id)
		if !known {
			return nil, 0, fmt.Errorf("vector %d has the id %.80q, but no row of the labels has it", i, id)
		}
		if first, twice := vector[k]; twice {
			return nil, 0, fmt.Errorf("vectors %d and %d have the same id, %.80q: want an id for each", first, i, id)
		}
		at[i], vector[k] = k, i
	}
	return r.at(at), len(r.IDs) - len(ids), nil
}

// ByID finds rows by their ids.
type ByID struct{ exact, forms map[string]int }

// RowsByID maps ids to their rows. It fails if two rows have the same id.
func RowsByID(ids []string) (*ByID, error) {
	b := &ByID{make(map[string]int, len(ids)), map[string]int{}}
	for i, id := range ids {
		if first, twice := b.exact[id]; twice {
			return nil, fmt.Errorf("rows %d and %d have the same id, %.80q", first, i, id)
		}
		b.exact[id] = i
		if form := spelling.Form(id); !spelling.IsASCII(id) {
			if _, twice := b.forms[form]; twice {
				i = -1
			}
			b.forms[form] = i
		}
	}
	return b, nil
}

// Find returns the row with an id, or the only one with the same characters in another form of Unicode.
func (b *ByID) Find(id string) (row int, known bool) {
	if row, known = b.exact[id]; known || spelling.IsASCII(id) {
		return row, known
	}
	row, known = b.forms[spelling.Form(id)]
	return row, known && row >= 0
}

// Common returns, for each query, the gallery row with the same id, or −1. It returns nil if
// either side has no ids, and fails if the gallery has an id twice.
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
		if k, known := row.Find(id); known {
			self[q] = int32(k)
		}
	}
	return self, nil
}

// IDs returns the ids of the vectors of a Parquet file. It returns nil if the file has no column
// "id" or is of another kind.
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

// named reads a column of texts or numbers, nil if there is no column of that name.
func (t *table) named(name string) ([]string, error) {
	leaf, err := t.one(func(leaf parquetfile.Leaf) bool { return leaf.Name == name && leaf.Lists == 0 })
	if err != nil || leaf == nil {
		return nil, err
	}
	return t.Texts(*leaf)
}

// SomeRows picks rows of a matrix by number.
type SomeRows struct {
	Vectors

	// At holds the row numbers, ascending.
	At []int
}

// Rows returns the size of the picked matrix.
func (s SomeRows) Rows() (rows, cols int) {
	_, cols = s.Vectors.Rows()
	return len(s.At), cols
}

// ReadRows reads runs of adjacent rows together.
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

// GiveBack gives back the memory between the first and the last picked row, if the matrix can do
// so.
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
