package curate

import (
	"fmt"
	"slices"

	"hgld/labels"
)

// Session is a draft with edits replayed on it. It belongs to one log, and its version
// is the number of that log's edits. A session may start from the state of another one
// (Fork), as an adjudicator's does.
//
// A Session is not safe for concurrent use.
type Session struct {
	draft    *labels.Draft
	names    []string // of the levels
	state    *state
	edits    []Edit
	active   []bool // of each edit, whether it is in force
	journal  journal
	changed  []Place   // by the last edit
	tolerant bool      // the log was made for another draft
	tags     *tagTable // of this draft; made on first use
}

// NewSession starts a session on a draft with the levels of a log's header, or with
// DefaultLevels if there are none.
func NewSession(d *labels.Draft, levels []string) (*Session, error) {
	if len(levels) == 0 {
		levels = DefaultLevels
	}
	if len(levels) < 2 {
		return nil, fmt.Errorf("curate: levels %.80q; want tags and at least one level of groups", levels)
	}
	if err := d.Check(); err != nil {
		return nil, fmt.Errorf("curate: draft: %w", err)
	}
	return &Session{draft: d, names: slices.Clone(levels), state: newState(d, len(levels)),
		journal: journal{room: journalRoom}}, nil
}

// Fork returns a session that starts from the state of s and has no edits of its own.
func (s *Session) Fork() *Session {
	fork := &Session{draft: s.draft, names: s.names, state: s.state.clone(), journal: journal{room: s.journal.room}}
	for i := range fork.state.levels[0] {
		fork.state.levels[0][i].placed = 0 // an edit of another log
	}
	return fork
}

// Draft returns the draft of the session.
func (s *Session) Draft() *labels.Draft { return s.draft }

// Levels returns the names of the levels, finest first.
func (s *Session) Levels() []string { return slices.Clone(s.names) }

// Version returns the number of edits of the session's log.
func (s *Session) Version() int { return len(s.edits) }

// Edits returns the edits of the session's log, reverted ones included.
func (s *Session) Edits() []Edit { return slices.Clone(s.edits) }

// Edit returns the edit with a number.
func (s *Session) Edit(seq int) Edit { return s.edits[seq-1] }

// StaleError says that an edit was made on another version than the current one, so
// that its author has to decide again.
type StaleError struct {
	Base, Version int // version that the edit was made on, Version the current one
}

// Error names the edit's version and the current one.
func (e *StaleError) Error() string {
	return fmt.Sprintf("the edit was made on version %d, but version %d is current; reload and decide again", e.Base,
		e.Version)
}

// Apply applies an edit. The error is a *StaleError unless its Base is the current
// version; everything it names must exist. Apply numbers the edit, checks that it is
// possible, and passes it to save (Log.Append, or nil). The edit takes effect only if
// save succeeds. After an error the session is as before.
func (s *Session) Apply(e Edit, save func(Edit) error) (Edit, error) {
	if e.Base != len(s.edits) {
		return e, &StaleError{Base: e.Base, Version: len(s.edits)}
	}
	e.Seq = len(s.edits) + 1
	s.edits = append(s.edits, e)
	changed, rollback, err := s.applyLast(&e)
	if err == nil && save != nil {
		if err = save(e); err != nil {
			rollback()
		}
	}
	if err != nil {
		s.edits = s.edits[:e.Seq-1]
		return e, fmt.Errorf("curate: edit %d: %w", e.Seq, err)
	}
	s.changed = changed
	s.journal.trim(s.state)
	if s.active = append(s.active, true); e.ofLog() {
		s.active = Active(s.edits)
	}
	return e, nil
}

// applyLast applies the edit at the end of the log. It returns the changed places and a
// function that rolls the edit back.
func (s *Session) applyLast(e *Edit) (changed []Place, rollback func(), err error) {
	if e.ofLog() {
		return s.revert(e)
	}
	if _, err := s.applyEdit(s.state.exact(), e); err != nil {
		return nil, nil, err
	}
	var seen priors
	for _, r := range s.journal.lastRecords() {
		seen.list = append(seen.list, prior{Place{r.level, int(r.at)}, r.before, !r.fresh})
	}
	return seen.changed(s.state), func() { s.journal.pop(s.state) }, nil
}

