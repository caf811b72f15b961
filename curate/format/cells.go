package format

import (
	"bytes"
	"encoding/csv"
	"strings"
)

// Spreadsheets take some texts for something else: what begins as a formula is
// run, what is written as a number is reformatted. A name like that is written
// with an apostrophe before it, by which spreadsheets and people mark text, and
// read without; so is one that has such an apostrophe itself. A number or formula
// without it is no name, but what a spreadsheet has made of one.

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

// mistakable says whether a program may take a name for a formula, a number, an
// error or, at the beginning of a file, a byte order mark.
func mistakable(name string) bool {
	return name != "" && strings.ContainsAny(name[:1], "=+-@\t\r") || strings.HasPrefix(name, "\ufeff") ||
		looksLikeCount(name) || spreadsheetError.MatchString(name)
}

// newCSVReader reads CSV with or without a byte order mark. Where encoding/csv
// would turn a line end of two characters within quotes into one, both are kept.
func newCSVReader(data []byte) *csv.Reader {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	var kept []byte
	quoted, from := false, 0
	for i, c := range data {
		switch {
		case c == '"':
			quoted = !quoted
		case c == '\n' && quoted && i > 0 && data[i-1] == '\r':
			kept = append(append(kept, data[from:i]...), '\r')
			from = i
		}
	}
	if from > 0 {
		data = append(kept, data[from:]...)
	}
	return csv.NewReader(bytes.NewReader(data))
}
