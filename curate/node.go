package curate

import "slices"

// Node is a tag or a group at a place of a session. Tags keep the places that they have
// in the draft. Groups keep theirs until an edit is reverted.
type Node struct {
	Ref
	Parent       int      // place of its parent in the next level, -1 for none
	Decided      bool     // set for a tag that a curator placed or dropped
	Proposed     bool     // set for an undecided tag that a proposal placed
	Dropped      bool     // set for a tag that is left out of the hierarchy
	Declared     bool     // set for a group that an edit named
	Gone         bool     // set for a group that no longer exists; its place stays
	Flagged      bool     // set if it is marked for another look
	Reason       string   // that of the drop
	Flag         string   // reason of the flag
	FlagBy       string   // author of the flag
	Note         string   // curator's last note
	ExtraParents []string // names of its extra parents, besides Parent
	Placed       int      // number of the edit of the session's own log that last decided or proposed a tag, 0 for none
}

// Size returns the number of places of a level, including those of groups that are
// gone.
func (s *Session) Size(level int) int { return len(s.state.levels[level]) }

// Node returns the node at a place.
func (s *Session) Node(level, at int) Node {
	n := s.state.at(level, int32(at))
	return Node{Ref: n.Ref, Parent: int(n.parent), Decided: n.decided, Proposed: n.proposed, Dropped: n.dropped,
		Declared: n.declared, Gone: n.gone, Flagged: n.flagged, Reason: n.reason, Flag: n.flag, FlagBy: n.flagBy,
		Note: n.note, ExtraParents: s.state.besideParent(level, n), Placed: int(n.placed)}
}

// Flags lists the active edits that flag the node at a place, reply to that, or resolve it, in order.
func (s *Session) Flags(level, at int) []Edit { return s.thread(Flag, level, at) }

// Notes lists the active edits that wrote a note on the node at a place, in order, since one removed all
// before it. If the session started with a note of other logs, that is first, as an edit without number and author.
func (s *Session) Notes(level, at int) []Edit {
	var notes []Edit
	if note := s.firstNote(level, at); note != "" {
		notes = append(notes, Edit{Op: Note, Level: level, Note: note})
	}
	for _, e := range s.thread(Note, level, at) {
		if notes = append(notes, e); e.Note == "" {
			notes = nil
		}
	}
	return notes
}

// firstNote returns the note of a node before the first edit of the session's log, "" if there was none.
func (s *Session) firstNote(level, at int) string {
	if base := s.journal.base; base != nil {
		if at < len(base.levels[level]) {
			return base.at(level, int32(at)).note
		}
		return ""
	}
	for _, step := range s.journal.steps {
		for _, r := range step.records {
			if r.level == level && int(r.at) == at {
				return r.before.note // which a fresh node has not
			}
		}
	}
	return s.state.at(level, int32(at)).note
}

// thread lists the active edits of an operation that name the node at a place, in order.
func (s *Session) thread(op Op, level, at int) []Edit {
	var thread []Edit
	for i := range s.edits {
		e := &s.edits[i]
		if !s.active[i] || e.Op != op || e.Level != level {
			continue
		}
		for _, r := range e.From {
			if level > 0 {
				r.Name = s.renamed(level, r.Name, i+1)
			}
			if found, ok := s.finder().find(level, r); ok && int(found) == at {
				thread = append(thread, *e)
				break
			}
		}
	}
	return thread
}

// renamed follows the renamings of a group, which was called name before edit from of the log, to its name now. One
// that was merged or divided is gone.
func (s *Session) renamed(level int, name string, from int) string {
	for i := from; i < len(s.edits); i++ {
		if e := &s.edits[i]; s.active[i] && e.Op == Rename && e.Level == level && e.From[0].Name == name {
			name = e.To
		}
	}
	return name
}

// Places lists every place, level by level.
func (s *Session) Places() []Place {
	var all []Place
	for l, nodes := range s.state.levels {
		for i := range nodes {
			all = append(all, Place{l, i})
		}
	}
	return all
}

// Changed lists the places whose nodes the last edit of Apply changed, level by level.
// New places count as changed; a level may also have become smaller.
func (s *Session) Changed() []Place { return slices.Clone(s.changed) }

// Undo returns the numbers of the edits that "undo" and "redo" of a curator would revert, 0 for none. undo is their
// latest active edit but for snapshots. redo is their latest undo since their last edit of another kind: reverting it
// restores its edit.
func (s *Session) Undo(by string) (undo, redo int) {
	latest := true // whether the edits after this one are undos and snapshots
	for i := len(s.edits) - 1; i >= 0 && undo == 0; i-- {
		e := &s.edits[i]
		switch {
		case e.By != by || e.Op == Snapshot:
		case e.Op != Revert:
			latest = false
			if s.active[i] {
				undo = i + 1
			}
		case redo == 0 && latest && s.active[i] && s.edits[e.Of-1].Op != Revert:
			redo = i + 1
		}
	}
	return undo, redo
}

// Last returns the number of the latest active edit of anybody but for undos and snapshots, 0 for none.
func (s *Session) Last() int {
	for i := len(s.edits) - 1; i >= 0; i-- {
		if s.active[i] && s.edits[i].Op != Revert && s.edits[i].Op != Snapshot {
			return i + 1
		}
	}
	return 0
}
