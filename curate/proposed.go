package curate

import (
	"fmt"
	"slices"
)

// OwnName returns the name of a group if a person chose it: in an edit, or in the list of
// groups that the draft was made with. It returns "" for other clusters and removed groups.
func (s *Session) OwnName(group int) string {
	n := s.state.at(1, int32(group))
	known := group < len(s.draft.Clusters) && s.draft.Clusters[group].Known
	if n.gone || !n.declared && !known {
		return ""
	}
	return n.Name
}

// Unproposed lists the tags that may be proposed: neither decided, nor proposed, nor refused
// by a curator before.
func (s *Session) Unproposed() []int {
	refused := s.Refused()
	var tags []int
	for i := range s.state.levels[0] {
		if n := s.state.at(0, int32(i)); !n.decided && !n.proposed && !refused[i] {
			tags = append(tags, i)
		}
	}
	return tags
}

// ProposedParts lists the proposed, undecided tags by group, as parts of a Confirm in the
// draft's order; the part of those proposed to be dropped has no group. If groups are named, it lists only
// theirs, and returns an error for a group without proposals. "(dropped)" names those to be dropped.
func (s *Session) ProposedParts(groups []string) ([]Part, error) {
	groups = slices.Clone(groups)
	for k, name := range groups {
		if name == (Category{Dropped: true}).String() {
			groups[k] = ""
		}
	}
	var tags []int
	in := map[int]string{}
	for i := range s.state.levels[0] {
		n := s.state.at(0, int32(i))
		if !n.proposed {
			continue
		}
		name := s.state.parentName(0, n)
		if len(groups) == 0 || slices.Contains(groups, name) {
			tags, in[i] = append(tags, i), name
		}
	}
	parts := s.PartsOf(tags, in)
	for _, name := range groups {
		if !slices.ContainsFunc(parts, func(p Part) bool { return p.To == name }) {
			return nil, fmt.Errorf("curate: no tag is proposed for a group %.80q",
				Category{Name: name, Dropped: name == ""}.String())
		}
	}
	return parts, nil
}

// PartsOf lists tags by the name of the group of each, groups in the order of their first
// tag.
func (s *Session) PartsOf(tags []int, group map[int]string) []Part {
	var parts []Part
	at := map[string]int{}
	for _, tag := range tags {
		k, known := at[group[tag]]
		if !known {
			k = len(parts)
			at[group[tag]] = k
			parts = append(parts, Part{To: group[tag]})
		}
		parts[k].Members = append(parts[k].Members, s.state.at(0, int32(tag)).Ref)
	}
	return parts
}

// Members counts the tags in the parts of an edit.
func Members(parts []Part) (n int) {
	for _, p := range parts {
		n += len(p.Members)
	}
	return n
}

// Refs lists the tags in the parts of an edit.
func Refs(parts []Part) []Ref {
	var refs []Ref
	for _, p := range parts {
		refs = append(refs, p.Members...)
	}
	return refs
}
