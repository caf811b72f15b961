package format

import (
	"fmt"

	"hgld/curate"
)

// Linted is the result of a check of one file.
type Linted struct {
	File string `json:"file"` // name of the file

	Errors int `json:"errors"` // number of problems that are errors

	Warnings int `json:"warnings"` // number of the others

	Problems []Problem `json:"problems"` // all problems in order; never nil
}

// NewLinted counts the problems of a file.
func NewLinted(file string, found []Problem) Linted {
	l := Linted{File: file, Problems: found}
	if found == nil {
		l.Problems = []Problem{}
	}
	for _, p := range found {
		if p.Warning {
			l.Warnings++
		} else {
			l.Errors++
		}
	}
	return l
}

// LintSession lists the damaged names, the dropped namesakes of groups and the undecided tags of a curation of
// the draft with the given name. All are warnings, since the curator has to judge them.
func LintSession(draft string, s *curate.Session) []Problem {
	var found []Problem
	for _, p := range s.Problems() {
		found = append(found, Problem{Warning: true, File: draft,
			Found: fmt.Sprintf("%s %.80q %s", s.Levels()[p.Level], p.Name, p.What),
			Next:  "rename the group, or note that the source spells it so"})
	}
	for _, n := range s.DroppedNamesakes() {
		tag := s.Tag(n.Tag)
		found = append(found, Problem{Warning: true, File: draft,
			Found: fmt.Sprintf("%s %v of %d landmarks is dropped, and a group is called %.80q", s.Levels()[0], tag.Ref,
				tag.Landmarks, n.Group), Next: "move it into the group, or note why it is left out"})
	}
	proposed := map[curate.Ref]bool{}
	for _, r := range s.Proposed() {
		proposed[r] = true
		found = append(found, Problem{Warning: true, File: draft,
			Found: fmt.Sprintf("%s %v is proposed and not decided", s.Levels()[0], r), Next: "confirm, move or drop it"})
	}
	for _, r := range s.Undecided() {
		if proposed[r] {
			continue
		}
		found = append(found, Problem{Warning: true, File: draft,
			Found: fmt.Sprintf("%s %v is undecided", s.Levels()[0], r), Next: "accept, move or drop it"})
	}
	return found
}
