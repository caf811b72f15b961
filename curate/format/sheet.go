package format

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"hgld/curate"
	"hgld/internal/csvfile"
	"hgld/labels"
)

// The authors' sheet is a spreadsheet saved as CSV, with two columns per group. The first
// line has the name of the group and its number of landmarks; below are its tags and the
// number of landmarks of each.
//
//	church,"12 871,00",lake,1847
//	church building,"9 034,00",lake,1320
//	chapel,"1 222,00",reservoir,527
//	abbey,15,,
//
// Counts are whole numbers as spreadsheets print them: with spaces between the thousands
// (plain, no-break or narrow) and zeros after a decimal comma or point.

// sheet is a spreadsheet as it was read.
type sheet struct {
	name     string
	groups   []sheetGroup
	problems []Problem
}

type sheetGroup struct {
	name   string
	marked bool // see mark
	column int  // of the names, from 0
	total  int  // −1 if the sheet has none
	tags   []sheetTag
}

type sheetTag struct {
	name      string
	marked    bool
	row       int // line in the file
	landmarks int // −1 if the sheet has none
}

func readSheet(data []byte, name string, _ labels.ReadOptions) (*Document, error) {
	s := parseSheet(data, name)
	s.checkNames()
	for _, p := range s.problems {
		if !p.Warning {
			return nil, errors.New(p.text())
		}
	}
	return s.document()
}

// document makes the hierarchy of a sheet without errors.
func (s *sheet) document() (*Document, error) {
	d := &Document{Landmarks: []map[string]int{{}, {}}}
	d.place = s.find
	var entries []entry
	for _, g := range s.groups {
		entries = append(entries, entry{names: []string{"", g.name}, where: s.name + ":1"})
		if g.total >= 0 {
			d.Landmarks[1][g.name] = g.total
		}
		for _, t := range g.tags {
			entries = append(entries, entry{names: []string{t.name, g.name}, where: fmt.Sprintf("%s:%d", s.name, t.row)})
			if t.landmarks >= 0 {
				d.Landmarks[0][t.name] = t.landmarks
			}
		}
	}
	var err error
	if d.Hierarchy, err = gather(curate.DefaultLevels[:2], entries); err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	return d, nil
}

// find returns the place of a tag.
func (s *sheet) find(tag string) (row int, column string) {
	for _, g := range s.groups {
		for _, t := range g.tags {
			if t.name == tag {
				return t.row, columnName(g.column)
			}
		}
	}
	return 0, ""
}

// parseSheet reads a sheet as far as possible and lists what is wrong with its layout
// and counts.
func parseSheet(data []byte, name string) *sheet {
	s := &sheet{name: name}
	separator := ','
	if hasSemicolons(firstLine(data)) {
		separator = ';'
		s.warn(1, -1, "columns are separated by semicolons", "commas", "save the sheet as CSV with commas")
	}
	r := csvfile.Separated(bytes.NewReader(data), separator)
	r.Ragged()
	var head []string
	var rows []sheetRow
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			line := 1
			var row *csvfile.Error
			if errors.As(err, &row) {
				line, err = row.Line, row.Err
			}
			s.fail(line, -1, err.Error(), "CSV in UTF-8", "save the sheet as CSV again")
			return s
		}
		if head == nil {
			head = row
			continue
		}
		rows = append(rows, sheetRow{r.Line(), row})
	}
	if head == nil {
		s.fail(1, -1, "the file is empty", "two columns a group", "name another file")
		return s
	}
	s.pairColumns(head, rows)
	return s
}

// hasSemicolons reports whether the cells of a sheet are separated by semicolons,
// because commas would not give pairs of a name and a count.
func hasSemicolons(head string) bool {
	cells, err := csvfile.Separated(strings.NewReader(head), ',').Read()
	if err != nil {
		return false
	}
	for i, cell := range cells {
		if i%2 == 1 && cell != "" && !looksLikeCount(cell) || len(cells) == 1 {
			return strings.Count(head, ";") > strings.Count(head, ",")
		}
	}
	return false
}

type sheetRow struct {
	line  int
	cells []string
}

// cell returns a cell, "" beyond the end of the row.
func (r sheetRow) cell(column int) string {
	if column >= len(r.cells) {
		return ""
	}
	return r.cells[column]
}

// pairColumns finds the two columns of each group. A missing or single column is
// reported once, and the columns after it are still read.
func (s *sheet) pairColumns(head []string, rows []sheetRow) {
	for c := 0; c < len(head); {
		if looksLikeCount(head[c]) && !holdsNames(rows, c) {
			s.fail(1, c, fmt.Sprintf("a column of counts (%.80q) without names beside it", head[c]),
				"a group's names, then its counts", "restore the column of names before it, or remove this one")
			c++
			continue
		}
		g := sheetGroup{column: c, total: -1}
		g.name, g.marked = unmark(head[c])
		paired := c+1 < len(head) && !holdsNames(rows, c+1) &&
			(looksLikeCount(head[c+1]) || head[c+1] == "" || holdsCounts(rows, c+1))
		switch {
		case !paired:
			s.fail(1, c, fmt.Sprintf("group %.80q has no column of counts beside it", head[c]),
				"two columns a group: names, counts", "insert the column; its cells may be empty")
		case head[c+1] == "" && !holdsCounts(rows, c+1): // a sheet without counts
		case head[c+1] == "":
			s.warn(1, c+1, fmt.Sprintf("the landmarks of group %.80q are empty", head[c]), "a whole number",
				"enter the sum of the column")
		default:
			g.total = s.number(1, c+1, head[c+1])
		}
		s.readColumn(&g, rows, paired)
		s.groups = append(s.groups, g)
		c++
		if paired {
			c++
		}
	}
	for _, r := range rows {
		if len(r.cells) > len(head) && strings.Join(r.cells[len(head):], "") != "" {
			s.fail(r.line, len(head), fmt.Sprintf("%.80q stands beyond the last column", r.cells[len(head)]),
				fmt.Sprintf("%d columns, as in the first line", len(head)), "remove the cell, or give its column a group")
		}
	}
}