func (s *Session) finder() finder {
	if s.tolerant && s.tags == nil {
		s.tags = s.state.table()
	}
	return finder{s.state, s.tags}
}

// Active reports for each edit of a log whether it is in force: whether no Revert or Restore that
// is in force itself undoes it. No Restore undoes a Snapshot.
func Active(edits []Edit) []bool {
	on := make([]bool, len(edits))
	for i := range on {
		on[i] = true
	}
	for i := len(edits) - 1; i >= 0; i-- {
		if of := edits[i].Of; edits[i].Op == Revert && on[i] && of >= 1 && of <= i {
			on[of-1] = false
		}
		for k := edits[i].Of; edits[i].Op == Restore && on[i] && k < i; k++ {
			on[k] = edits[k].Op == Snapshot && on[k]
		}
	}
	return on
}

// TagState is the state of a tag.
type TagState struct {
	Ref
	Group     string // name of its group, "" for none
	Decided   bool   // set if a curator placed or dropped the tag
	Proposed  bool   // set if a proposal put the undecided tag into its group
	Dropped   bool   // set if the tag is left out of the hierarchy
	Reason    string // that of the drop
	Flagged   bool   // set if the tag is marked for another look
	Flag      string // reason of the flag
	Note      string // curator's last note
	Landmarks int    // number of landmarks that carry the tag
}

// Tag returns the state of tag i of the draft.
func (s *Session) Tag(i int) TagState {
	n := s.state.at(0, int32(i))
	t := TagState{Ref: n.Ref, Decided: n.decided, Proposed: n.proposed, Dropped: n.dropped, Reason: n.reason,
		Flagged: n.flagged, Flag: n.flag, Note: n.note, Landmarks: s.draft.Tags[i].Landmarks}
	if n.parent >= 0 {
		t.Group = s.state.at(1, n.parent).Name
	}
	return t
}

// Find returns the position of a tag in the draft.
func (s *Session) Find(r Ref) (int, bool) {
	i, ok := s.state.exact().find(0, r)
	return int(i), ok
}

// Group is a class of level 1 or coarser.
type Group struct {
	Name         string   // name of the group
	Parent       string   // name of its parent, "" for none
	Declared     bool     // set if an edit named the group; it then stays even without members
	Flagged      bool     // set if the group is marked for another look
	Flag         string   // reason of the flag
	Note         string   // curator's last note
	ExtraParents []string // names of its extra parents, besides Parent
	Members      []Ref    // its members at the next finer level, in the order of that level
	Decided      int      // number of members that a curator placed
}

// Groups returns the groups of a level in the order in which they arose: first the
// clusters of the draft, then those that edits made.
func (s *Session) Groups(level int) ([]Group, error) {
	if level < 1 || level >= len(s.names) {
		return nil, fmt.Errorf("curate: there is no level %d of groups; levels are %.80q", level, s.names)
	}
	place := make([]int, len(s.state.levels[level]))
	var groups []Group
	for i, n := range s.state.levels[level] {
		if n.gone {
			continue
		}
		g := Group{Name: n.Name, Declared: n.declared, Flagged: n.flagged, Flag: n.flag, Note: n.note,
			ExtraParents: s.state.besideParent(level, &n)}
		if n.parent >= 0 {
			g.Parent = s.state.at(level+1, n.parent).Name
		}
		place[i] = len(groups)
		groups = append(groups, g)
	}
	for _, n := range s.state.levels[level-1] {
		if n.parent < 0 || n.gone {
			continue
		}
		g := &groups[place[n.parent]]
		g.Members = append(g.Members, n.Ref)
		if n.decided {
			g.Decided++
		}
	}
	return groups, nil
}
