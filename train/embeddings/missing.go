package embeddings

import (
	"regexp"
	"slices"
	"strings"

	"hgld/internal/spelling"
)

// wholeFloat is a whole number as data frames write a column of integers with missing values.
var wholeFloat = regexp.MustCompile(`^(-?[0-9]+)\.0+$`)

// clearMissing empties the cells of the levels that mean no class, and says how many they are. asked are
// the cells that mean it besides the empty one and −1; empty: the usual words, unless they may be classes.
func (s *sheet) clearMissing(asked []string, say func(format string, args ...any)) error {
	for l, classes := range s.classes {
		missing := spelling.NewMissing(asked)
		for _, text := range classes {
			missing.Add(text)
		}
		if err := missing.Doubt(s.path + ": " + s.levels[l]); err != nil {
			return err
		}
		if n := missing.Count(); n > 0 {
			say("%s: %d of %d rows have no class at %s (%s)", s.path, n, s.rows, s.levels[l], missing.Words())
			s.classes[l] = slices.Clone(classes)
			for i, text := range classes {
				if missing.Is(text) {
					s.classes[l][i] = ""
				}
			}
		}
		s.wholeNumbers(l, say)
	}
	return nil
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
