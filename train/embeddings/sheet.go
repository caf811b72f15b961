package embeddings

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"hgld/internal/classes"
	"hgld/internal/csvfile"
	"hgld/internal/parquetfile"
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
	case ".parquet":
		return readParquet(path, o)
	case ".npz", ".safetensors", ".pt", ".pth", ".pkl", ".pickle":
		return readArrays(path, o)
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
	s, err := readSheet(path, &reading{aside: asides, onlyIDs: true, log: silent})
	if err != nil {
		return nil, err
	}
	of, err := read([]*sheet{s}, classes.Options{Missing: []string{"-1"}, Independent: true})
	if err != nil {
		return nil, err
	}
	return &Table{IDs: s.other["id"], Levels: s.levels, Classes: s.classes, Rows: s.rows, Notes: of.twins()}, nil
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
	head, err := classes.ReadHeading(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	unnamed := head[0] == "" && slices.Contains(o.aside, "id") && !slices.Contains(head, "id")
	nameIDs(head, o.aside)
	if k := slices.Index(head, ""); k >= 0 && len(o.asked) == 0 && !o.onlyIDs {
		return nil, fmt.Errorf("%s: column %d has no name in the heading", path, k+1)
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
		if names[i], whole = parquetfile.Whole(v); !whole {
			return nil, fmt.Errorf("%g is no class", v)
		}
	}
	return names, err
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
		classes, err := t.Texts(leaf)
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
