package embeddings

import (
	"fmt"
	"slices"
	"strings"

	"hgld/internal/classes"
	"hgld/internal/registry"
)

// reading says how label files are read.
type reading struct {
	aside   []string                         // columns that are no levels unless they are asked for
	asked   []string                         // the levels; empty: they are found by the names of the columns
	part    string                           // value of the column split of the rows to use; "": all
	onlyIDs bool                             // the rows need no classes
	log     func(format string, args ...any) // for remarks
}

// openMetric are the columns that the tables of OpenMetricLearning must have, and its levels.
var (
	openMetric       = []string{"path", "label", "split"}
	openMetricLevels = []string{"label", "category"}
)

// sort separates the levels from the other columns.
func (s *sheet) sort(head []string, columns [][]string, o *reading) error {
	s.other = map[string][]string{}
	for k, name := range head {
		s.other[name] = columns[k]
	}
	if !slices.ContainsFunc(openMetric, func(name string) bool { return !slices.Contains(head, name) }) {
		s.openMetric()
	}
	if s.asked = len(o.asked) > 0; s.asked {
		for _, name := range o.asked {
			k := classes.Column(head, name)
			if k < 0 {
				return fmt.Errorf("%s: %w", s.path, registry.Unknown("column", name, head))
			}
			s.levels, s.classes = append(s.levels, name), append(s.classes, columns[k])
		}
		return nil
	}
	var left []string
	for k, name := range head {
		switch {
		case slices.Contains(o.aside, name):
			continue
		case s.isOpenMetric && !slices.Contains(openMetricLevels, name), classes.Describes(name):
			left = append(left, name)
			continue
		}
		s.levels, s.classes = append(s.levels, name), append(s.classes, columns[k])
	}
	if len(left) > 0 && !o.onlyIDs && len(s.levels) > 0 {
		o.log("%s: %s %s taken for no level; the setting levels names the columns that are", s.path,
			strings.Join(left, ", "), isAre(left))
	}
	if own := classes.Numbered(s.levels); len(own) == len(s.levels) {
		order := make([]int, len(own))
		for n, level := range own {
			order[n] = slices.Index(s.levels, level)
		}
		s.levels, s.classes = own, pick(s.classes, order)
	}
	s.oneHot(o.log)
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
func (s *sheet) oneHot(log func(format string, args ...any)) {
	if len(s.levels) < 2 {
		return
	}
	names, used := make([]string, s.rows), make([]bool, len(s.levels))
	for i := range names {
		for l, column := range s.classes {
			is, known := classes.IsTrue(column[i])
			if !known || is && names[i] != "" {
				return
			}
			if is {
				names[i], used[l] = s.levels[l], true
			}
		}
	}
	if count := RowsWhere(used); len(count) < 2 {
		return
	}
	log("%s: %s to %s are read as %d classes of one level, because each row has one 1 among zeros; the setting "+
		"levels takes them as levels", s.path, s.levels[0], s.levels[len(s.levels)-1], len(s.levels))
	s.levels, s.classes = []string{"class"}, [][]string{names}
}
