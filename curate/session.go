package curate

import (
	"fmt"
	"slices"

	"hgld/labels"
)

// Session is a draft with edits replayed on it. It belongs to one log: its
// version is the number of that log's edits. A session may begin where another
// one stands (Above), as that of an adjudicator does.
//
// A Session is not safe for use by several goroutines.
type Session struct {
	draft    *labels.Draft
	names    []string // of the levels
	base     *state   // before the log's edits
	now      *state
	edits    []Edit
	tolerant bool // the log was made for another draft
}

// NewSession starts a session on a draft, with the levels of a log's header;
// without any, DefaultLevels.
func NewSession(d *labels.Draft, levels []string) (*Session, error) {
	if len(levels) == 0 {
		levels = DefaultLevels
	}
	if len(levels) < 2 {
		return nil, fmt.Errorf("curate: levels %q; want tags and at least one level of groups", levels)
	}
	if err := d.Check(); err != nil {
		return nil, fmt.Errorf("curate: draft: %w", err)
	}
	s := &Session{draft: d, names: slices.Clone(levels), base: newState(d, len(levels))}
	s.now = s.base.clone()
	return s, nil
}

// Above returns a session that begins where s stands, with no edits of its own.
func (s *Session) Above() *Session {
	return &Session{draft: s.draft, names: s.names, base: s.now.clone(), now: s.now.clone()}
}

// Draft returns the draft below the session.
func (s *Session) Draft() *labels.Draft { return s.draft }

// Levels returns the names of the levels, finest first.
func (s *Session) Levels() []string { return slices.Clone(s.names) }

// Version is the number of edits of the session's log.
func (s *Session) Version() int { return len(s.edits) }

// Edits returns the edits of the session's log, reverted ones included.
func (s *Session) Edits() []Edit { return slices.Clone(s.edits) }

// StaleError says that an edit was made on another version than the current one:
// its author has to look again.
type StaleError struct{ Base, Version int }

// Error gives the version that the edit was made on and that of now.
func (e *StaleError) Error() string {
	return fmt.Sprintf("the edit was made on version %d, but version %d is current; reload and decide again", e.Base, e.Version)
}

// Apply does an edit. Its Base must be the current version, or the error is a
// *StaleError; what it names must exist. Apply numbers the edit and, when it has
// been found possible, hands it to save (as Log.Append), which may be nil; only
// if save succeeds does it take effect. After an error the session is as before.
func (s *Session) Apply(e Edit, save func(Edit) error) (Edit, error) {
	if e.Base != len(s.edits) {
		return e, &StaleError{Base: e.Base, Version: len(s.edits)}
	}
	e.Seq = len(s.edits) + 1
	edits := append(slices.Clip(s.edits), e)
	var next *state
	var err error
	if e.Op == Revert {
		next, err = s.without(edits)
	} else {
		next = s.now.clone()
		_, err = next.apply(next.exact(), &e)
	}
	if err == nil && save != nil {
		err = save(e)
	}
	if err != nil {
		return e, fmt.Errorf("curate: edit %d: %w", e.Seq, err)
	}
	s.now, s.edits = next, edits
	return e, nil
}

// without replays edits, the last of which is a Revert, on the base.
func (s *Session) without(edits []Edit) (*state, error) {
	last := &edits[len(edits)-1]
	if err := last.Check(len(s.names)); err != nil {
		return nil, err
	}
	if last.Of >= last.Seq {
		return nil, fmt.Errorf("revert: there is no edit %d before it", last.Of)
	}
	if !Active(edits[:len(edits)-1])[last.Of-1] {
		return nil, fmt.Errorf("revert: edit %d is reverted already", last.Of)
	}
	next := s.base.clone()
	f := s.finder(next)
	for i, on := range Active(edits) {
		if !on || edits[i].Op == Revert {
			continue
		}
		if _, err := next.one(f, &edits[i]); err != nil && !s.tolerant {
			return nil, fmt.Errorf("revert of edit %d: edit %d needs it: %w", last.Of, edits[i].Seq, err)
		}
	}
	return next, nil
}

func (s *Session) finder(on *state) finder {
	if s.tolerant {
		return on.tolerant()
	}
	return on.exact()
}

// Active says of each edit of a log whether it holds: whether no later Revert
// that holds itself takes it back.
func Active(edits []Edit) []bool {
	on := make([]bool, len(edits))
	for i := range on {
		on[i] = true
	}
	for i := len(edits) - 1; i >= 0; i-- {
		if of := edits[i].Of; edits[i].Op == Revert && on[i] && of >= 1 && of <= i {
			on[of-1] = false
		}
	}
	return on
}

// TagState is where a tag is.
type TagState struct {
	Ref
	Group     string // "" for none
	Decided   bool   // a curator put it there, or dropped it
	Dropped   bool
	Reason    string // of the drop
	Flagged   bool
	Flag      string // reason of the flag
	Note      string
	Landmarks int
}

// Tag returns the state of tag i of the draft.
func (s *Session) Tag(i int) TagState {
	n := s.now.at(0, int32(i))
	t := TagState{Ref: n.Ref, Decided: n.decided, Dropped: n.dropped, Reason: n.reason,
		Flagged: n.flagged, Flag: n.flag, Note: n.note, Landmarks: s.draft.Tags[i].Landmarks}
	if n.parent >= 0 {
		t.Group = s.now.at(1, n.parent).Name
	}
	return t
}

// Find returns the position of a tag in the draft.
func (s *Session) Find(r Ref) (int, bool) {
	i, ok := s.now.exact().find(0, r)
	return int(i), ok
}

// Group is a class of level 1 or coarser.
type Group struct {
	Name     string
	Parent   string // "" for none
	Declared bool   // an edit named it; it stays even without members
	Flagged  bool
	Flag     string
	Note     string
	Members  []Ref // of the next finer level, in its order
	Decided  int   // of the members, tags that a curator put there
}

// Groups returns the groups of a level in the order they came up: the clusters
// of the draft, then what edits made.
func (s *Session) Groups(level int) ([]Group, error) {
	if level < 1 || level >= len(s.names) {
		return nil, fmt.Errorf("curate: there is no level %d of groups; levels are %q", level, s.names)
	}
	place := make([]int, len(s.now.levels[level]))
	var groups []Group
	for i, n := range s.now.levels[level] {
		if n.gone {
			continue
		}
		g := Group{Name: n.Name, Declared: n.declared, Flagged: n.flagged, Flag: n.flag, Note: n.note}
		if n.parent >= 0 {
			g.Parent = s.now.at(level+1, n.parent).Name
		}
		place[i] = len(groups)
		groups = append(groups, g)
	}
	for _, n := range s.now.levels[level-1] {
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
