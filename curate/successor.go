package curate

// Successor returns the name of the group that took the place of the one that was called
// name: the group itself, the group that it was renamed to or merged into, or the first part of
// its division. It returns false if there is none.
func (s *Session) Successor(level int, name string) (string, bool) {
	if level < 1 || level >= len(s.names) {
		return "", false
	}
	for from := 0; ; {
		if _, live := s.state.index[level][Ref{Name: name}]; live {
			return name, true
		}
		at, to := s.lastRenaming(level, name, from)
		if at < 0 {
			return "", false
		}
		name, from = to, at+1
	}
}

// lastRenaming finds the last edit, from number from on, that renamed, merged or divided the group
// with a name, and the name of its successor. It returns −1 if there is none.
func (s *Session) lastRenaming(level int, name string, from int) (at int, to string) {
	for i := len(s.edits) - 1; i >= from; i-- {
		e := &s.edits[i]
		if !s.active[i] || e.Level != level {
			continue
		}
		for _, p := range e.Parts {
			if e.Op == Merge && names(p.Members, name) {
				return i, p.To
			}
		}
		if !names(e.From, name) {
			continue
		}
		switch e.Op {
		case Rename, Merge:
			return i, e.To
		case Split:
			return i, e.Parts[0].To
		}
	}
	return -1, ""
}

// names reports whether one of some references is the group called name.
func names(refs []Ref, name string) bool {
	for _, r := range refs {
		if r.Name == name {
			return true
		}
	}
	return false
}
