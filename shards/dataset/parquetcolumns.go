package dataset

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"

	"hgld/internal/classes"
	"hgld/internal/parquetfile"
	"hgld/internal/registry"
	"hgld/labels"
)

// imageLeaves returns the leaves of the column of images: the bytes and, if there is one, the
// path. An empty name selects the only column with bytes, or the one called image.
func (t *parquetTable) imageLeaves(name string) (image parquetfile.Leaf, names *parquetfile.Leaf, err error) {
	var columns []string
	for _, leaf := range t.Leaves() {
		if len(leaf.Path) == 2 && leaf.Path[1] == "bytes" && leaf.Kind == parquet.ByteArray && leaf.Lists == 0 {
			columns = append(columns, leaf.Name)
		}
	}
	switch {
	case name == "" && len(columns) == 1:
		name = columns[0]
	case name == "":
		name = "image"
	}
	if !slices.Contains(columns, name) {
		if len(columns) > 0 {
			return image, nil, setting("columns.path")("%w", registry.Unknown("column of images", name, columns))
		}
		return image, nil, fmt.Errorf("no column of images among %s; want a struct of bytes and path, like the feature "+
			"Image "+
			"of Hugging Face", shortList(t.columnNames()))
	}
	for _, leaf := range t.Leaves() {
		switch strings.Join(leaf.Path, "/") {
		case name + "/bytes":
			image = leaf
		case name + "/path":
			if leaf.Kind == parquet.ByteArray && leaf.Lists == 0 {
				names = &leaf
			}
		}
	}
	return image, names, nil
}

