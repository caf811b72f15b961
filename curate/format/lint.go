package format

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"hgld/labels"
)

// Problem is a place in a file that a person or a spreadsheet has damaged. A file with
// warnings only can be imported: names such as "ocean area ", with its trailing space,
// are published.
type Problem struct {
	Warning bool   `json:"warning"`       // set if the file can be imported all the same
	File    string `json:"file"`          // name of the file
	Row     int    `json:"row,omitempty"` // line in the file, from 1; 0 if it is unknown
	// Column is that of a sheet: A, B, …
	Column string `json:"column,omitempty"`
	// Found says what was found.
	Found string `json:"found"`
	// Expected says what was expected.
	Expected string `json:"expected,omitempty"`
	// Next says what to do about it.
	Next string `json:"next,omitempty"`

	tag string // the tag whose name it is about
}

// String returns one line: where, what was found, what was expected, and what to do.
func (p Problem) String() string {
	severity := "error: "
	if p.Warning {
		severity = "warning: "
	}
	return p.where() + ": " + severity + p.tail()
}

func (p Problem) text() string { return p.where() + ": " + p.tail() }

func (p Problem) where() string {
	where := p.File
	if p.Row > 0 {
		where += ":" + strconv.Itoa(p.Row)
	}
	if p.Column != "" {
		where += ":" + p.Column
	}
	return where
}

func (p Problem) tail() string {
	tail := p.Found
	if p.Expected != "" {
		tail += "; want " + p.Expected
	}
	if p.Next != "" {
		tail += "; " + p.Next
	}
	return tail
}

// Lint lists what is wrong in a file of the named format ("": the one that it looks
// like). With a draft it also lists the tags that only one of the two has. A name that
// differs from a tag of the draft only in white space or case is a damaged one, and a
// name that the draft has is correct. It also returns the document, nil if it cannot be read.
func Lint(data []byte, name, format string, o labels.ReadOptions, draft *labels.Draft) ([]Problem, *Document, error) {
	data, separated, err := plain(data, name, format)
	if err == nil {
		err = noText(data, name)
	}
	if err != nil {
		return []Problem{fromLabels(name, labels.ProblemOf(name, err))}, nil, nil
	}
	_, f, err := choose(data, name, format)
	if err != nil {
		return nil, nil, err
	}
	list, d := f.lint(data, name, o)
	if separated != "" {
		list = append(list, Problem{Warning: true, File: name, Row: 1, Found: "columns are separated by " + separated,
			Expected: "commas"})
	}
	if draft != nil && d != nil && !f.holds.groupsOnly {
		place := d.place
		if place == nil {
			place = func(tag string) (int, string) { return rowOf(data, tag), "" }
		}
		known := map[string]bool{}
		for _, t := range draft.Tags {
			known[t.Name] = true
		}
		list = slices.DeleteFunc(list, func(p Problem) bool { return p.Warning && known[p.tag] })
		list = append(list, compareTags(name, d, draft, place)...)
	}
	slices.SortStableFunc(list, func(a, b Problem) int { // problems without a line come last
		return cmp.Or(cmp.Compare(min(b.Row, 1), min(a.Row, 1)), cmp.Compare(a.Row, b.Row))
	})
	return list, d, nil
}

// lintNames checks the names of a document that read returns. A suspicious name that
// hgld itself wrote as a name, in quotes or marked in a list of groups, is only a
// warning.
func lintNames(read func([]byte, string, labels.ReadOptions) (*Document, error)) func([]byte, string,
	labels.ReadOptions) ([]Problem, *Document) {
	return func(data []byte, name string, o labels.ReadOptions) ([]Problem, *Document) {
		d, err := read(data, name, o)
		if err != nil {
			return []Problem{fromLabels(name, labels.ProblemOf(name, err))}, nil
		}
		var list []Problem
		for l, level := range d.Hierarchy.Levels {
			kind := level.Name
			if l == 0 {
				kind = tagKind
			}
			names := map[string]bool{}
			for _, c := range level.Classes {
				names[c.Name] = true
				faults := nameFaults(name, 0, "", kind, c.Name)
				if len(faults) > 0 { // most names have none, and finding the row takes a search
					row := rowOf(data, c.Name)
					written := isWritten(data, c.Name)
					for i := range faults {
						faults[i].Row = row
						faults[i].Warning = faults[i].Warning || written
					}
				}
				list = append(list, faults...)
			}
			list = append(list, twins(names, func(n string) (int, string) { return rowOf(data, n), "" }, name)...)
		}
		return list, d
	}
}

