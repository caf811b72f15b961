package curate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"hgld/labels"
)

// OrphansError says that some groups of a level have a parent and others have none.
type OrphansError struct {
	Level, Parent string   // name of the level, Parent that of the next coarser one
	Groups        []string // groups without a parent
	Coarsest      bool     // set if Parent is the coarsest level, which has default classes
}

// Error gives the number of groups without a parent and the first five of them, and
// says what to do.
func (e *OrphansError) Error() string {
	shown := e.Groups[:min(len(e.Groups), 5)]
	more := ""
	if n := len(e.Groups) - len(shown); n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	defaults := ""
	if e.Coarsest {
		defaults = fmt.Sprintf(" (defaults: %.80q)", Kinds)
	}
	return fmt.Sprintf("%d of level %s have no %s: %.80q%s; set a parent for each%s",
		len(e.Groups), e.Level, e.Parent, shown, more, defaults)
}

// Hierarchy returns the classes of the session. Level 0 holds every tag of the draft in
// its order; the other levels hold the groups that have members, by name. Names are
// kept byte for byte.
//
// A tag that was dropped or is undecided has no parent; Proposed names the group of one
// that is proposed. If undecided is set, undecided tags stay in their cluster, so that an
// uncurated draft gives a hierarchy too. Coarser levels are left out if no group of the
// level below has a parent; if only some have one, the error is an *OrphansError.
//
// A hierarchy identifies a tag by its text. Tags with one text and several items become
// one class without an item; it is an error if they are in different groups.
func (s *Session) Hierarchy(undecided bool) (*labels.Hierarchy, error) {
	h := &labels.Hierarchy{Version: labels.HierarchyVersion, Levels: []labels.Level{{Name: s.names[0]}}}
	var err error
	if h.Levels[0].Classes, err = s.tagClasses(undecided); err != nil {
		return nil, fmt.Errorf("curate: %w", err)
	}
	for l := 1; l < len(s.names); l++ {
		classes := s.parentClasses(l, &h.Levels[l-1])
		if len(classes) == 0 {
			break
		}
		if l > 1 {
			if err := s.orphans(l-1, h.Levels[l-1]); err != nil {
				return nil, fmt.Errorf("curate: %w", err)
			}
		}
		h.Levels = append(h.Levels, labels.Level{Name: s.names[l], Classes: classes})
	}
	top := h.Levels[len(h.Levels)-1].Classes
	for i := range top {
		top[i].Parent = -1
	}
	if err := h.Check(); err != nil {
		return nil, fmt.Errorf("curate: hierarchy: %w", err)
	}
	return h, nil
}

// tagClasses returns the classes of level 0. Their parents are still positions in the
// session.
func (s *Session) tagClasses(undecided bool) ([]labels.Class, error) {
	var classes []labels.Class
	index := map[string]int{}
	for _, n := range s.state.levels[0] {
		class := labels.Class{Name: n.Name, QID: n.QID, Parent: -1, Note: n.note}
		if n.decided || undecided {
			class.Parent = n.parent
		}
		if n.dropped {
			class.Dropped = cmp.Or(n.reason, "dropped")
		}
		if n.proposed && n.parent >= 0 {
			class.Proposed = s.state.at(1, n.parent).Name
		}
		at, twin := index[n.Name]
		if !twin {
			index[n.Name] = len(classes)
			classes = append(classes, class)
			continue
		}
		first := &classes[at]
		switch {
		case first.Parent == class.Parent || class.Parent < 0 && class.Dropped == "":
		case first.Parent < 0 && first.Dropped == "":
			first.Parent, first.Dropped = class.Parent, class.Dropped
		default:
			return nil, fmt.Errorf("tag %.80q stands for two Wikidata items, one in %.80q and one in %.80q, but labels "+
				"identify a tag by its text; put both in one group", n.Name, s.classGroup(*first), s.classGroup(class))
		}
		first.QID, first.Note, first.Proposed = "", cmp.Or(first.Note, class.Note), cmp.Or(first.Proposed, class.Proposed)
	}
	return classes, nil
}

// classGroup returns the name of the group of a class of level 0 whose parent is a position.
func (s *Session) classGroup(c labels.Class) string {
	if c.Parent < 0 {
		return Category{Dropped: true}.String()
	}
	return s.state.at(1, c.Parent).Name
}

// parentClasses makes the classes of level l from the parents of the level below, and turns
// those parents from positions in the session into indices of the classes. The parents
// of the new classes are still positions.
func (s *Session) parentClasses(l int, below *labels.Level) []labels.Class {
	var nodes []int32
	seen := map[int32]bool{}
	for _, c := range below.Classes {
		if c.Parent >= 0 && !seen[c.Parent] {
			seen[c.Parent] = true
			nodes = append(nodes, c.Parent)
		}
	}
	slices.SortFunc(nodes, func(a, b int32) int {
		return strings.Compare(s.state.at(l, a).Name, s.state.at(l, b).Name)
	})
	class := map[int32]int32{-1: -1}
	classes := make([]labels.Class, len(nodes))
	for i, n := range nodes {
		class[n] = int32(i)
		classes[i] = labels.Class{Name: s.state.at(l, n).Name, Parent: s.state.at(l, n).parent, Note: s.state.at(l, n).note}
	}
	for i := range below.Classes {
		below.Classes[i].Parent = class[below.Classes[i].Parent]
	}
	return classes
}

// orphans returns an *OrphansError if classes of a level have no parent.
func (s *Session) orphans(l int, level labels.Level) error {
	var names []string
	for _, c := range level.Classes {
		if c.Parent < 0 {
			names = append(names, c.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return &OrphansError{Level: level.Name, Parent: s.names[l+1], Groups: names, Coarsest: l+2 == len(s.names)}
}

// Problem is something that a curator should look at. It does not stop anything.
type Problem struct {
	Level int    `json:"level"` // level of the tag or group
	Name  string `json:"name"`  // its name
	// What says what is suspicious about it.
	What string `json:"what"`
}

// Problems lists suspicious names: white space that cannot be seen, counts in place of
// names, names that differ only in case, and open flags. The published spreadsheet of
// H-GLDv2 has the first two.
func (s *Session) Problems() []Problem {
	var found []Problem
	for l, nodes := range s.state.levels {
		twins := map[string]string{}
		for _, n := range nodes {
			if n.gone {
				continue
			}
			report := func(format string, args ...any) {
				found = append(found, Problem{Level: l, Name: n.Name, What: fmt.Sprintf(format, args...)})
			}
			switch {
			case strings.TrimFunc(n.Name, unicode.IsSpace) != n.Name:
				report("begins or ends with white space")
			case strings.Contains(n.Name, "  "):
				report("has two spaces in a row")
			case strings.ContainsFunc(n.Name, func(r rune) bool { return unicode.IsSpace(r) && r != ' ' }):
				report("has white space that is not a plain space")
			}
			if !strings.ContainsFunc(n.Name, unicode.IsLetter) {
				report("has no letters; it may be a count")
			}
			lower := strings.ToLower(n.Name)
			if twin, there := twins[lower]; there && twin != n.Name {
				report("differs from %.80q only in case", twin)
			}
			twins[lower] = n.Name
			if n.flagged {
				report("flagged: %s", n.flag)
			}
			for _, name := range s.state.lostExtra(l, n) {
				report("also in %.80q, which has been divided: name its extra parent again", name)
			}
		}
	}
	return found
}