// readColumn reads the tags of a group.
func (s *sheet) readColumn(g *sheetGroup, rows []sheetRow, counted bool) {
	gap, sum := 0, 0
	for _, r := range rows {
		t := sheetTag{row: r.line, landmarks: -1}
		t.name, t.marked = unmark(r.cell(g.column))
		count := ""
		if counted {
			count = r.cell(g.column + 1)
		}
		switch {
		case t.name == "" && count == "":
			if gap == 0 {
				gap = r.line
			}
			continue
		case t.name == "":
			s.fail(r.line, g.column, fmt.Sprintf("a count (%.80q) without a tag", count), "a tag's name",
				"restore the name, or remove the count")
			continue
		}
		if gap > 0 {
			s.warn(gap, g.column, fmt.Sprintf("an empty cell within group %.80q", g.name), "tags without a gap",
				"look whether a tag was removed here")
			gap = 0
		}
		if count != "" {
			t.landmarks = s.number(r.line, g.column+1, count)
			sum += max(t.landmarks, 0)
		} else if counted && (g.total >= 0 || holdsCounts(rows, g.column+1)) {
			s.warn(r.line, g.column+1, fmt.Sprintf("tag %.80q has no count", t.name), "a whole number",
				"enter the landmarks that carry the tag")
		}
		g.tags = append(g.tags, t)
	}
	if counted && g.total >= 0 && len(g.tags) > 0 && sum != g.total {
		s.warn(1, g.column+1, fmt.Sprintf("group %.80q has %d landmarks by its first line and %d by its tags", g.name,
			g.total, sum), "the sum of the column", "look which cell was changed")
	}
}

// number parses a count. It returns −1 and reports a problem if the text is not one.
func (s *sheet) number(row, column int, text string) int {
	n, err := parseCount(text)
	if err != nil {
		s.fail(row, column, err.Error(), "a whole number from 0 up, as 1222", "enter the number of landmarks")
		return -1
	}
	return n
}

var (
	wholeNumber = regexp.MustCompile(`^([0-9]+|[0-9]{1,3}(?:\p{Zs}[0-9]{3})+)(?:[.,]0+)?$`)
	spaces      = regexp.MustCompile(`\p{Zs}`)
)

// parseCount parses a count as spreadsheets print it.
func parseCount(text string) (int, error) {
	m := wholeNumber.FindStringSubmatch(strings.TrimFunc(text, unicode.IsSpace))
	if m == nil {
		return 0, fmt.Errorf("%.80q is not a whole number", text)
	}
	n, err := strconv.Atoi(spaces.ReplaceAllString(m[1], ""))
	if err != nil {
		return 0, fmt.Errorf("%.80q is too large", text)
	}
	return n, nil
}

func isCount(text string) bool {
	_, err := parseCount(text)
	return err == nil
}

var scientific = regexp.MustCompile(`^[0-9.,]+[eE][+-]?[0-9]+$`)

// looksLikeCount reports whether a text is a number, whole or not.
func looksLikeCount(text string) bool {
	if _, marked := unmark(text); marked {
		return false
	}
	return scientific.MatchString(text) ||
		strings.ContainsFunc(text, unicode.IsDigit) && !strings.ContainsFunc(text, unicode.IsLetter)
}

// holdsNames reports whether most filled cells of a column are not counts.
func holdsNames(rows []sheetRow, column int) bool { return balance(rows, column) > 0 }

// holdsCounts reports whether most filled cells of a column are counts.
func holdsCounts(rows []sheetRow, column int) bool { return balance(rows, column) < 0 }

// balance returns the number of names minus the number of counts in a column.
func balance(rows []sheetRow, column int) int {
	n := 0
	for _, r := range rows {
		switch text := r.cell(column); {
		case text == "":
		case looksLikeCount(text):
			n--
		default:
			n++
		}
	}
	return n
}

// writeSheet writes groups and their tags in the order of the hierarchy.
func writeSheet(w io.Writer, d *Document) error {
	levels := d.Hierarchy.Levels
	if len(levels) < 2 {
		return errors.New("there are no groups to write into columns")
	}
	rows := [][]string{nil}
	height := make([]int, len(levels[1].Classes))
	for _, g := range levels[1].Classes {
		rows[0] = append(rows[0], mark(g.Name), countText(d.count(1), g.Name))
	}
	for _, tag := range levels[0].Classes {
		if tag.Parent < 0 {
			continue
		}
		height[tag.Parent]++
		if height[tag.Parent] == len(rows) {
			rows = append(rows, make([]string, len(rows[0])))
		}
		row := rows[height[tag.Parent]]
		row[2*tag.Parent], row[2*tag.Parent+1] = mark(tag.Name), countText(d.count(0), tag.Name)
	}
	return csv.NewWriter(w).WriteAll(rows)
}

func countText(counts map[string]int, name string) string {
	n, counted := counts[name]
	if !counted {
		return ""
	}
	return strconv.Itoa(n)
}
