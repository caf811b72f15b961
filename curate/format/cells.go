package format

import (
	"fmt"
	"strings"

	"hgld/internal/spelling"
)

// Spreadsheets run texts that begin like a formula and reformat texts that look like a
// number. Such a name is written with an apostrophe before it, which marks text in a
// spreadsheet, and read without it. So is a name that begins with an apostrophe itself.
// A number or formula without the mark is not a name but what a spreadsheet made of one.

// mark returns a name as it is written into a cell.
func mark(name string) string {
	if mistakable(strings.TrimLeft(name, "'")) {
		return "'" + name
	}
	return name
}

// unmark returns the name that a cell holds, and whether it was marked.
func unmark(cell string) (name string, marked bool) {
	if strings.HasPrefix(cell, "'") && mistakable(strings.TrimLeft(cell, "'")) {
		return cell[1:], true
	}
	return cell, false
}

// mistakable reports whether a program may take a name for a formula, a number, an
// error or, at the start of a file, a byte order mark.
func mistakable(name string) bool {
	return name != "" && strings.ContainsAny(name[:1], "=+-@\t\r") || strings.HasPrefix(name, "\ufeff") ||
		looksLikeCount(name) || spreadsheetError.MatchString(name) || name != "" && spelling.MeansMissing(name)
}

// isGroupName returns an error for a word by which data frames write a missing value: a table that one of them wrote
// says nan of a tag without a group. A group of that name has an apostrophe before it.
func isGroupName(cell string) error {
	if cell != "" && spelling.MeansMissing(strings.TrimSpace(cell)) {
		return fmt.Errorf("the group %.80q is a word for a missing value; leave out the line or empty the cell, or write "+
			"'%s for a group of this name", cell, cell)
	}
	return nil
}
