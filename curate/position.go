package curate

import "slices"

// Node is a tag or a group by its place in a session. Tags keep their places,
// those of the draft; groups keep theirs until an edit is reverted.
type Node struct {
	Ref
	Parent   int  // place in the next level, -1 for none
	Decided  bool // a tag that a curator put where it is, or dropped
	Dropped  bool
	Declared bool // a group that an edit named
	Gone     bool // a group that is no longer there; its place stays
	Flagged  bool
	Reason   string // of the drop
	Flag     string // reason of the flag
	Note     string
}

// Size is the number of places of a level, those of groups that are gone
// included.
func (s *Session) Size(level int) int { return len(s.now.levels[level]) }

// Node returns what stands at a place.
func (s *Session) Node(level, at int) Node {
	n := s.now.at(level, int32(at))
	return Node{Ref: n.Ref, Parent: int(n.parent), Decided: n.decided, Dropped: n.dropped, Declared: n.declared,
		Gone: n.gone, Flagged: n.flagged, Reason: n.reason, Flag: n.flag, Note: n.note}
}

// Places lists every place, level by level.
func (s *Session) Places() []Place {
	var all []Place
	for l, nodes := range s.now.levels {
		for i := range nodes {
			all = append(all, Place{l, i})
		}
	}
	return all
}

// Changed lists the places whose nodes the last edit that Apply did has changed,
// level by level. Places that are new count; a level may also have become
// smaller.
func (s *Session) Changed() []Place { return slices.Clone(s.changed) }

// Undo returns the numbers of the edits that a curator who asks for "undo" and
// for "redo" would revert; 0 for none. Undone is the latest edit that holds.
// Redone is the latest undoing since the last edit of another kind: reverting it
// brings its edit back.
func (s *Session) Undo() (undo, redo int) {
	for i := len(s.edits) - 1; i >= 0 && undo == 0; i-- {
		if s.active[i] && s.edits[i].Op != Revert {
			undo = i + 1
		}
	}
	for i := len(s.edits) - 1; i >= 0 && s.edits[i].Op == Revert; i-- {
		if s.active[i] && s.edits[s.edits[i].Of-1].Op != Revert {
			return undo, i + 1
		}
	}
	return undo, 0
}
