package labels

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Problem is a fault that a check found in labels or class names. A warning is legal
// and occurs in published files, such as the space at the end of "ocean area ".
type Problem struct {
	Warning bool   `json:"warning"` // it may be intended
	Where   string `json:"where"`   // "labels.csv:17", or a level
	Text    string `json:"text"`    // what is wrong
}

// String returns the line of a report: place, severity and fault.
func (p Problem) String() string {
	severity := "error"
	if p.Warning {
		severity = "warning"
	}
	return fmt.Sprintf("%s: %s: %s", p.Where, severity, p.Text)
}

var lineInFile = regexp.MustCompile(`^:[0-9]+`)

// ProblemOf converts an error about the file name to a problem. It takes the place from
// the start of the error's text, if it is there ("labels.csv:17: …").
func ProblemOf(name string, err error) Problem {
	rest, ok := strings.CutPrefix(err.Error(), name)
	line := lineInFile.FindString(rest)
	text, named := strings.CutPrefix(rest[len(line):], ": ")
	if !ok || !named {
		return Problem{Where: name, Text: err.Error()}
	}
	return Problem{Where: name + line, Text: text}
}

// Check lists the faults of a table that Parse has read: every class with two parents,
// every incomplete label and, as warnings, suspicious class names.
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

// Lint finds class names that a person or a spreadsheet has damaged: doubled, leading,
// trailing or unusual white space, control characters, a number instead of a name, and
// two names that differ only in case or white space. All are warnings; where names the
// level.
func Lint(where string, names map[string]bool) []Problem {
	var list []Problem
	warn := func(format string, args ...any) {
		list = append(list, Problem{Warning: true, Where: where, Text: fmt.Sprintf(format, args...)})
	}
	sorted := slices.Sorted(maps.Keys(names))
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
			warn("classes %.80q and %.80q differ only in case or white space", other, n)
		}
		twins[key] = n
	}
	return list
}

// faults returns what is suspicious about a class name.
func faults(name string) []string {
	var list []string
	if strings.TrimSpace(name) != name {
		list = append(list, "begins or ends with white space")
	}
	if strings.Contains(name, "  ") {
		list = append(list, "contains two spaces in a row")
	}
	if strings.ContainsFunc(name, func(r rune) bool { return r != ' ' && unicode.IsSpace(r) }) {
		list = append(list, "contains white space other than the plain space")
	}
	if strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsSpace(r) &&
			(unicode.IsControl(r) || unicode.Is(unicode.Cf, r))
	}) {
		list = append(list, "contains an invisible character")
	}
	return list
}

func isNumber(name string) bool {
	return strings.ContainsFunc(name, unicode.IsDigit) && !strings.ContainsFunc(name, unicode.IsLetter)
}
