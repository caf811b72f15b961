package curate

import (
	"errors"
	"fmt"
)

// OnConflict says what a replay on another draft does with an edit that names a missing tag
// or group.
type OnConflict int

// Stop ends the replay with an error; Skip does what can be done and reports the
// rest.
const (
	Stop OnConflict = iota
	Skip
)

// ErrConflict is wrapped by the error of a replay that stops at a conflict. Callers can then
// offer to skip conflicts.
var ErrConflict = errors.New("conflict")

// Outcome is the result of an edit in a replay.
type Outcome string

// The outcomes. Partly means that some of the tags or groups of the edit were missing.
const (
	Applied     Outcome = "applied"
	AlreadyTrue Outcome = "already_true"
	Partly      Outcome = "partly"
	TargetGone  Outcome = "target_gone"
	Impossible  Outcome = "impossible" // such as a rename to a name that is taken
)

// Replayed is an edit that a replay could not apply in full.
type Replayed struct {
	Seq     int     `json:"seq"`               // its number in the log
	Op      Op      `json:"op"`                // its operation
	Outcome Outcome `json:"outcome"`           // what it did
	Missing []Ref   `json:"missing,omitempty"` // references that do not exist
	// Reason says why it is impossible.
	Reason string `json:"reason,omitempty"`
}

// Report counts the edits of a replay by outcome.
type Report struct {
	Edits       int `json:"edits"`        // number of edits of the log
	Applied     int `json:"applied"`      // number of edits that changed something
	AlreadyTrue int `json:"already_true"` // number of edits that had nothing to change
	Partly      int `json:"partly"`       // number of edits that did part of what they say
	TargetGone  int `json:"target_gone"`  // number of edits whose tags or groups are all missing
	Impossible  int `json:"impossible"`   // number of edits that could not be done
	// Reverted is the number of edits that are not in force, of Reverts, Snapshots and Restores, which a
	// replay leaves out.
	Reverted  int        `json:"reverted"`
	Proposed  int        `json:"proposed,omitempty"`  // number of tags that are proposed and not decided
	Conflicts []Replayed `json:"conflicts,omitempty"` // edits that were not done in full
	// Unassigned are the tags that no edit has decided; on a later draft these are its
	// new labels.
	Unassigned []Ref `json:"unassigned,omitempty"`
}

// Load replays a log on the draft that it was made for. An edit that is impossible is
// an error, because the log cannot belong to this draft. The session must not have
// edits yet.
func (s *Session) Load(edits []Edit) (Report, error) { return s.replay(edits, Stop, false) }

// Replay replays a log on another draft than its own. Tags are found by text and item.
// A text that has an item on one side only, or an item with another text, is the same
// tag if only one tag matches. With Stop the first conflict is an error that names the
// edit, and the session stays without edits; with Skip every edit does what it can.
func (s *Session) Replay(edits []Edit, o OnConflict) (Report, error) {
	return s.replay(edits, o, true)
}

func (s *Session) replay(edits []Edit, o OnConflict, tolerant bool) (Report, error) {
	if len(s.edits) > 0 {
		return Report{}, fmt.Errorf("curate: replay on a session that has %d edits; start a new one", len(s.edits))
	}
	if err := checkSequence(edits, len(s.names)); err != nil {
		return Report{}, fmt.Errorf("curate: %w", err)
	}
	s.edits, s.tolerant = edits[:len(edits):len(edits)], tolerant
	report, err := s.replayAll(o)
	if err != nil {
		s.state = s.journal.initialState(s.state)
		s.journal, s.edits, s.tolerant, s.tags = journal{room: s.journal.room}, nil, false, nil
		return report, err
	}
	s.active = Active(edits)
	report.Unassigned, report.Proposed = s.Undecided(), len(s.Proposed())
	return report, nil
}

// replayAll applies the active edits.
func (s *Session) replayAll(o OnConflict) (Report, error) {
	report := Report{Edits: len(s.edits)}
	for i, on := range Active(s.edits) {
		e := &s.edits[i]
		if !on || e.ofLog() {
			report.Reverted++
			continue
		}
		r, err := s.applyEdit(s.finder(), e)
		switch {
		case err != nil && !s.tolerant:
			return Report{}, fmt.Errorf("curate: edit %d: %w", e.Seq, err)
		case err != nil:
			s.journal.push(e.Seq, s.state)
		}
		s.journal.trim(s.state)
		report.count(r)
		if o == Stop && r.conflict() {
			return report, fmt.Errorf("curate: edit %d by %s: %s %w: %s", e.Seq, e.By, e.Op, ErrConflict, r.explain())
		}
	}
	return report, nil
}

// replayEdit applies an edit and reports what it changed.
func (s *state) replayEdit(f finder, e *Edit) (Replayed, error) {
	r := Replayed{Seq: e.Seq, Op: e.Op, Outcome: Applied}
	fx, err := s.apply(f, e)
	r.Missing = fx.missing
	switch {
	case err != nil:
		r.Outcome, r.Reason = Impossible, err.Error()
	case len(fx.missing) > 0 && fx.changed:
		r.Outcome = Partly
	case len(fx.missing) > 0:
		r.Outcome = TargetGone
	case !fx.changed:
		r.Outcome = AlreadyTrue
	}
	return r, err
}

func (r Replayed) conflict() bool { return r.Outcome != Applied && r.Outcome != AlreadyTrue }

func (r Replayed) explain() string {
	if r.Reason != "" {
		return r.Reason
	}
	if len(r.Missing) == 1 {
		return fmt.Sprintf("%v is not in this draft", r.Missing[0])
	}
	return fmt.Sprintf("%v and %d more are not in this draft", r.Missing[0], len(r.Missing)-1)
}

func (r *Report) count(one Replayed) {
	switch one.Outcome {
	case Applied:
		r.Applied++
	case AlreadyTrue:
		r.AlreadyTrue++
	case Partly:
		r.Partly++
	case TargetGone:
		r.TargetGone++
	case Impossible:
		r.Impossible++
	}
	if one.conflict() {
		r.Conflicts = append(r.Conflicts, one)
	}
}

// checkSequence checks the order of a log: numbers have no gaps, bases existed, and reverts
// refer to earlier edits.
func checkSequence(edits []Edit, levels int) error {
	for i := range edits {
		e := &edits[i]
		if err := e.Check(levels); err != nil {
			return fmt.Errorf("edit %d: %w", i+1, err)
		}
		switch {
		case e.Seq != i+1:
			return fmt.Errorf("edit %d is numbered %d", i+1, e.Seq)
		case e.Base < 0 || e.Base > i:
			return fmt.Errorf("edit %d was made on version %d, which did not exist", e.Seq, e.Base)
		case e.Of > i:
			return fmt.Errorf("edit %d, a %s, is about edit %d, which comes later", e.Seq, e.Op, e.Of)
		case e.Op == Restore && edits[e.Of-1].Op != Snapshot:
			return fmt.Errorf("edit %d restores edit %d, which is no snapshot", e.Seq, e.Of)
		}
	}
	return nil
}
