package curate

import (
	"fmt"
	"slices"

	"hgld/internal/terminal"
)

// ExtraParentComparison compares the extra parents that curators named. No measure of agreement counts them.
type ExtraParentComparison struct {
	Classes int `json:"classes"` // number of classes to which any curator gave an extra parent
	// Differences are those of them to which not all gave the same ones, level by level and in the order in which
	// the classes arose.
	Differences []ExtraParentDifference `json:"differences"`
}

// ExtraParentDifference is a class to which curators gave different extra parents.
type ExtraParentDifference struct {
	Level   int        `json:"level"`         // level of the class, 0 for tags
	Class   string     `json:"class"`         // its name
	QID     string     `json:"qid,omitempty"` // Wikidata item of a tag
	Choices [][]string `json:"choices"`       // names of each curator's extra parents of it, in order
}

// CompareExtraParents compares the extra parents of two or more sessions on one draft. As in ExtraParents, a parent
// counts if it exists and is not the class's parent in the tree.
func CompareExtraParents(sessions ...*Session) (ExtraParentComparison, error) {
	c := ExtraParentComparison{Differences: []ExtraParentDifference{}}
	if err := onOneDraft(sessions...); err != nil {
		return c, err
	}
	for l := range len(sessions[0].names) - 1 {
		known := map[Ref]bool{}
		for _, s := range sessions {
			for _, n := range s.state.levels[l] {
				if n.gone || n.extra == "" || known[n.Ref] {
					continue
				}
				known[n.Ref] = true
				c.add(l, n.Ref, sessions)
			}
		}
	}
	return c, nil
}

// add compares one class.
func (c *ExtraParentComparison) add(level int, class Ref, sessions []*Session) {
	d := ExtraParentDifference{Level: level, Class: class.Name, QID: class.QID}
	named, differ := false, false
	for k, s := range sessions {
		d.Choices = append(d.Choices, s.extraOf(level, class))
		named = named || len(d.Choices[k]) > 0
		differ = differ || !slices.Equal(d.Choices[k], d.Choices[0])
	}
	if named {
		c.Classes++
	}
	if differ {
		c.Differences = append(c.Differences, d)
	}
}

// extraOf lists the extra parents of a class by name: those that exist and are not its parent in the tree.
func (s *Session) extraOf(level int, class Ref) []string {
	list := []string{}
	i, there := s.state.index[level][class]
	if !there {
		return list
	}
	n := s.state.at(level, i)
	for _, name := range n.extraParents() {
		at, live := s.state.index[level+1][Ref{Name: name}]
		if live && at != n.parent {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// Text counts the classes; it is "" if no curator named an extra parent.
func (c ExtraParentComparison) Text() string {
	if c.Classes == 0 {
		return ""
	}
	return fmt.Sprintf("\nextra parents, which no measure counts: %s, %d not by all curators alike\n",
		terminal.Count(c.Classes, "class"), len(c.Differences))
}
