package embeddings

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"hgld/internal/csvfile"
	"hgld/internal/regular"
	"hgld/internal/tensorfile"
)

// sheet holds the text of a label file, column by column.
type sheet struct {
	path    string
	levels  []string   // names
	classes [][]string // of each level, by row
	rows    int
	other   map[string][]string  // columns that are not levels, such as id
	where   func(row int) string // describes a row in messages
}

// asides are the columns that are not levels. "id" names the rows; the others say whether
// a row is a query and whether it is in the gallery.
var asides = []string{"id", "is_query", "is_gallery"}

// readSheet reads a label file. Columns named in aside are not levels. A Parquet file must have
// columns of levels unless onlyIDs is set.
func readSheet(path string, aside []string, onlyIDs bool) (*sheet, error) {
	switch filepath.Ext(path) {
	case ".npy":
		return readNPY(path)
	case ".npz":
		return readLabelsNPZ(path, onlyIDs)
	case ".parquet":
		return readParquet(path, aside, onlyIDs)
	default:
		return readText(path, aside)
	}
}

// Table holds the text of a label file.
type Table struct {
	IDs     []string   // of the rows; nil if the file has no column "id"
	Levels  []string   // names of the levels, finest first
	Classes [][]string // [levels][rows]; "" is no class
	Rows    int        // number of rows
}

// ReadTable reads a label file as [Classes.Read] does, but does not check that its classes form a
// tree.
func ReadTable(path string) (*Table, error) {
	s, err := readSheet(path, asides, true)
	if err != nil {
		return nil, err
	}
	return &Table{IDs: s.other["id"], Levels: s.levels, Classes: s.classes, Rows: s.rows}, nil
}

func readText(path string, aside []string) (*sheet, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := csvfile.NewReader(f)
	r.Reuse()
	head, err := r.Read()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s is empty; want a heading with a column for each level, finest first", path)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	head = slices.Clone(head)
	nameIDs(head, aside)
	if err := checkHead(path, head); err != nil {
		return nil, err
	}
	columns, lines := make([][]string, len(head)), []int{}
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		for k, text := range row {
			columns[k] = append(columns[k], text)
		}
		lines = append(lines, r.Line())
	}
	s := &sheet{path: path, rows: len(lines),
		where: func(row int) string { return fmt.Sprintf("%s:%d", path, lines[row]) }}
	s.sort(head, columns, aside)
	return s, nil
}

// nameIDs gives the columns that are no levels their names: they may be in any case, and a first column
// without a name holds the ids, as data frames write their index.
func nameIDs(head, aside []string) {
	if head[0] == "" && slices.Contains(aside, "id") && !slices.Contains(head, "id") {
		head[0] = "id"
	}
	for k, name := range head {
		for _, known := range aside {
			if strings.EqualFold(name, known) && !slices.Contains(head, known) {
				head[k] = known
			}
		}
	}
}

// isText reports whether a cell is UTF-8 without NUL.
func isText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// checkHead checks the column names.
func checkHead(path string, head []string) error {
	for k, name := range head {
		switch {
		case !isText(name):
			return fmt.Errorf("%s: the heading is not UTF-8; want a table of labels", path)
		case name == "":
			return fmt.Errorf("%s: column %d has no name in the heading", path, k+1)
		case slices.Contains(head[:k], name):
			return fmt.Errorf("%s: two columns are called %.80q, want different names", path, name)
		}
	}
	return nil
}

// sort separates levels from other columns.
func (s *sheet) sort(head []string, columns [][]string, aside []string) {
	s.other = map[string][]string{}
	for k, name := range head {
		if !slices.Contains(aside, name) {
			s.levels, s.classes = append(s.levels, name), append(s.classes, columns[k])
			continue
		}
		s.other[name] = columns[k]
	}
}

func readNPY(path string) (*sheet, error) {
	a, err := tensorfile.OpenNPY(path)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	t, err := a.Tensor()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return sheetOf(path, t)
}

// sheetOf makes a sheet of integers [rows] or [rows, levels].
func sheetOf(path string, t tensorfile.Tensor) (*sheet, error) {
	values, err := t.Int64()
	if err != nil || len(t.Shape) == 0 || len(t.Shape) > 2 {
		return nil, fmt.Errorf("%s: %s%v, want integers [rows] or [rows, levels]", path, t.DType, t.Shape)
	}
	if len(values) == 0 { // the other dimension may be any number
		return nil, fmt.Errorf("%s: %s%v has no row or no column with classes", path, t.DType, t.Shape)
	}
	rows := t.Shape[0]
	cols := len(values) / rows
	s := &sheet{path: path, rows: rows, where: rowOf(path)}
	for l := range cols {
		classes := make([]string, rows)
		for i := range classes {
			classes[i] = className(values[i*cols+l])
		}
		s.levels, s.classes = append(s.levels, fmt.Sprintf("level_%d", l)), append(s.classes, classes)
	}
	return s, nil
}

// rowOf names the rows of a file that has no lines.
func rowOf(path string) func(row int) string {
	return func(row int) string { return fmt.Sprintf("%s, row %d", path, row) }
}

func readParquet(path string, aside []string, onlyIDs bool) (*sheet, error) {
	t, err := openTable(path)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	leaves, levels, err := t.levels()
	if err != nil && !onlyIDs {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	s := &sheet{path: path, levels: levels, other: map[string][]string{}, where: rowOf(path)}
	for l, leaf := range leaves {
		classes, err := t.texts(leaf)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", path, levels[l], err)
		}
		s.classes, s.rows = append(s.classes, classes), len(classes)
	}
	for _, name := range aside {
		column, err := t.named(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", path, name, err)
		}
		if column != nil {
			s.other[name], s.rows = column, len(column)
		}
	}
	return s, nil
}

// truths reads a boolean column; nil if the sheet does not have it.
func (s *sheet) truths(name string) ([]bool, error) {
	column, has := s.other[name]
	if !has {
		return nil, nil
	}
	list := make([]bool, len(column))
	for i, text := range column {
		v, err := strconv.ParseBool(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %s is %.80q, want 1 or 0, true or false", s.where(i), name, text)
		}
		list[i] = v
	}
	return list, nil
}

// finestFirst returns an order of the levels, more classes first, in which each class has one
// parent, or nil if there is none.
func (s *sheet) finestFirst() []string {
	order := make([]int, len(s.levels))
	count := make([]int, len(s.levels))
	for l, classes := range s.classes {
		order[l] = l
		different := map[string]bool{}
		for _, c := range classes {
			different[c] = true
		}
		count[l] = len(different)
	}
	slices.SortStableFunc(order, func(a, b int) int { return count[b] - count[a] })
	var names []string
	for i, l := range order {
		names = append(names, s.levels[l])
		if i+1 < len(order) && !nested(s.classes[l], s.classes[order[i+1]]) {
			return nil
		}
	}
	return names
}

// nested reports whether each class has a single parent, ignoring rows without a class.
func nested(classes, parents []string) bool {
	parent := map[string]string{}
	for i, c := range classes {
		if p, known := parent[c]; known && p != parents[i] && c != "" {
			return false
		}
		parent[c] = parents[i]
	}
	return true
}
