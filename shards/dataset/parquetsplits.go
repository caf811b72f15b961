package dataset

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"

	"hgld/internal/parquetfile"
	"hgld/labels"
)

// readSplits reads the column of splits, the asked one or the column of texts called split. The note says why an
// unasked one is not read. Settings of splits by file names outrank an unasked one, and names must agree with it.
func (t *parquetTable) readSplits(s Settings) (note string, err error) {
	column := s.Columns.Split
	if column == "" && len(s.SplitFolders) > 0 {
		return "", nil
	}
	at := slices.IndexFunc(t.Leaves(), func(leaf parquetfile.Leaf) bool {
		return leaf.Kind == parquet.ByteArray && leaf.Depth == 1 && leaf.Lists == 0 &&
			strings.EqualFold(leaf.Name, cmp.Or(column, "split"))
	})
	switch {
	case at < 0 && column == "":
		return "", nil
	case at < 0:
		return "", setting("columns.split")("no column of texts %.80q among %s", column, shortList(t.columnNames()))
	}
	leaf := t.Leaves()[at]
	known := map[string]labels.Split{}
	var splits []labels.Split
	err = t.Values(leaf, func(v parquet.Value, _ bool) error {
		cell := string(v.ByteArray())
		split, seen := known[cell]
		if !seen {
			split = cellSplit(cell)
			known[strings.Clone(cell)] = split
		}
		switch r := len(splits); {
		case split == "" && column == "" && cell != "" && note == "":
			note = fmt.Sprintf("%s: column %s is not read: %.80q is no split", t.name, leaf.Name, cell)
		case split == "" && column != "":
			return fmt.Errorf("row %d: split %.80q; want one of %v", r, cell, labels.Splits)
		}
		splits = append(splits, split)
		return nil
	})
	if err != nil || note != "" {
		return note, err
	}
	return "", t.setSplits(leaf.Name, splits)
}

// setSplits takes the splits of the rows. All rows need one, or none, and that of the file's name if it says one.
func (t *parquetTable) setSplits(column string, splits []labels.Split) error {
	has := slices.IndexFunc(splits, func(split labels.Split) bool { return split != "" })
	if has < 0 {
		return nil
	}
	for r, split := range splits {
		switch {
		case split == "":
			return fmt.Errorf("row %d: %s is empty, and that of row %d is %s; name the split of every row", r, column, has,
				splits[has])
		case t.named && split != t.split:
			return setting("split_folders", splitName(t.name, func(string) bool { return false })+"="+string(t.split))(
				"row %d: %s is %s, but the name of the file says %s; rename the file to let the column decide, or set the split "+
					"of the whole file", r, column, split, t.split)
		}
	}
	t.splits = splits
	return nil
}

// cellSplit returns the split that a cell names, "" for none.
func cellSplit(cell string) labels.Split {
	split := cmp.Or(splitLike(cell), labels.Split(cell))
	if !slices.Contains(labels.Splits, split) {
		return ""
	}
	return split
}
