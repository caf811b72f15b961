package curate

import (
	"cmp"
	"fmt"
	"slices"
)

// A session changes its state in place. Before an edit changes a node it records
// how that stood; the records of an edit take it back, when it is refused or
// reverted. What it costs to make or undo an edit therefore depends on what the
// edit names, and not on how many labels there are.

// record is a node as it stood before an edit.
type record struct {
	level  int
	at     int32
	fresh  bool // there was none
	before node
}

// begin starts the records of an edit.
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

// change returns a node that is about to be changed. The first time that an edit
// does so is recorded; before the first edit nothing is.
func (s *state) change(level int, i int32) *node {
	n := s.at(level, i)
	if s.edit > 0 && s.stamps[level][i] != s.edit {
		s.stamps[level][i] = s.edit
		s.records = append(s.records, record{level: level, at: i, before: *n})
	}
	return n
}

// undo takes back what records tell, all those of the latest edit. Names may
// have gone from one group to another, so first all of them are given up.
func (s *state) undo(records []record) {
	for _, r := range records {
		if n := s.at(r.level, r.at); r.level > 0 && !n.gone {
			delete(s.index[r.level], n.Ref)
		}
	}
	for _, r := range slices.Backward(records) {
		if r.fresh {
			clear(s.levels[r.level][r.at:]) // its texts can be swept
			s.levels[r.level], s.stamps[r.level] = s.levels[r.level][:r.at], s.stamps[r.level][:r.at]
			continue
		}
		*s.at(r.level, r.at) = r.before
		if r.level > 0 && !r.before.gone {
			s.index[r.level][r.before.Ref] = r.at
		}
	}
}

// step is an edit that holds, with what takes it back.
type step struct {
	seq     int
	records []record
}

// journalRoom is how many records a session keeps: 16 MB, or 40,000 edits of one
// label. What is older is done again from the beginning when it is reverted.
const journalRoom = 1 << 17

// journal is the edits that hold, in order: each prefix of it is a state that the
// session has been in, and replay would give.
type journal struct {
	steps []step
	kept  int    // records of all steps
	room  int    // most of them, as journalRoom
	lost  int    // steps at the beginning whose records are gone
	base  *state // before the first step; made when records are given up
}

// recordsKept is how much room for records one edit leaves to the next.
const recordsKept = 1 << 10

// push adds an edit that has just been done.
func (j *journal) push(seq int, s *state) {
	j.steps = append(j.steps, step{seq, slices.Clone(s.records)})
	j.kept += len(s.records)
	if s.records = s.records[:0]; cap(s.records) > recordsKept {
		s.records = nil
	}
}

// trim gives the oldest records up where there are too many; the latest edit can
// always be taken back.
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

// last returns the records of the latest edit.
func (j *journal) last() []record { return j.steps[len(j.steps)-1].records }

// pop takes the latest edit back.
func (j *journal) pop(s *state) {
	last := len(j.steps) - 1
	s.undo(j.steps[last].records)
	j.kept -= len(j.steps[last].records)
	j.steps = j.steps[:last]
}

// first returns the state before all steps; the journal is of no use afterwards.
func (j *journal) first(s *state) *state {
	if j.base != nil {
		return j.base
	}
	for len(j.steps) > 0 {
		j.pop(s)
	}
	return s
}

// Place is where a tag or a group stands: its level, and its place there.
type Place struct{ Level, At int }

// priors gathers how nodes stood before an edit, each once.
type priors struct {
	list  []prior
	known [][]bool // places in the list, by level
}

// prior is how a node stood; without existed there was none.
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

// changed lists the places whose nodes differ from what they were, in order.
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

// do does an edit other than Revert; one that is refused leaves nothing behind.
func (s *Session) do(f finder, e *Edit) (Replayed, error) {
	s.now.begin()
	r, err := s.now.one(f, e)
	if err != nil {
		s.now.undo(s.now.records)
		s.now.records = s.now.records[:0]
		return r, err
	}
	s.journal.push(e.Seq, s.now)
	return r, nil
}

// again does an edit of the log once more, as replay does.
func (s *Session) again(seq int) error {
	_, err := s.do(s.finder(), &s.edits[seq-1])
	if err != nil && s.tolerant { // replay skips it, too
		s.journal.push(seq, s.now)
		return nil
	}
	return err
}

// revert makes the state that of the edits that hold once e, the Revert at the
// end of the log, stands: it goes back to the first edit that no longer holds, or
// holds again, and does those behind it once more. It returns what that changed
// and what takes it back.
func (s *Session) revert(e *Edit) (changed []Place, rollback func(), err error) {
	if err := e.Check(len(s.names)); err != nil {
		return nil, nil, err
	}
	switch {
	case e.Of >= e.Seq:
		return nil, nil, fmt.Errorf("revert: there is no edit %d before it", e.Of)
	case !s.active[e.Of-1]:
		return nil, nil, fmt.Errorf("revert: edit %d is reverted already", e.Of)
	}
	hold, same := s.holding(), 0
	for same < min(len(hold), len(s.journal.steps)) && hold[same] == s.journal.steps[same].seq {
		same++
	}
	if same < s.journal.lost {
		return s.startOver(e, hold)
	}
	var seen priors
	var undone []int
	for len(s.journal.steps) > same {
		top := s.journal.steps[len(s.journal.steps)-1]
		undone = append(undone, top.seq)
		for _, r := range top.records {
			seen.add(r.level, r.at, *s.now.at(r.level, r.at), true)
		}
		s.journal.pop(s.now)
	}
	rollback = func() {
		for len(s.journal.steps) > same {
			s.journal.pop(s.now)
		}
		for _, seq := range slices.Backward(undone) {
			if err := s.again(seq); err != nil {
				panic(fmt.Sprintf("curate: edit %d was possible and is no longer: %v", seq, err))
			}
		}
	}
	for _, seq := range hold[same:] {
		if err := s.again(seq); err != nil {
			rollback()
			return nil, nil, needed(e, seq, err)
		}
		for _, r := range s.journal.last() {
			seen.add(r.level, r.at, r.before, !r.fresh)
		}
	}
	return seen.changed(s.now), rollback, nil
}

// holding lists the edits of the log that hold, without the Reverts.
func (s *Session) holding() []int {
	var hold []int
	for i, on := range Active(s.edits) {
		if on && s.edits[i].Op != Revert {
			hold = append(hold, i+1)
		}
	}
	return hold
}

// needed says that an edit cannot be reverted because a later one needs it.
func needed(e *Edit, by int, err error) error {
	return fmt.Errorf("revert of edit %d: edit %d needs it: %w", e.Of, by, err)
}

// startOver is revert where the records do not reach back far enough: the edits
// that hold are done again from the beginning.
func (s *Session) startOver(e *Edit, hold []int) (changed []Place, rollback func(), err error) {
	now, old := s.now, s.journal
	rollback = func() { s.now, s.journal = now, old }
	s.now, s.journal = old.base.clone(), journal{room: old.room, base: old.base}
	for _, seq := range hold {
		if err := s.again(seq); err != nil {
			rollback()
			return nil, nil, needed(e, seq, err)
		}
		s.journal.trim(s.now)
	}
	for l, nodes := range s.now.levels {
		for i := range nodes {
			if i >= len(now.levels[l]) || nodes[i] != now.levels[l][i] {
				changed = append(changed, Place{l, i})
			}
		}
	}
	return changed, rollback, nil
}
