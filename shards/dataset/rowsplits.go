package dataset

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"

	"hgld/internal/parquetfile"
	"hgld/internal/spelling"
	"hgld/labels"
)

// usualSplit is the name of the column or field that has the splits of rows, if nobody names another.
const usualSplit = "split"

// rowSplits are the splits that a column or field names for the rows of a file. All cells are added first.
type rowSplits struct {
	of     *inputFile
	column string             // its name
	asked  bool               // somebody named it
	where  func(r int) string // of a row
	list   []labels.Split     // by row; "" for none
	known  map[string]labels.Split
	odd    string // the first cell that is no split
	oddRow int
}

// readsSplits reports whether splits of rows may be read: settings of splits by file names outrank a column that
// nobody named.
func readsSplits(s Settings) bool { return s.Columns.Split != "" || len(s.SplitFolders) == 0 }

func newRowSplits(of *inputFile, column string, s Settings, where func(r int) string) *rowSplits {
	return &rowSplits{of: of, column: column, asked: s.Columns.Split != "", where: where, known: map[string]labels.Split{}}
}

// add adds the cell of the next row.
func (c *rowSplits) add(cell string) {
	split, seen := c.known[cell]
	if !seen {
		split = cellSplit(cell)
		c.known[strings.Clone(cell)] = split
	}
	if split == "" && c.odd == "" && !spelling.MeansMissing(strings.TrimSpace(cell)) {
		c.odd, c.oddRow = strings.Clone(cell), len(c.list)
	}
	c.list = append(c.list, split)
}

// take returns the splits, nil if the rows name none. All rows need one, or none, and that of the file's name if it
// says one. The note says why a column is not read.
func (c *rowSplits) take() (splits []labels.Split, note string, err error) {
	has := slices.IndexFunc(c.list, func(split labels.Split) bool { return split != "" })
	lacks := slices.Index(c.list, "")
	file := splitName(c.of.name, func(string) bool { return false }) + "=" + string(c.of.split)
	switch {
	case c.asked && c.odd != "":
		return nil, "", fmt.Errorf("%s: split %.80q; want one of %v", c.where(c.oddRow), c.odd, labels.Splits)
	case c.asked && lacks >= 0:
		return nil, "", fmt.Errorf("%s: %s is empty; want one of %v", c.where(lacks), c.column, labels.Splits)
	case has < 0 && c.odd != "":
		return nil, fmt.Sprintf("%s: %s is not read: %.80q is no split", c.of.name, c.column, c.odd), nil
	case has < 0:
		return nil, "", nil
	case c.odd != "":
		return nil, "", setting("split_folders", file)("%s: %s is %.80q, which is no split, and that of %s is %s; name one "+
			"of %v in every row, or set the split of the whole file", c.where(c.oddRow), c.column, c.odd, c.where(has),
			c.list[has], labels.Splits)
	case lacks >= 0:
		return nil, "", fmt.Errorf("%s: %s is empty, and that of %s is %s; name the split of every row", c.where(lacks),
			c.column, c.where(has), c.list[has])
	}
	for r, split := range c.list {
		if c.of.named && split != c.of.split {
			return nil, "", setting("split_folders", file)("%s: %s is %s, but the name of the file says %s; rename the file "+
				"to let %[2]s decide, or set the split of the whole file", c.where(r), c.column, split, c.of.split)
		}
	}
	return c.list, "", nil
}

// readSplits reads the column of splits, the asked one or the one called split, of texts or a ClassLabel. The note
// says why an unasked one is not read.
func (t *parquetTable) readSplits(s Settings) (note string, err error) {
	if !readsSplits(s) {
		return "", nil
	}
	column := cmp.Or(s.Columns.Split, usualSplit)
	features, err := t.Features()
	if err != nil {
		return "", err
	}
	at := slices.IndexFunc(t.Leaves(), func(leaf parquetfile.Leaf) bool {
		return isClass(leaf) && strings.EqualFold(leaf.Name, column) &&
			(leaf.Kind == parquet.ByteArray || features[leaf.Name].Names != nil)
	})
	if at < 0 {
		if s.Columns.Split == "" {
			return "", nil
		}
		return "", setting("columns.split")("no column of texts %.80q among %s", column, shortList(t.columnNames()))
	}
	leaf := t.Leaves()[at]
	cells := newRowSplits(&t.inputFile, leaf.Name, s, func(r int) string { return fmt.Sprintf("row %d", r) })
	err = t.Values(leaf, func(v parquet.Value, _ bool) error {
		cell, err := leaf.ClassName(v, features[leaf.Name].Names)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", cells.where(len(cells.list)), leaf.Name, err)
		}
		cells.add(cell)
		return nil
	})
	if err == nil {
		t.splits, note, err = cells.take()
	}
	return note, err
}

// cellSplit returns the split that a cell names, "" for none.
func cellSplit(cell string) labels.Split {
	cell = strings.TrimSpace(cell)
	split := cmp.Or(splitLike(cell), labels.Split(cell))
	if !slices.Contains(labels.Splits, split) {
		return ""
	}
	return split
}
