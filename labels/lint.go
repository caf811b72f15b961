package labels

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Problem is what a check found in labels or class names. A warning is legal and
// occurs in published files ("ocean area " with its space behind).
type Problem struct {
	Warning bool   `json:"warning"` // it may be intended
	Where   string `json:"where"`   // "labels.csv:17", or a level
	Text    string `json:"text"`    // what is wrong
}

// String is the line that a report prints: place, severity, what is wrong.
func (p Problem) String() string {
	severity := "error"
	if p.Warning {
		severity = "warning"
	}
	return fmt.Sprintf("%s: %s: %s", p.Where, severity, p.Text)
}

var lineInFile = regexp.MustCompile(`^:[0-9]+`)

// ProblemOf makes a problem of an error about the file called name, and takes the
// place from the error's text where that begins with it ("labels.csv:17: …").
func ProblemOf(name string, err error) Problem {
	rest, ok := strings.CutPrefix(err.Error(), name)
	line := lineInFile.FindString(rest)
	text, named := strings.CutPrefix(rest[len(line):], ": ")
	if !ok || !named {
		return Problem{Where: name, Text: err.Error()}
	}
	return Problem{Where: name + line, Text: text}
}

// Check lists what is wrong with a table that Parse has read: every class with two
// parents, every half label, and, as warnings, suspicious class names.
func (t *Table) Check() []Problem {
	var list []Problem
	for _, err := range t.Conflicts() {
		list = append(list, ProblemOf(t.name, err))
	}
	for level, name := range t.Levels {
		if name == LandmarkLevel {
			continue
		}
		names := map[string]bool{}
		for i := range t.Rows {
			if n := t.Rows[i].Names[level]; n != "" {
				names[n] = true
			}
		}
		list = append(list, Lint(name, names)...)
	}
	return list
}

// Lint looks for class names that a person or a spreadsheet has damaged: white space
// doubled, at an end or other than the plain space, control characters, a number in
// place of a name, and two names that differ in case or white space alone. All are
// warnings; where names the level.
func Lint(where string, names map[string]bool) []Problem {
	var list []Problem
	warn := func(format string, args ...any) {
		list = append(list, Problem{Warning: true, Where: where, Text: fmt.Sprintf(format, args...)})
	}
	sorted := make([]string, 0, len(names))
	for n := range names {
		sorted = append(sorted, n)
	}
	slices.Sort(sorted)
	twins := map[string]string{}
	numbered := !slices.ContainsFunc(sorted, func(n string) bool { return !isNumber(n) }) // a data set of class ids
	for _, n := range sorted {
		for _, fault := range faults(n) {
			warn("class %.80q %s", n, fault)
		}
		if isNumber(n) && !numbered {
			warn("class %.80q is a number; a count may have become a name", n)
		}
		key := strings.ToLower(strings.Join(strings.Fields(n), " "))
		if other, twice := twins[key]; twice {
			warn("classes %.80q and %.80q differ in case or white space alone", other, n)
		}
		twins[key] = n
	}
	return list
}

// faults says what is suspicious in one class name.
func faults(name string) []string {
	var list []string
	if strings.TrimSpace(name) != name {
		list = append(list, "begins or ends with white space")
	}
	if strings.Contains(name, "  ") {
		list = append(list, "holds two spaces in a row")
	}
	if strings.ContainsFunc(name, func(r rune) bool { return r != ' ' && unicode.IsSpace(r) }) {
		list = append(list, "holds white space other than the plain space")
	}
	if strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsSpace(r) && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) }) {
		list = append(list, "holds a character that cannot be seen")
	}
	return list
}

func isNumber(name string) bool {
	return strings.ContainsFunc(name, unicode.IsDigit) && !strings.ContainsFunc(name, unicode.IsLetter)
}
