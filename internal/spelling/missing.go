package spelling

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// noClass lists the cells that mean no class, besides the empty cell: −1, and what data frames write and
// read as a missing value.
var noClass = []string{"-1", "-1.0", "nan", "NaN", "NAN", "-nan", "-NaN", "None", "NA", "N/A", "n/a", "<NA>",
	"#N/A", "#NA", "null", "NULL"}

// MissingEmpty is the word in a list of cells that mean no class by which −1 is a class.
const MissingEmpty = "empty"

// MeansMissing reports whether a cell is empty or a usual word for a missing value.
func MeansMissing(cell string) bool { return cell == "" || slices.Contains(noClass, cell) }

// MissingError asks whether a word is a class.
type MissingError struct {
	Where string // file and level
	Word  string // the cell
	Why   string // it may be a class
}

// Error quotes the word and says where it stands.
func (e *MissingError) Error() string {
	return fmt.Sprintf("%s: %.80q means no class in most tables, but %s: does it here?", e.Where, e.Word, e.Why)
}

// Missing finds the cells of a column that mean no class. All cells are added first.
type Missing struct {
	known      map[string]bool // cells that mean no class
	asked      bool            // somebody named them
	words      []missingWord
	otherTexts bool   // some class is no number
	otherWords bool   // some class is no code
	aClass     string // the first
}

// missingWord is a cell that means no class.
type missingWord struct {
	text  string
	count int
}

// NewMissing begins a column. asked are the cells that mean no class besides the empty one and −1, or
// [MissingEmpty]; none: the usual words, unless they may be classes.
func NewMissing(asked []string) *Missing {
	m := &Missing{known: map[string]bool{"": true}, asked: len(asked) > 0}
	list := slices.Concat(asked, []string{"-1", "-1.0"})
	switch {
	case !m.asked:
		list = noClass
	case slices.Contains(asked, MissingEmpty):
		list = asked
	}
	for _, text := range list {
		m.known[text] = text != MissingEmpty
	}
	return m
}

// Is reports whether a cell means no class.
func (m *Missing) Is(cell string) bool { return m.known[strings.TrimSpace(cell)] }

// Add adds a cell.
func (m *Missing) Add(cell string) {
	bare := strings.TrimSpace(cell)
	if !m.known[bare] {
		if m.aClass == "" {
			m.aClass = strings.Clone(cell)
		}
		m.otherTexts = m.otherTexts || !isSigned(bare)
		m.otherWords = m.otherWords || !codes.MatchString(cell)
		return
	}
	i := slices.IndexFunc(m.words, func(w missingWord) bool { return w.text == bare })
	if i < 0 {
		i, m.words = len(m.words), append(m.words, missingWord{text: strings.Clone(bare)})
	}
	m.words[i].count++
}

// Count returns how many cells mean no class.
func (m *Missing) Count() (n int) {
	for _, w := range m.words {
		n += w.count
	}
	return n
}

// Words quotes the cells that mean no class.
func (m *Missing) Words() string {
	var list []string
	for _, w := range m.words {
		list = append(list, cellName(w.text))
	}
	return strings.Join(list, ", ")
}

// OnlyEmpty reports whether no other cell than the empty one means no class.
func (m *Missing) OnlyEmpty() bool {
	return !slices.ContainsFunc(m.words, func(w missingWord) bool { return w.text != "" })
}

// Doubt returns a *[MissingError] if a word stands among classes of which it may be one, and nobody said what it means.
// where names the column.
func (m *Missing) Doubt(where string) error {
	if m.asked || !m.otherTexts {
		return nil
	}
	for _, w := range m.words {
		if w.text == "" || isSigned(w.text) {
			continue
		}
		if i := slices.IndexFunc(m.words, func(o missingWord) bool { return !strings.EqualFold(o.text, w.text) }); i >= 0 {
			return &MissingError{where, w.text, "other cells are " + cellName(m.words[i].text)}
		}
		if w.text == "NA" && !m.otherWords {
			return &MissingError{where, w.text, fmt.Sprintf("the classes are codes, such as %.80q", m.aClass)}
		}
	}
	return nil
}

// codes are short names in capitals, such as those of countries, of which NA is one.
var codes = regexp.MustCompile(`^[A-Z]{2,3}$`)

// cellName quotes a cell.
func cellName(text string) string {
	if text == "" {
		return "empty"
	}
	return fmt.Sprintf("%.80q", text)
}

// isSigned reports whether a class is a number, perhaps negative.
func isSigned(text string) bool {
	text = strings.TrimPrefix(text, "-")
	return text != "" && strings.Trim(text, "0123456789.") == ""
}
