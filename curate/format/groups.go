package format

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"hgld/curate"
	"hgld/internal/csvfile"
	"hgld/labels"
)

// A list of groups is CSV with one to three columns: group, parent, landmarks. The first
// line is a header if it says "group" or "parent", contains an underscore, as column names do, or has
// no number where the other lines have their landmarks. A text file with one name per
// line is such a list.

var groupColumns = []string{"group", "parent", "landmarks"}

func isGroups(data []byte) bool {
	r := csvfile.Separated(strings.NewReader(firstLine(data)+"\n"), ',')
	first, err := r.Read()
	if err != nil || len(first) > len(groupColumns) {
		return false
	}
	return len(first) == 1 || !isCount(first[1])
}

func isGroupHeader(row []string) bool {
	if row[0] == groupColumns[0] || strings.Contains(strings.Join(row, ""), "_") ||
		len(row) > 1 && strings.EqualFold(row[1], groupColumns[1]) {
		return true
	}
	return len(row) == 3 && !isCount(row[2])
}

// tagTable reports whether a row is the heading of a table of tags and their groups.
func tagTable(row []string) bool {
	tag := []string{"tag", "label", "name", "keyword", "term", "concept", "instanceof", "rawtag", "value"}
	group := []string{"group", "cluster", "supercategory", "category", "categorie", "class", "theme", "topic"}
	plain := strings.NewReplacer(" ", "", "_", "", "-", "")
	is := func(names []string, k int) bool {
		word := plain.Replace(strings.ToLower(row[k]))
		return slices.Contains(names, word) || slices.Contains(names, strings.TrimSuffix(word, "s"))
	}
	return len(row) > 1 && (is(tag, 0) && is(group, 1) || is(group, 0) && is(tag, 1))
}

func readGroups(data []byte, name string, _ labels.ReadOptions) (*Document, error) {
	r := csvfile.Separated(bytes.NewReader(data), ',')
	levels := curate.DefaultLevels[:2]
	d := &Document{}
	var entries []entry
	known := map[string]string{}
	for first := true; ; first = false {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, csvError(name, err)
		}
		if first {
			if len(row) > len(groupColumns) {
				return nil, fmt.Errorf("%s:1: %d columns; want %s", name, len(row), strings.Join(groupColumns, ", "))
			}
			if tagTable(row) {
				return nil, fmt.Errorf("%s:1: the columns %s are those of tags and their groups, and a list of groups has %s; "+
					"to suggest groups for tags, name the columns tag,group,score,source", name, strings.Join(row, ", "),
					strings.Join(groupColumns, ", "))
			}
			if isGroupHeader(row) {
				continue
			}
		}
		e := entry{names: make([]string, len(curate.DefaultLevels)), where: fmt.Sprintf("%s:%d", name, r.Line())}
		for i := range min(len(row), 2) {
			if err := isGroupName(row[i]); err != nil {
				return nil, fmt.Errorf("%s: %w", e.where, err)
			}
			row[i], _ = unmark(row[i])
		}
		copy(e.names[1:], row)
		if e.names[2] != "" {
			levels = curate.DefaultLevels
		}
		if e.names[1] == "" {
			return nil, fmt.Errorf("%s: a group without a name; want %s", e.where, strings.Join(groupColumns[:len(row)], ", "))
		}
		if other, twice := known[row[0]]; twice {
			return nil, fmt.Errorf("%s: group %.80q appears twice, first at %s; remove one", e.where, row[0], other)
		}
		known[row[0]] = e.where
		if len(row) == 3 && row[2] != "" {
			n, err := parseCount(row[2])
			if err != nil {
				return nil, fmt.Errorf("%s: landmarks of %.80q: %w", e.where, row[0], err)
			}
			if d.Landmarks == nil {
				d.Landmarks = []map[string]int{nil, {}}
			}
			d.Landmarks[1][row[0]] = n
		}
		entries = append(entries, e)
	}
	if len(entries) == 0 {
		return nil, fmt.Errorf("%s: has no group; want one name per line", name)
	}
	if len(levels) == 2 {
		var names []string
		for _, e := range entries {
			names = append(names, e.names[1])
		}
		if err := columned(names); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	for i := range entries {
		entries[i].names = entries[i].names[:len(levels)]
	}
	var err error
	if d.Hierarchy, err = gather(levels, entries); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return d, nil
}

func writeGroups(w io.Writer, d *Document) error {
	levels := d.Hierarchy.Levels
	if len(levels) < 2 {
		return errors.New("there are no groups to list")
	}
	columns := 1
	switch {
	case len(d.count(1)) > 0:
		columns = 3
	case len(levels) > 2:
		columns = 2
	}
	rows := [][]string{groupColumns[:columns]}
	for _, c := range levels[1].Classes {
		row := []string{mark(c.Name), "", ""}
		if c.Parent >= 0 && len(levels) > 2 {
			row[1] = mark(levels[2].Classes[c.Parent].Name)
		}
		if n, counted := d.count(1)[c.Name]; counted {
			row[2] = strconv.Itoa(n)
		}
		rows = append(rows, row[:columns])
	}
	return csv.NewWriter(w).WriteAll(rows)
}

// ListedGroup is a line of a list of groups.
type ListedGroup struct {
	Name      string `json:"group"`     // of the group
	Parent    string `json:"parent"`    // its parent
	Landmarks int    `json:"landmarks"` // of its tags
}

// WriteGroupList writes a list of groups, the format called groups.
func WriteGroupList(w io.Writer, list []ListedGroup) error {
	rows := [][]string{groupColumns}
	for _, g := range list {
		rows = append(rows, []string{mark(g.Name), mark(g.Parent), strconv.Itoa(g.Landmarks)})
	}
	return csv.NewWriter(w).WriteAll(rows)
}

// csvError adds the file and the line to an error of csvfile.
func csvError(name string, err error) error {
	var row *csvfile.Error
	if errors.As(err, &row) {
		return fmt.Errorf("%s:%d: %w", name, row.Line, row.Err)
	}
	return fmt.Errorf("%s: %w", name, err)
}