// isWritten reports whether a file has a name as text and not as a plain cell: in
// quotes after a name field, or marked (see mark).
func isWritten(data []byte, name string) bool {
	text := quote(name)
	for _, before := range nameFields {
		if bytes.Contains(data, append([]byte(before), text...)) {
			return true
		}
	}
	marked := mark(name)
	return marked != name && bytes.Contains(data, []byte(marked))
}

func lintLabels(data []byte, name string, o labels.ReadOptions) ([]Problem, *Document) {
	t, err := labels.Parse(bytes.NewReader(data), name, o)
	if unknown := (*labels.SplitUnknownError)(nil); errors.As(err, &unknown) {
		o.Split = labels.Train // names are checked alike in all splits
		t, err = labels.Parse(bytes.NewReader(data), name, o)
	}
	if err != nil {
		return []Problem{fromLabels(name, labels.ProblemOf(name, err))}, nil
	}
	var list []Problem
	for _, p := range t.Check() {
		list = append(list, fromLabels(name, p))
	}
	d, err := readLabels(data, name, o)
	if err != nil && len(list) == 0 {
		list = append(list, fromLabels(name, labels.ProblemOf(name, err)))
	}
	return list, d
}

// fromLabels converts a problem of package labels, whose place is a line of the file or
// a level.
func fromLabels(file string, p labels.Problem) Problem {
	out := Problem{Warning: p.Warning, File: file, Found: p.Text}
	row, isLine := strings.CutPrefix(p.Where, file+":")
	if n, err := strconv.Atoi(row); isLine && err == nil {
		out.Row = n
	} else if p.Where != file {
		out.Found = p.Where + ": " + p.Text
	}
	return out
}

// rowOf returns the line where a name first occurs in a JSON or text file, 0 if it is
// not found as it is.
func rowOf(data []byte, name string) int {
	text := quote(name)
	for _, before := range nameFields {
		if at := bytes.Index(data, append([]byte(before), text...)); at >= 0 {
			return lineAt(data, at)
		}
	}
	for from := 0; ; {
		at := bytes.Index(data[from:], []byte(name))
		if at < 0 {
			return 0
		}
		at += from
		from = at + len(name)
		if (at == 0 || strings.IndexByte(",\"\n", data[at-1]) >= 0) &&
			(from == len(data) || strings.IndexByte(",\"\r\n", data[from]) >= 0) {
			return lineAt(data, at)
		}
	}
}

// nameFields come before a name in hgld's JSON documents and in SKOS.
var nameFields = []string{`"name":`, `"name": `, `skos:prefLabel `}

// quote returns a name as hgld writes it in JSON and in Turtle.
func quote(name string) []byte {
	var quoted bytes.Buffer
	enc := json.NewEncoder(&quoted)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(name); err != nil {
		panic(err) // a string can be encoded
	}
	return bytes.TrimSuffix(quoted.Bytes(), []byte("\n"))
}

func lineAt(data []byte, at int) int { return 1 + bytes.Count(data[:at], []byte("\n")) }

var spreadsheetError = regexp.MustCompile(`^(#(REF|NAME|N/A|VALUE|DIV/0|NUM|NULL|NOM)[!?]?.*|=.*)$`)

// numberIn matches a number, written as counts are, within or after a name.
var numberIn = regexp.MustCompile(`[0-9]{1,3}(?:\p{Zs}[0-9]{3})+|[0-9]+[.,]0+(?:\p{Zs}|$)|\p{Zs}[0-9]+$`)

const tagKind = "tag"

