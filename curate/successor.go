package curate

// Successor returns the name of the group that took the place of the one once called
// name: the group itself, what it was renamed to or merged into, or the first part it
// was divided into. It returns false if there is none.
func (s *Session) Successor(level int, name string) (string, bool) {
	if level < 1 || level >= len(s.names) {
		return "", false
	}
	for from := 0; ; {
		if _, live := s.now.index[level][Ref{Name: name}]; live {
			return name, true
		}
		at, to := s.left(level, name, from)
		if at < 0 {
			return "", false
		}
		name, from = to, at+1
	}
}

// left finds the last edit, from number from on, that took the name of a group away,
// and the name that its members have had since. It returns −1 if there is none.
func (s *Session) left(level int, name string, from int) (at int, to string) {
	for i := len(s.edits) - 1; i >= from; i-- {
		e := &s.edits[i]
		if !s.active[i] || e.Level != level || !namesGroup(e, name) {
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

// namesGroup reports whether the first reference of an edit is the group called name.
func namesGroup(e *Edit, name string) bool {
	for _, r := range e.From {
		if r.Name == name {
			return true
		}
	}
	return false
}
