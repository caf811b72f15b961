package curate

// TagGroup is a group that has tags.
type TagGroup struct {
	Name, Kind string // Kind is "" if the group has none
	Landmarks  int    // of its tags
}

// TagGroups returns the group of each tag as an index of groups, -1 for none, and the groups in the order of their
// first tags.
func (s *Session) TagGroups() (of []int32, groups []TagGroup) {
	number := map[int]int32{}
	for i, tag := range s.Draft().Tags {
		n := s.Node(0, i)
		if n.Parent < 0 || n.Dropped {
			of = append(of, -1)
			continue
		}
		at, known := number[n.Parent]
		if !known {
			at = int32(len(groups))
			number[n.Parent] = at
			g, kind := s.Node(1, n.Parent), ""
			if g.Parent >= 0 {
				kind = s.Node(2, g.Parent).Name
			}
			groups = append(groups, TagGroup{Name: g.Name, Kind: kind})
		}
		groups[at].Landmarks += tag.Landmarks
		of = append(of, at)
	}
	return of, groups
}