// nameFaults lists what is suspicious in one name. A count and a spreadsheet's error
// are errors; the rest are warnings.
func nameFaults(file string, row int, column, kind, name string) []Problem {
	var list []Problem
	add := func(warning bool, found, expected, next string) {
		p := Problem{Warning: warning, File: file, Row: row, Column: column, Found: found, Expected: expected, Next: next}
		if kind == tagKind {
			p.tag = name
		}
		list = append(list, p)
	}
	switch {
	case looksLikeCount(name):
		add(false, fmt.Sprintf("a count (%.80q) stands for a name", name), "the name of a "+kind,
			"restore the name from the draft or an earlier version")
		return list
	case spreadsheetError.MatchString(name):
		add(false, fmt.Sprintf("%.80q is a spreadsheet's formula or error", name), "the name of a "+kind, "restore the name")
		return list
	}
	plain := strings.Join(strings.Fields(name), " ")
	for _, p := range labels.Lint(kind, map[string]bool{name: true}) {
		add(true, kind+" "+strings.TrimPrefix(p.Text, "class "), fmt.Sprintf("%.80q, unless the source spells it so", plain),
			"compare with the draft")
	}
	if number := strings.TrimFunc(numberIn.FindString(name), unicode.IsSpace); number != "" {
		add(true, fmt.Sprintf("%s %.80q contains a number (%.80q)", kind, name, number), "a name without its count",
			"move the number into the column of counts, unless the source spells it so")
	}
	if strings.ContainsRune(name, utf8.RuneError) {
		add(true, fmt.Sprintf("%s %.80q contains the sign for a lost character", kind, name), "the character",
			"save the source as UTF-8 and copy the name again")
	} else if was, wrong := misread(name); wrong {
		add(true, fmt.Sprintf("%s %.80q is UTF-8 that was read as Windows-1252", kind, name), fmt.Sprintf("%.80q", was),
			"read the file as UTF-8")
	}
	if strings.Count(name, "(") != strings.Count(name, ")") {
		add(true, fmt.Sprintf("%s %.80q has an unmatched parenthesis", kind, name), "a whole name",
			"it may have been cut; look at the page it came from")
	}
	return list
}

// misread undoes reading UTF-8 as Windows-1252, and reports whether that happened.
func misread(name string) (string, bool) {
	was, err := charmap.Windows1252.NewEncoder().String(name)
	return was, err == nil && was != name && utf8.ValidString(was)
}

// twins lists names that differ only in case or white space.
func twins(names map[string]bool, place func(string) (row int, column string), file string) []Problem {
	var list []Problem
	first := map[string]string{}
	for _, n := range slices.Sorted(maps.Keys(names)) {
		k := folded(n)
		other, twice := first[k]
		if !twice {
			first[k] = n
			continue
		}
		row, column := place(n)
		where, _ := place(other)
		list = append(list, Problem{Warning: true, File: file, Row: row, Column: column,
			Found:    fmt.Sprintf("%.80q differs from %.80q (line %d) only in case or white space", n, other, where),
			Expected: "one name", Next: "if they are one tag, keep the one of the draft; if they are two, let them be"})
	}
	return list
}

func folded(name string) string { return strings.ToLower(strings.Join(strings.Fields(name), " ")) }

// compareTags lists the tags that only one of a file and a draft has.
func compareTags(name string, d *Document, draft *labels.Draft, place func(string) (row int, column string)) []Problem {
	inDraft, byFold := map[string]bool{}, map[string]string{}
	for _, t := range draft.Tags {
		inDraft[t.Name] = true
		byFold[folded(t.Name)] = t.Name
	}
	var known *similar
	var list []Problem
	listed := map[string]bool{}
	for _, c := range d.Hierarchy.Levels[0].Classes {
		listed[c.Name] = true
		if inDraft[c.Name] {
			continue
		}
		p := Problem{File: name, Found: fmt.Sprintf("tag %.255q is not in the draft", c.Name)}
		p.Row, p.Column = place(c.Name)
		if known == nil {
			known = newSimilar(draft.Tags)
		}
		if was, twin := byFold[folded(c.Name)]; twin {
			listed[was] = true
			p.Expected, p.Next = fmt.Sprintf("%.255q, byte for byte", was), "the file lost white space or case; take the "+
				"draft's name"
		} else if near := known.nearest(c.Name); near != "" {
			p.Warning, p.Next = true, fmt.Sprintf("it may be %.80q", near)
		} else {
			p.Warning, p.Next = true, "it comes from another scrape; an import leaves it out"
		}
		list = append(list, p)
	}
	for _, t := range draft.Tags {
		if !listed[t.Name] {
			listed[t.Name] = true
			list = append(list, Problem{Warning: true, File: name, Found: fmt.Sprintf("tag %.80q of the draft (%d landmarks) "+
				"is not assigned", t.Name, t.Landmarks), Expected: "every tag in a group, or dropped",
				Next: "add it to a column, or decide it after the import"})
		}
	}
	return list
}
