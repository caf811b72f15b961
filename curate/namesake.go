package curate

import (
	"cmp"
	"slices"

	"hgld/internal/spelling"
)

// Namesake is a tag with the name of a group, in any case and spelling.
type Namesake struct {
	Tag   int    // position in the draft
	Group string // name of the group
}

// DroppedNamesakes returns the dropped tags that have the name of a group that an edit named, those with the
// most landmarks first. Such a drop is often a mistake: the tag is what the group is about.
func (s *Session) DroppedNamesakes() []Namesake {
	if len(s.names) < 2 {
		return nil
	}
	groups := map[string]string{}
	for _, n := range s.state.levels[1] {
		if n.declared && !n.gone {
			groups[spelling.Key(n.Name)] = n.Name
		}
	}
	var list []Namesake
	for i, n := range s.state.levels[0] {
		if !n.dropped {
			continue
		}
		if g, is := groups[spelling.Key(n.Name)]; is {
			list = append(list, Namesake{i, g})
		}
	}
	slices.SortStableFunc(list, func(a, b Namesake) int {
		return cmp.Compare(s.draft.Tags[b.Tag].Landmarks, s.draft.Tags[a.Tag].Landmarks)
	})
	return list
}
