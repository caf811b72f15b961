package embeddings

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"hgld/internal/spelling"
)

// KindsError says that the classes of a level are numbers in one file and names in another.
type KindsError struct {
	Level string // name of the level
	Note  string // what differs, with examples
}

// Error names the level.
func (e *KindsError) Error() string { return e.Level + ": " + e.Note }

// sameKinds returns an error for a level whose classes are numbers in one file and texts in another.
func sameKinds(sheets []*sheet) error {
	for l, level := range sheets[0].levels {
		kinds := make([]spelling.Kinds, len(sheets))
		for i, s := range sheets {
			for _, c := range s.classes[l] {
				if c != "" {
					kinds[i].Add(strings.TrimPrefix(c, "-"))
				}
			}
		}
		for i := range sheets {
			for k := range sheets {
				if kinds[i].OnlyNumbers() && kinds[k].OnlyTexts() {
					return &KindsError{level, spelling.KindNote(sheets[i].path, sheets[k].path, &kinds[i], &kinds[k])}
				}
			}
		}
	}
	return nil
}

// twins brings the classes of all sheets into one form of Unicode. It names, by level, those that are
// written in two, and those that are probably one.
func twins(sheets []*sheet) (notes map[string][]string) {
	notes = map[string][]string{}
	for l, level := range sheets[0].levels {
		seen, other := map[string]bool{}, map[string]bool{} // names in form C, as written and after a change
		for _, s := range sheets {
			changed := false
			for i, c := range s.classes[l] {
				form := c
				if !isASCII(c) {
					form = spelling.Form(c)
				}
				if form == c {
					seen[c] = true
					continue
				}
				if !changed {
					s.classes[l], changed = slices.Clone(s.classes[l]), true
				}
				s.classes[l][i], other[form] = form, true
			}
		}
		delete(seen, "")
		var both []string
		for _, name := range slices.Sorted(maps.Keys(other)) {
			if seen[name] {
				both = append(both, name)
			}
			seen[name] = true
		}
		for _, note := range spelling.Notes(level, slices.Sorted(maps.Keys(seen)), both) {
			notes[level] = append(notes[level], fmt.Sprintf("note: %s", note))
		}
	}
	return notes
}
