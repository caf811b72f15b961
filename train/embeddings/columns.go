package embeddings

import (
	"fmt"
	"slices"
	"strings"

	"hgld/internal/registry"
)

// reading says how label files are read.
type reading struct {
	aside   []string                         // columns that are no levels unless they are asked for
	asked   []string                         // the levels; empty: they are found by the names of the columns
	part    string                           // value of the column split of the rows to use; "": all
	onlyIDs bool                             // the rows need no classes
	say     func(format string, args ...any) // for remarks
}

// notLevels are the columns that describe an image and are no levels unless they are asked for.
var notLevels = []string{"path", "file", "filename", "file_name", "filepath", "file_path", "image_path", "url", "split",
	"x_1", "x_2", "y_1", "y_2", "width", "height", "sha256", "md5"}

// openMetric are the columns that the tables of OpenMetricLearning must have, and its levels.
var (
	openMetric       = []string{"path", "label", "split"}
	openMetricLevels = []string{"label", "category"}
)

// sort separates the levels from the other columns.
func (s *sheet) sort(head []string, columns [][]string, o *reading) error {
	s.other = map[string][]string{}
	byName := func(name string) int {
		if k := slices.Index(head, name); k >= 0 {
			return k
		}
		return slices.IndexFunc(head, func(h string) bool { return strings.EqualFold(h, name) })
	}
	for k, name := range head {
		s.other[name] = columns[k]
	}
	if !slices.ContainsFunc(openMetric, func(name string) bool { return !slices.Contains(head, name) }) {
		s.openMetric()
	}
	if s.asked = len(o.asked) > 0; s.asked {
		for _, name := range o.asked {
			k := byName(name)
			if k < 0 {
				return fmt.Errorf("%s: %w", s.path, registry.Unknown("column", name, head))
			}
			s.levels, s.classes = append(s.levels, head[k]), append(s.classes, columns[k])
		}
		return nil
	}
	var left []string
	for k, name := range head {
		switch {
		case slices.Contains(o.aside, name):
			continue
		case s.isOpenMetric && !slices.Contains(openMetricLevels, name),
			slices.ContainsFunc(notLevels, func(known string) bool { return strings.EqualFold(known, name) }):
			left = append(left, name)
			continue
		}
		s.levels, s.classes = append(s.levels, name), append(s.classes, columns[k])
	}
	if len(left) > 0 && !o.onlyIDs && len(s.levels) > 0 {
		o.say("%s: %s %s taken for no level; the setting levels names the columns that are", s.path,
			strings.Join(left, ", "), isAre(left))
	}
	if !s.oneHot(o.say) {
		s.sayOrder(o.say)
	}
	return nil
}

func isAre(list []string) string {
	if len(list) == 1 {
		return "is"
	}
	return "are"
}

// openMetric reads what the tables of OpenMetricLearning call otherwise: a path names an image, and the
// rows of the split train are on no side.
func (s *sheet) openMetric() {
	s.isOpenMetric = true
	paths := s.other["path"]
	if _, has := s.other["id"]; !has || s.unnamed {
		if _, err := RowsByID(paths); err == nil { // an image with several boxes has several rows
			s.other["id"], s.unnamed = paths, false
		}
	}
}

// rowsOf returns which rows belong to a part of the table; nil: all, or the table has no such part.
func (s *sheet) rowsOf(part string) []bool {
	if part == "" || !s.isOpenMetric {
		return nil
	}
	which, n := make([]bool, s.rows), 0
	for i, split := range s.other["split"] {
		if which[i] = split == part; which[i] {
			n++
		}
	}
	if n == 0 || n == s.rows {
		return nil
	}
	return which
}

// oneHot replaces columns of which each row has one by the name of that column: a matrix of zeros and
// ones is one level.
func (s *sheet) oneHot(say func(format string, args ...any)) bool {
	if len(s.levels) < 2 {
		return false
	}
	classes, used := make([]string, s.rows), make([]bool, len(s.levels))
	for i := range classes {
		for l, column := range s.classes {
			switch column[i] {
			case "1", "1.0", "True", "true", "TRUE":
				if classes[i] != "" {
					return false
				}
				classes[i], used[l] = s.levels[l], true
			case "0", "0.0", "False", "false", "FALSE":
			default:
				return false
			}
		}
	}
	if count := RowsWhere(used); len(count) < 2 {
		return false
	}
	say("%s: %s to %s are read as %d classes of one level, because each row has one 1 among zeros; the setting "+
		"levels takes them as levels", s.path, s.levels[0], s.levels[len(s.levels)-1], len(s.levels))
	s.levels, s.classes = []string{"class"}, [][]string{classes}
	return true
}

// sayOrder names columns that have the same classes: two levels that are one count twice in a measure over
// all levels.
func (s *sheet) sayOrder(say func(format string, args ...any)) {
	const few = 8 // levels; a table with more has columns of other kinds
	for l := range min(few, len(s.levels)) {
		for k := range l {
			if s.rows > 0 && nested(s.classes[k], s.classes[l]) && nested(s.classes[l], s.classes[k]) && several(s.classes[l]) {
				say("careful: %s: %s and %s divide the rows alike, so they are one level that counts twice; the "+
					"setting levels chooses one", s.path, s.levels[k], s.levels[l])
			}
		}
	}
}

// several reports whether a column has two classes or more, with two rows or more in one.
func several(classes []string) bool {
	different := map[string]bool{}
	for _, c := range classes {
		different[c] = true
	}
	return len(different) > 1 && len(different) < len(classes)
}

// NoLevelError says that no column has classes that a measure can tell apart.
type NoLevelError struct {
	Path   string // of the labels
	Level  string // the last column
	Reason string // what it has instead
}

// Error names the file, the column and the reason.
func (e *NoLevelError) Error() string {
	return fmt.Sprintf("%s: %s has %s, so it is no level, unless the setting levels names it",
		e.Path, e.Level, e.Reason)
}

// dropNoLevels removes the columns with one class, and those with a class for each row of all sheets. If
// no other is left, it removes none and returns a [NoLevelError].
func dropNoLevels(sheets []*sheet, say func(format string, args ...any)) error {
	first := sheets[0]
	var keep []int
	var dropped []error
	for l, level := range first.levels {
		reason := noLevel(sheets, l)
		if reason == "" {
			keep = append(keep, l)
			continue
		}
		dropped = append(dropped, &NoLevelError{first.path, level, reason})
	}
	if len(keep) == 0 && len(dropped) > 0 {
		return dropped[0]
	}
	for _, err := range dropped {
		say("%v", err)
	}
	for _, s := range sheets {
		s.levels, s.classes = pick(s.levels, keep), pick(s.classes, keep)
	}
	return nil
}

// noLevel says why a column is no level, "" if it is one.
func noLevel(sheets []*sheet, l int) string {
	different, rows := map[string]bool{}, 0
	for _, s := range sheets {
		for _, c := range s.classes[l] {
			if c != "" {
				different[c] = true
				rows++
			}
		}
	}
	switch {
	case len(different) == 0 && rows == 0:
		return "no class"
	case len(different) == 1:
		for c := range different {
			return fmt.Sprintf("the one class %.80q", c)
		}
	case len(different) == rows:
		return "another class in each row"
	}
	return ""
}
