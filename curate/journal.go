package curate

import (
	"cmp"
	"fmt"
	"slices"
)

// A session changes its state in place. Before an edit changes a node, the node is
// recorded; the records of an edit are rolled back if it is refused or reverted. The
// cost of an edit or an undo therefore depends on the labels it names, not on the
// number of labels.

// record is a node before an edit changed it.
type record struct {
	level  int
	at     int32
	fresh  bool // the edit made the node
	before node
}

// begin starts recording an edit.
func (s *state) begin() {
	s.edit++
	s.records = s.records[:0]
	if s.stamps == nil {
		s.stamps = make([][]uint32, len(s.levels))
	}
	for l := range s.levels {
		s.stamps[l] = append(s.stamps[l], make([]uint32, len(s.levels[l])-len(s.stamps[l]))...)
	}
}

// change returns a node that is about to be changed, and records it at its first change
// by the current edit. Nothing is recorded before the first edit.
func (s *state) change(level int, i int32) *node {
	n := s.at(level, i)
	if s.edit > 0 && s.stamps[level][i] != s.edit {
		s.stamps[level][i] = s.edit
		s.records = append(s.records, record{level: level, at: i, before: *n})
	}
	return n
}

// undo rolls back the records of the latest edit. Names may have passed from one group
// to another, so it first removes all of them from the index.
func (s *state) undo(records []record) {
	for _, r := range records {
		if n := s.at(r.level, r.at); r.level > 0 && !n.gone {
			delete(s.index[r.level], n.Ref)
		}
	}
	for _, r := range slices.Backward(records) {
		if r.fresh {
			clear(s.levels[r.level][r.at:]) // lets the garbage collector free its texts
			s.levels[r.level], s.stamps[r.level] = s.levels[r.level][:r.at], s.stamps[r.level][:r.at]
			continue
		}
		*s.at(r.level, r.at) = r.before
		if r.level > 0 && !r.before.gone {
			s.index[r.level][r.before.Ref] = r.at
		}
	}
}

// step is an active edit with the records to roll it back.
type step struct {
	seq     int
	records []record
}

// journalRoom is the number of records that a session keeps: 16 MB, or 40,000 edits of
// one label. Reverting an older edit replays the log from the beginning.
const journalRoom = 1 << 17

// journal lists the active edits in order. Rolling back its last steps gives the state
// that a replay of the remaining ones would.
type journal struct {
	steps []step
	kept  int    // number of records of all steps
	room  int    // largest number of them, as journalRoom
	lost  int    // steps at the beginning whose records were dropped
	base  *state // before the first step; made when records are first dropped
}

// recordsKept is the capacity for records that one edit leaves to the next.
const recordsKept = 1 << 10

// push adds an edit that has just been done.
func (j *journal) push(seq int, s *state) {
	j.steps = append(j.steps, step{seq, slices.Clone(s.records)})
	j.kept += len(s.records)
	if s.records = s.records[:0]; cap(s.records) > recordsKept {
		s.records = nil
	}
}

// trim drops the oldest records if there are too many. Those of the latest edit are
// always kept.
func (j *journal) trim(s *state) {
	for j.kept > j.room && j.lost < len(j.steps)-1 {
		if j.base == nil {
			j.base = s.clone()
			j.base.begin()
			for _, done := range slices.Backward(j.steps) {
				j.base.undo(done.records)
			}
		}
		j.kept -= len(j.steps[j.lost].records)
		j.steps[j.lost].records = nil
		j.lost++
	}
}

// lastRecords returns the records of the latest edit.
func (j *journal) lastRecords() []record { return j.steps[len(j.steps)-1].records }

// pop rolls back the latest edit.
func (j *journal) pop(s *state) {
	last := len(j.steps) - 1
	s.undo(j.steps[last].records)
	j.kept -= len(j.steps[last].records)
	j.steps = j.steps[:last]
}

// initialState returns the state before all steps. The journal cannot be used afterwards.
func (j *journal) initialState(s *state) *state {
	if j.base != nil {
		return j.base
	}
	for len(j.steps) > 0 {
		j.pop(s)
	}
	return s
}

// Place is the position of a tag or a group.
type Place struct {
	Level, At int // level, 0 for tags, and At the position in it
}

// priors collects nodes as they were before an edit, each once.
type priors struct {
	list  []prior
	known [][]bool // places that are in the list, by level
}

// prior is a node before an edit; existed is false if the edit made it.
type prior struct {
	Place
	node
	existed bool
}

func (p *priors) add(level int, at int32, n node, existed bool) {
	for len(p.known) <= level {
		p.known = append(p.known, nil)
	}
	if more := int(at) + 1 - len(p.known[level]); more > 0 {
		p.known[level] = append(p.known[level], make([]bool, more)...)
	}
	if !p.known[level][at] {
		p.known[level][at] = true
		p.list = append(p.list, prior{Place{level, int(at)}, n, existed})
	}
}

