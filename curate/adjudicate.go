package curate

// Adjudicate returns the session from which an adjudicator between two or more curators starts. It
// takes over what the curators agree on and what only one of them has decided. A tag that they
// decided differently is undecided and stays in the group of the first who decided it, or in none if
// that one dropped it. A group with different parents has no parent. The adjudicator's log is
// replayed on this session.
func Adjudicate(sessions ...*Session) (*Session, *ManyComparison, error) {
	c, err := CompareMany(sessions)
	if err != nil {
		return nil, nil, err
	}
	s := sessions[0].Fork()
	for _, other := range sessions[1:] {
		s.state.adopt(other.state)
	}
	for _, p := range c.Parents {
		s.state.put(p.Level, s.state.index[p.Level][Ref{Name: p.Group}], -1)
	}
	for _, d := range c.Differences { // after all have been adopted, none of whom may decide them
		n := s.state.at(0, int32(d.Tag))
		n.decided, n.dropped, n.reason = false, false, ""
	}
	s.state = s.state.clone()
	return s, c, nil
}

// adopt copies from other what s has not decided: declared groups, parents of groups
// without one, decided tags, notes and flags. Extra parents are those of both.
func (s *state) adopt(other *state) {
	for l := len(s.levels) - 1; l >= 1; l-- { // parents first
		for _, n := range other.levels[l] {
			if n.gone || !n.declared {
				continue
			}
			i, _ := s.declare(l, n.Name)
			if n.parent >= 0 && s.at(l, i).parent < 0 {
				to, _ := s.declare(l+1, other.at(l+1, n.parent).Name)
				s.put(l, i, to)
			}
			s.at(l, i).remarksOf(n)
			s.adoptExtra(l, i, other, n)
		}
	}
	var left []int32
	for i, n := range other.levels[0] {
		own := s.at(0, int32(i))
		own.remarksOf(n)
		s.adoptExtra(0, int32(i), other, n)
		if own.decided || !n.decided {
			continue
		}
		group := int32(-1)
		if n.parent >= 0 {
			group, _ = s.declare(1, other.at(1, n.parent).Name)
		}
		left = append(left, own.parent)
		s.put(0, int32(i), group)
		own.decided, own.dropped, own.reason = true, n.dropped, n.reason
	}
	s.removeEmpty(left)
}

// remarksOf copies the note and the flag of another node if n has none.
func (n *node) remarksOf(other node) {
	if n.note == "" {
		n.note = other.note
	}
	if !n.flagged {
		n.flagged, n.flag, n.flagBy = other.flagged, other.flag, other.flagBy
	}
}

// Open lists the differences that the adjudicator's session s has not settled: tags
// that are still undecided, and groups that still have no parent.
func (c *ManyComparison) Open(s *Session) (tags []Difference, parents []ParentDifference) {
	for _, d := range c.Differences {
		if !s.state.at(0, int32(d.Tag)).decided {
			tags = append(tags, d)
		}
	}
	for _, p := range c.Parents {
		if s.parentOf(p.Level, p.Group) == "" {
			parents = append(parents, p)
		}
	}
	return tags, parents
}
