package curate

import (
	"fmt"
	"slices"

	"hgld/internal/terminal"
)

// FurtherComparison compares the further parents that curators named. No measure of agreement counts them.
type FurtherComparison struct {
	// Classes is the number of classes to which any curator gave a further parent.
	Classes int `json:"classes"`
	// Differences are those of them to which not all gave the same ones, level by level and in the order in which
	// the classes arose.
	Differences []FurtherDifference `json:"differences"`
}

// FurtherDifference is a class to which curators gave different further parents.
type FurtherDifference struct {
	// Level is the level of the class, 0 for tags.
	Level int `json:"level"`
	// Class is its name.
	Class string `json:"class"`
	// QID is the Wikidata item of a tag.
	QID string `json:"qid,omitempty"`
	// Choices are the names of each curator's further parents of it, in order.
	Choices [][]string `json:"choices"`
}

// CompareFurther compares the further parents of two or more sessions on one draft. As in FurtherParents, a parent
// counts if it exists and is not the class's parent in the tree.
func CompareFurther(sessions ...*Session) (FurtherComparison, error) {
	c := FurtherComparison{Differences: []FurtherDifference{}}
	if err := onOneDraft(sessions...); err != nil {
		return c, err
	}
	for l := range len(sessions[0].names) - 1 {
		known := map[Ref]bool{}
		for _, s := range sessions {
			for _, n := range s.state.levels[l] {
				if n.gone || n.further == "" || known[n.Ref] {
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
func (c *FurtherComparison) add(level int, class Ref, sessions []*Session) {
	d := FurtherDifference{Level: level, Class: class.Name, QID: class.QID}
	named, differ := false, false
	for k, s := range sessions {
		d.Choices = append(d.Choices, s.furtherOf(level, class))
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

// furtherOf lists the further parents of a class by name: those that exist and are not its parent in the tree.
func (s *Session) furtherOf(level int, class Ref) []string {
	list := []string{}
	i, there := s.state.index[level][class]
	if !there {
		return list
	}
	n := s.state.at(level, i)
	for _, name := range n.furtherParents() {
		at, live := s.state.index[level+1][Ref{Name: name}]
		if live && at != n.parent {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// Text counts the classes; it is "" if no curator named a further parent.
func (c FurtherComparison) Text() string {
	if c.Classes == 0 {
		return ""
	}
	return fmt.Sprintf("\nfurther parents, which no measure counts: %s, %d not by all curators alike\n",
		terminal.Count(c.Classes, "class"), len(c.Differences))
}