// images returns the bytes of the images of a page, none for null.
func (t *parquetTable) images(page parquetfile.Page) ([][]byte, error) {
	images := make([][]byte, 0, page.Rows)
	err := t.PageValues(t.bytes, page, func(v parquet.Value) error {
		images = append(images, v.ByteArray())
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s: rows %d to %d: %w", t.name, page.First, page.First+page.Rows-1, err)
	}
	return images, nil
}

// columnNames lists the columns at the top.
func (t *parquetTable) columnNames() []string {
	var names []string
	for _, leaf := range t.Leaves() {
		names = append(names, leaf.Name)
	}
	return slices.Compact(names)
}

// described lists the columns at the top, with what they hold if it is no class.
func (t *parquetTable) described() []string {
	names := t.columnNames()
	for i, name := range names {
		if what := t.holds(name); what != "" {
			names[i] = fmt.Sprintf("%s (%s)", name, what)
		}
	}
	return names
}

// holds says what a column holds if it can be no class, and "" otherwise.
func (t *parquetTable) holds(column string) string {
	for _, leaf := range t.Leaves() {
		switch {
		case leaf.Name != column:
		case leaf.Lists > 0:
			return "lists"
		case leaf.Depth > 1:
			return "structs"
		case leaf.Meaning() != "":
			return leaf.Meaning()
		case !isClass(leaf):
			return leaf.Kind.String()
		}
	}
	return ""
}

// isClass reports whether a column can hold classes.
func isClass(leaf parquetfile.Leaf) bool {
	return leaf.Depth == 1 && leaf.Lists == 0 && leaf.Meaning() == "" && slices.Contains([]parquet.Kind{
		parquet.ByteArray, parquet.Int32, parquet.Int64, parquet.Float, parquet.Double, parquet.Boolean}, leaf.Kind)
}

// chooseLevels returns the asked columns. Without them, it returns the only ClassLabel or, failing
// that, the column label. A column of splits holds no classes.
func (t *parquetTable) chooseLevels(s Settings) ([]string, error) {
	if len(s.Levels) > 0 {
		return s.Levels, nil
	}
	features, err := t.Features()
	if err != nil {
		return nil, err
	}
	var labelled, possible []string
	for _, leaf := range t.Leaves() {
		if !isClass(leaf) || strings.EqualFold(leaf.Name, cmp.Or(s.Columns.Split, usualSplit)) {
			continue
		}
		possible = append(possible, leaf.Name)
		if features[leaf.Name].Type == parquetfile.ClassLabel {
			labelled = append(labelled, leaf.Name)
		}
	}
	folders := slices.DeleteFunc(slices.Sorted(maps.Keys(partitions(t.name))), func(column string) bool {
		return strings.EqualFold(column, cmp.Or(s.Columns.Split, usualSplit))
	})
	switch {
	case len(labelled) == 1 || len(labelled) > 1 && len(classes.Numbered(labelled)) == len(labelled):
		return labelled, nil
	case len(labelled) > 1:
		return nil, setting("levels")("the columns %s all contain classes", strings.Join(labelled, ", "))
	case len(folders) == 1:
		return folders, nil
	case slices.Contains(possible, "label") || slices.Contains(folders, "label"):
		return []string{"label"}, nil
	case len(folders) > 1:
		return nil, setting("levels")("the folders name the columns %s", strings.Join(folders, ", "))
	}
	return nil, setting("levels")("no column of classes was found among %s", shortList(t.described()))
}

// classes reads a column of classes: their names by row, "" for none, and the kind of its values.
func (t *parquetTable) classes(column string) (list []string, kind string, err error) {
	at := slices.IndexFunc(t.Leaves(), func(leaf parquetfile.Leaf) bool { return leaf.Name == column && isClass(leaf) })
	if cell, is := partitions(t.name)[column]; at < 0 && is {
		rows := int64(0)
		for _, page := range t.pages {
			rows += page.Rows
		}
		return slices.Repeat([]string{cell}, int(rows)), "texts", nil
	}
	if at < 0 && slices.Contains(t.columnNames(), column) {
		return nil, "", fmt.Errorf("it holds %s; want a text, a whole number or true and false in each row", t.holds(column))
	}
	if at < 0 {
		var possible []string
		for _, leaf := range t.Leaves() {
			if isClass(leaf) {
				possible = append(possible, leaf.Name)
			}
		}
		return nil, "", registry.Unknown("column of classes", column, possible)
	}
	features, err := t.Features()
	if err != nil {
		return nil, "", err
	}
	kind = "numbers"
	switch of := t.Leaves()[at].Kind; {
	case of == parquet.Boolean:
		kind = "booleans"
	case of == parquet.ByteArray, features[column].Names != nil:
		kind = "texts"
	}
	list, err = t.Texts(t.Leaves()[at])
	return list, kind, err
}

// numbering is what follows the name of a split: "-00000-of-00002", with a hash in older files,
// or a plain number.
var numbering = regexp.MustCompile(`[-_.]?(\d+([-_.]of[-_.]\d+)?([-_.][0-9a-f]{8,})?)?$`)

// splitName returns the name by which a file of a data set is assigned to a split: of its own name and
// its folders, the innermost that known accepts, or else the innermost that speaks of a split, or else
// its own name. Numbers at the end are left out.
func splitName(file string, known func(name string) bool) string {
	own := numbering.ReplaceAllString(strings.TrimSuffix(file, path.Ext(file)), "")
	speaks := func(name string) bool { return splitIn(name) != "" }
	for _, accepts := range []func(string) bool{known, speaks} {
		for part := own; part != "." && part != "" && part != "/"; part = path.Dir(part) {
			if name := path.Base(part); accepts(name) {
				return name
			}
		}
	}
	return path.Base(own)
}

// fileSplits returns the split of each file: by the names that the settings list, or by the usual
// names of splits, and whether it is by either. If no name speaks of one, all are of the default split.
func fileSplits(files []string, s Settings) (list []labels.Split, named []bool, err error) {
	asked := map[string]bool{}
	for _, text := range s.SplitFolders {
		name, _, _ := strings.Cut(text, "=")
		asked[name] = true
	}
	names := make([]string, len(files))
	for i, file := range files {
		bare := withoutPartitions(file, cmp.Or(s.Columns.Split, usualSplit))
		names[i] = splitName(bare, func(name string) bool { return asked[name] || splitLike(name) != "" })
	}
	all := slices.Compact(slices.Sorted(slices.Values(names)))
	fallback := cmp.Or(s.Split, labels.Train)
	splits := map[string]labels.Split{}
	if len(s.SplitFolders) > 0 {
		if splits, err = namedSplits(all, s.SplitFolders); err != nil {
			return nil, nil, err
		}
	} else {
		known, spoken := 0, 0
		for _, name := range all {
			if splits[name] = splitLike(name); splits[name] != "" {
				known++
			} else if is := splitIn(name); is != "" && (len(all) > 1 || is != fallback) {
				spoken++
			}
		}
		if known < len(all) && known+spoken > 0 {
			return nil, nil, unclearSplits(all)
		}
	}
	for _, name := range names {
		list = append(list, cmp.Or(splits[name], fallback))
		named = append(named, splits[name] != "" || len(s.SplitFolders) > 0)
	}
	return list, named, checkConfigurations(files, list, asked)
}

// unclearSplits asks for the splits of files some of whose names are not those of splits.
func unclearSplits(names []string) error {
	own, _, _ := splitsOf(names)
	var unclear []string
	for _, name := range names {
		if splitLike(name) == "" {
			unclear = append(unclear, name)
		}
	}
	return setting("split_folders", proposedSplits(names, own))(
		"the splits of the files %s are unknown; name the split of each, one of %v", shortList(unclear), labels.Splits)
}