// changed lists the places whose nodes differ from before, in order.
func (p *priors) changed(s *state) []Place {
	var places []Place
	for _, w := range p.list {
		if w.At < len(s.levels[w.Level]) && (!w.existed || *s.at(w.Level, int32(w.At)) != w.node) {
			places = append(places, w.Place)
		}
	}
	slices.SortFunc(places, func(a, b Place) int { return cmp.Or(cmp.Compare(a.Level, b.Level), cmp.Compare(a.At, b.At)) })
	return places
}

// applyEdit executes an edit of tags or groups. An edit that fails changes nothing.
func (s *Session) applyEdit(f finder, e *Edit) (Replayed, error) {
	s.state.begin()
	r, err := s.state.replayEdit(f, e)
	if err != nil {
		s.state.undo(s.state.records)
		s.state.records = s.state.records[:0]
		return r, err
	}
	s.journal.push(e.Seq, s.state)
	return r, nil
}

// repeatEdit repeats an edit of the log, as a replay does.
func (s *Session) repeatEdit(seq int) error {
	_, err := s.applyEdit(s.finder(), &s.edits[seq-1])
	if err != nil && s.tolerant { // a replay skips it as well
		s.journal.push(seq, s.state)
		return nil
	}
	return err
}

// revert applies e, the Revert, Snapshot or Restore at the end of the log. It rolls back to the first edit
// whose activity changes and repeats the active edits from there. It returns the
// changed places and a function that rolls the revert back.
func (s *Session) revert(e *Edit) (changed []Place, rollback func(), err error) {
	if err := e.Check(len(s.names)); err != nil {
		return nil, nil, err
	}
	switch {
	case e.Op == Snapshot:
		return nil, func() {}, nil
	case e.Of >= e.Seq:
		return nil, nil, fmt.Errorf("%s: no edit %d comes before this one", e.Op, e.Of)
	case e.Op == Restore && s.edits[e.Of-1].Op != Snapshot:
		return nil, nil, fmt.Errorf("restore: edit %d is no snapshot", e.Of)
	case e.Op == Revert && !s.active[e.Of-1]:
		return nil, nil, fmt.Errorf("revert: edit %d is already reverted", e.Of)
	}
	hold, same := s.activeEdits(), 0
	for same < min(len(hold), len(s.journal.steps)) && hold[same] == s.journal.steps[same].seq {
		same++
	}
	if same < s.journal.lost {
		return s.replayFromStart(e, hold)
	}
	var seen priors
	var undone []int
	for len(s.journal.steps) > same {
		top := s.journal.steps[len(s.journal.steps)-1]
		undone = append(undone, top.seq)
		for _, r := range top.records {
			seen.add(r.level, r.at, *s.state.at(r.level, r.at), true)
		}
		s.journal.pop(s.state)
	}
	rollback = func() {
		for len(s.journal.steps) > same {
			s.journal.pop(s.state)
		}
		for _, seq := range slices.Backward(undone) {
			if err := s.repeatEdit(seq); err != nil {
				panic(fmt.Sprintf("curate: edit %d was possible before and no longer is: %v", seq, err))
			}
		}
	}
	for _, seq := range hold[same:] {
		if err := s.repeatEdit(seq); err != nil {
			rollback()
			return nil, nil, neededError(e, seq, err)
		}
		for _, r := range s.journal.lastRecords() {
			seen.add(r.level, r.at, r.before, !r.fresh)
		}
	}
	return seen.changed(s.state), rollback, nil
}

// activeEdits lists the active edits of the log that are about tags or groups.
func (s *Session) activeEdits() []int {
	var hold []int
	for i, on := range Active(s.edits) {
		if on && !s.edits[i].ofLog() {
			hold = append(hold, i+1)
		}
	}
	return hold
}

// neededError returns the error for reverting an edit that a later one depends on.
func neededError(e *Edit, by int, err error) error {
	return fmt.Errorf("%s of edit %d: edit %d needs it: %w", e.Op, e.Of, by, err)
}

// replayFromStart replaces revert if the records do not reach back far enough. It repeats the
// active edits from the beginning.
func (s *Session) replayFromStart(e *Edit, hold []int) (changed []Place, rollback func(), err error) {
	now, old := s.state, s.journal
	rollback = func() { s.state, s.journal = now, old }
	s.state, s.journal = old.base.clone(), journal{room: old.room, base: old.base}
	for _, seq := range hold {
		if err := s.repeatEdit(seq); err != nil {
			rollback()
			return nil, nil, neededError(e, seq, err)
		}
		s.journal.trim(s.state)
	}
	for l, nodes := range s.state.levels {
		for i := range nodes {
			if i >= len(now.levels[l]) || nodes[i] != now.levels[l][i] {
				changed = append(changed, Place{l, i})
			}
		}
	}
	return changed, rollback, nil
}
