package format

import (
	"fmt"
	"regexp"
	"strings"

	"hgld/labels"
)

func lintSheet(data []byte, name string, _ labels.ReadOptions) ([]Problem, *Document) {
	s := parseSheet(data, name)
	s.checkNames()
	d, err := s.document()
	if err != nil && len(s.problems) == 0 {
		s.fail(0, -1, err.Error(), "", "")
	}
	if err != nil { // its tags can still be compared with a draft's
		d = &Document{Hierarchy: &labels.Hierarchy{Levels: []labels.Level{{Name: tagKind}}}, place: s.find}
		seen := map[string]bool{}
		for _, g := range s.groups {
			for _, t := range g.tags {
				if !seen[t.name] {
					seen[t.name] = true
					d.Hierarchy.Levels[0].Classes = append(d.Hierarchy.Levels[0].Classes, labels.Class{Name: t.name, Parent: -1})
				}
			}
		}
	}
	return s.problems, d
}

func (s *sheet) fail(row, column int, found, expected, next string) {
	s.problems = append(s.problems, Problem{File: s.name, Row: row, Column: columnName(column), Found: found,
		Expected: expected, Next: next})
}

func (s *sheet) warn(row, column int, found, expected, next string) {
	s.fail(row, column, found, expected, next)
	s.problems[len(s.problems)-1].Warning = true
}

// columnName returns the spreadsheet's name of a column, A for 0; "" for −1.
func columnName(column int) string {
	name := ""
	for column++; column > 0; column = (column - 1) / 26 {
		name = string(rune('A'+(column-1)%26)) + name
	}
	return name
}

var (
	unnamed = regexp.MustCompile(`^Unnamed: [0-9]+$`)
	mangled = regexp.MustCompile(`^(.*)\.[0-9]+$`) // pandas adds these endings to repeated column names
)

// checkNames checks the names of groups and tags, and for repeated ones.
func (s *sheet) checkNames() {
	s.checkGroups()
	type place struct {
		row, column int
		group       string
	}
	first := map[string]place{}
	names := map[string]bool{}
	for _, g := range s.groups {
		for _, t := range g.tags {
			s.checkName(t.row, g.column, tagKind, t.name, t.marked)
			p, twice := first[t.name]
			switch {
			case !twice:
				first[t.name] = place{t.row, g.column, g.name}
				names[t.name] = true
			case p.group == g.name:
				s.fail(t.row, g.column, fmt.Sprintf("tag %.80q appears twice in group %.80q, first in %s%d", t.name, g.name,
					columnName(p.column), p.row), "every tag once", "remove one")
			default:
				s.fail(t.row, g.column, fmt.Sprintf("tag %.80q is in group %.80q and, in %s%d, in %.80q", t.name, g.name,
					columnName(p.column), p.row, p.group), "every tag in one group", "decide which, and remove the other")
			}
		}
	}
	s.problems = append(s.problems, twins(names, func(n string) (int, string) {
		return first[n].row, columnName(first[n].column)
	}, s.name)...)
}

// checkName checks a name. A name that is marked as text is not a number or formula.
func (s *sheet) checkName(row, column int, kind, name string, marked bool) {
	for _, p := range nameFaults(s.name, row, columnName(column), kind, name) {
		if p.Warning || !marked {
			s.problems = append(s.problems, p)
		}
	}
}

func (s *sheet) checkGroups() {
	columns := map[string]int{}
	names := map[string]bool{}
	for _, g := range s.groups {
		if first, twice := columns[g.name]; twice {
			s.fail(1, g.column, fmt.Sprintf("group %.80q appears twice, first in column %s", g.name, columnName(first)),
				"a name of its own", "join the two, or rename one")
			continue
		}
		columns[g.name], names[g.name] = g.column, true
		base := mangled.FindStringSubmatch(g.name)
		switch {
		case strings.TrimSpace(g.name) == "" || unnamed.MatchString(g.name):
			s.fail(1, g.column, fmt.Sprintf("a group without a name (%.80q)", g.name), "the name of a group",
				"restore the first line")
		case base != nil && names[base[1]]:
			s.fail(1, g.column, fmt.Sprintf("group %.80q is a second column %.80q that a program renamed", g.name, base[1]),
				"a name of its own", "join the two, or rename one")
		default:
			s.checkName(1, g.column, "group", g.name, g.marked)
		}
		if len(g.tags) == 0 {
			s.warn(1, g.column, fmt.Sprintf("group %.80q has no tags", g.name), "tags below the name",
				"let it be, if it is to be filled later")
		}
	}
	s.problems = append(s.problems, twins(names, func(n string) (int, string) { return 1, columnName(columns[n]) },
		s.name)...)
}
