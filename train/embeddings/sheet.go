package embeddings

import (
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"hgld/internal/csvfile"
	"hgld/internal/regular"
	"hgld/internal/spelling"
	"hgld/internal/tensorfile"
)

// sheet holds the text of a label file, column by column.
type sheet struct {
	path    string
	levels  []string   // names
	classes [][]string // of each level, by row
	rows    int
	other   map[string][]string  // all columns of a table by name, such as id
	where   func(row int) string // describes a row in messages

	unnamed      bool // the ids are in a column without a name, as data frames write their index
	asked        bool // the levels were asked for, or the file itself names them
	isOpenMetric bool // the table has the columns of OpenMetricLearning
}

// asides are the columns that are not levels. "id" names the rows; the others say whether
// a row is a query and whether it is in the gallery.
var asides = []string{"id", "is_query", "is_gallery"}

// readSheet reads a label file. A Parquet file must have columns of levels unless onlyIDs is set.
func readSheet(path string, o *reading) (s *sheet, err error) {
	switch filepath.Ext(path) {
	case ".npy":
		return readNPY(path, o)
	case ".npz":
		return readLabelsNPZ(path, o)
	case ".parquet":
		return readParquet(path, o)
	case ".pt", ".pth", ".pkl", ".pickle":
		return readLabelsTorch(path, o)
	case ".safetensors":
		return readLabelsTensors(path, o)
	default:
		return readText(path, o)
	}
}

// Table holds the text of a label file.
type Table struct {
	IDs     []string   // of the rows; nil if the file has no column "id"
	Levels  []string   // names of the levels, finest first
	Classes [][]string // [levels][rows]; "" is no class
	Rows    int        // number of rows
	Notes   []string   // about names that are probably one class
}

// ReadTable reads a label file as [Classes.Read] does, but does not check that its classes form a
// tree.
func ReadTable(path string) (*Table, error) {
	silent := func(string, ...any) {}
	s, err := readSheet(path, &reading{aside: asides, onlyIDs: true, say: silent})
	if err != nil {
		return nil, err
	}
	if err := s.clearMissing([]string{"-1"}, silent); err != nil {
		return nil, err
	}
	notes := twins([]*sheet{s})
	t := &Table{IDs: s.other["id"], Levels: s.levels, Classes: s.classes, Rows: s.rows}
	for _, level := range t.Levels {
		t.Notes = append(t.Notes, notes[level]...)
	}
	return t, nil
}

func readText(path string, o *reading) (*sheet, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := csvfile.NewReader(f)
	r.Reuse()
	r.TrimColumns()
	head, err := r.Read()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s is empty; want a heading with a column for each level, finest first", path)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	head = slices.Clone(head)
	for k := range head {
		head[k] = strings.TrimSpace(head[k])
	}
	unnamed := head[0] == "" && slices.Contains(o.aside, "id") && !slices.Contains(head, "id")
	nameIDs(head, o.aside)
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
	s := &sheet{path: path, rows: len(lines), unnamed: unnamed,
		where: func(row int) string { return fmt.Sprintf("%s:%d", path, lines[row]) }}
	return s, s.sort(head, columns, o)
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

func readNPY(path string, o *reading) (*sheet, error) {
	a, err := tensorfile.OpenNPY(path)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	t, err := a.Tensor()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return sheetOf(path, t, o)
}

// sheetOf makes a sheet of integers, whole numbers or texts [rows] or [rows, levels].
func sheetOf(path string, t tensorfile.Tensor, o *reading) (*sheet, error) {
	names, err := classNames(t)
	if err != nil || len(t.Shape) == 0 || len(t.Shape) > 2 {
		return nil, fmt.Errorf("%s: %s%v, want integers [rows] or [rows, levels]", path, t.DType, t.Shape)
	}
	if len(names) == 0 { // the other dimension may be any number
		return nil, fmt.Errorf("%s: %s%v has no row or no column with classes", path, t.DType, t.Shape)
	}
	rows := t.Shape[0]
	cols := len(names) / rows
	s := &sheet{path: path, rows: rows, where: rowOf(path)}
	head, columns := make([]string, cols), make([][]string, cols)
	for l := range cols {
		head[l], columns[l] = fmt.Sprintf("level_%d", l), make([]string, rows)
		for i := range rows {
			columns[l][i] = names[i*cols+l]
		}
	}
	return s, s.sort(head, columns, o)
}

// classNames returns the elements of an array as names of classes. Of floats, only whole numbers and NaN,
// which means no class, are names.
func classNames(t tensorfile.Tensor) ([]string, error) {
	if t.DType == tensorfile.Text || t.DType == tensorfile.Bytes {
		return t.Texts()
	}
	if !slices.Contains([]string{"F64", "F32", "F16", "BF16"}, t.DType) {
		values, err := t.Int64()
		names := make([]string, len(values))
		for i, n := range values {
			names[i] = strconv.FormatInt(n, 10)
		}
		return names, err
	}
	values, err := t.Float64()
	names := make([]string, len(values))
	for i, v := range values {
		var whole bool
		if names[i], whole = wholeName(v); !whole {
			return nil, fmt.Errorf("%g is no class", v)
		}
	}
	return names, err
}

// wholeName returns the name of a class that is stored as a float.
func wholeName(v float64) (name string, whole bool) {
	if math.IsNaN(v) {
		return "nan", true
	}
	const exact = 1 << 53
	return strconv.FormatFloat(v, 'f', -1, 64), v == math.Trunc(v) && math.Abs(v) <= exact
}

// rowOf names the rows of a file that has no lines.
func rowOf(path string) func(row int) string {
	return func(row int) string { return fmt.Sprintf("%s, row %d", path, row) }
}

func readParquet(path string, o *reading) (*sheet, error) {
	t, err := openTable(path)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	leaves, levels, err := t.levels(o)
	if err != nil && !o.onlyIDs {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	s := &sheet{path: path, where: rowOf(path)}
	var head []string
	var columns [][]string
	add := func(name string, column []string) {
		head, columns, s.rows = append(head, name), append(columns, column), len(column)
	}
	for l, leaf := range leaves {
		classes, err := t.texts(leaf)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", path, levels[l], err)
		}
		add(levels[l], classes)
	}
	for _, name := range o.aside {
		column, err := t.named(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", path, name, err)
		}
		if column != nil && !slices.Contains(head, name) {
			add(name, column)
		}
	}
	if len(o.asked) > 0 {
		named := *o
		named.asked = levels
		o = &named
	}
	err = s.sort(head, columns, o)
	s.asked = s.asked || t.namesLevels()
	return s, err
}

// truths reads a boolean column; nil if the sheet does not have it.
func (s *sheet) truths(name string) ([]bool, error) {
	column, has := s.other[name]
	if !has {
		return nil, nil
	}
	list := make([]bool, len(column))
	for i, text := range column {
		v, err := strconv.ParseBool(strings.TrimSuffix(text, ".0"))
		if err != nil && s.isOpenMetric && spelling.MeansMissing(text) {
			v, err = false, nil // a row to train on
		}
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
