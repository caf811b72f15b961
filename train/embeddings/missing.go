package embeddings

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

// codes are short names in capitals, such as those of countries, of which NA is one.
var codes = regexp.MustCompile(`^[A-Z]{2,3}$`)

// wholeFloat is a whole number as data frames write a column of integers with missing values.
var wholeFloat = regexp.MustCompile(`^(-?[0-9]+)\.0+$`)

// clearMissing empties the cells of the levels that mean no class, and says how many they are. asked are
// the cells that mean it besides the empty one and −1; empty: those of noClass, unless they may be classes.
func (s *sheet) clearMissing(asked []string, say func(format string, args ...any)) error {
	for l, classes := range s.classes {
		words, numbers, others := s.countMissing(classes, asked)
		where := s.path + ": " + s.levels[l]
		if err := doubt(where, words, numbers, others); len(asked) == 0 && err != nil {
			return err
		}
		n := 0
		var list []string
		for _, w := range words {
			n += w.count
			list = append(list, cellName(w.text))
		}
		if n > 0 {
			say("%s: %d of %d rows have no class at %s (%s)", s.path, n, s.rows, s.levels[l], strings.Join(list, ", "))
			s.classes[l] = withoutWords(classes, words)
		}
		s.wholeNumbers(l, say)
	}
	return nil
}

// cellName quotes a cell.
func cellName(text string) string {
	if text == "" {
		return "empty"
	}
	return fmt.Sprintf("%.80q", text)
}

// word is a cell that means no class.
type word struct {
	text  string
	count int
}

// countMissing counts the cells of a column that mean no class. numbers reports that all others are
// numbers, others are a few of them.
func (s *sheet) countMissing(classes, asked []string) (words []word, numbers bool, others []string) {
	known := map[string]bool{"": true}
	list := slices.Concat(asked, []string{"-1", "-1.0"})
	switch {
	case len(asked) == 0:
		list = noClass
	case slices.Contains(asked, MissingEmpty):
		list = asked
	}
	for _, text := range list {
		known[text] = text != MissingEmpty
	}
	at := map[string]int{}
	seen := map[string]bool{}
	numbers = true
	for _, text := range classes {
		bare := strings.TrimSpace(text)
		if !known[bare] {
			if numbers = numbers && isSigned(bare); !seen[text] {
				seen[text], others = true, append(others, text)
			}
			continue
		}
		i, counted := at[bare]
		if !counted {
			i = len(words)
			at[bare], words = i, append(words, word{text: bare})
		}
		words[i].count++
	}
	return words, numbers, others
}

// isSigned reports whether a class is a number, perhaps negative.
func isSigned(text string) bool {
	text = strings.TrimPrefix(text, "-")
	return text != "" && strings.Trim(text, "0123456789.") == ""
}

// doubt returns the error for a word among classes of which it may be one.
func doubt(where string, words []word, numbers bool, others []string) error {
	if numbers {
		return nil
	}
	for _, w := range words {
		if w.text == "" || isSigned(w.text) {
			continue
		}
		if i := slices.IndexFunc(words, func(o word) bool { return !strings.EqualFold(o.text, w.text) }); i >= 0 {
			return &MissingError{where, w.text, "other cells are " + cellName(words[i].text)}
		}
		if w.text == "NA" && !slices.ContainsFunc(others, func(c string) bool { return !codes.MatchString(c) }) {
			return &MissingError{where, w.text, fmt.Sprintf("the classes are codes, such as %.80q", others[0])}
		}
	}
	return nil
}

// withoutWords returns classes with empty cells in place of the words.
func withoutWords(classes []string, words []word) []string {
	is := map[string]bool{}
	for _, w := range words {
		is[w.text] = true
	}
	list := slices.Clone(classes)
	for i, text := range list {
		if is[strings.TrimSpace(text)] {
			list[i] = ""
		}
	}
	return list
}

// wholeNumbers rewrites a column of whole numbers that a data frame has written as 2.0.
func (s *sheet) wholeNumbers(l int, say func(format string, args ...any)) {
	first := ""
	for _, text := range s.classes[l] {
		if text == "" {
			continue
		}
		if !wholeFloat.MatchString(text) {
			return
		}
		first = text
	}
	if first == "" {
		return
	}
	say("%s: the classes of %s are whole numbers, written like %s, and are read without the point", s.path, s.levels[l],
		first)
	list := slices.Clone(s.classes[l])
	for i, text := range list {
		list[i], _, _ = strings.Cut(text, ".")
	}
	s.classes[l] = list
}
