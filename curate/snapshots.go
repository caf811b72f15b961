package curate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"hgld/internal/terminal"
)

// Named is a snapshot of a log.
type Named struct {
	Seq   int       `json:"seq"`          // number of its edit
	Name  string    `json:"name"`         // its name
	At    time.Time `json:"at"`           // time at which it was made
	By    string    `json:"by,omitempty"` // name of the curator
	Edits int       `json:"edits"`        // number of edits of tags and groups that were in force
}

// Snapshots lists the snapshots of a log that are in force, oldest first.
func Snapshots(edits []Edit) []Named {
	list := []Named{}
	active := Active(edits)
	for i, e := range edits {
		if e.Op != Snapshot || !active[i] {
			continue
		}
		s := Named{Seq: e.Seq, Name: e.Note, At: e.At, By: e.By}
		for k, on := range Active(edits[:i]) {
			if on && !edits[k].ofLog() {
				s.Edits++
			}
		}
		list = append(list, s)
	}
	return list
}

// SnapshotsText writes snapshots as a table.
func SnapshotsText(list []Named) string {
	var b strings.Builder
	for _, s := range list {
		fmt.Fprintf(&b, "%4d  %s  %s  %q, %s in force\n", s.Seq, s.At.UTC().Format("2006-01-02 15:04:05"),
			terminal.Visible(cmp.Or(s.By, "(unknown)")), s.Name, terminal.Count(s.Edits, "edit"))
	}
	if len(list) == 0 {
		b.WriteString("no snapshots\n")
	}
	return b.String()
}

// TagChange is a tag whose state differs between two versions of a log.
type TagChange struct {
	Tag int `json:"tag"` // its position in the draft
	// Was says where it was: a group, "(dropped)", or "(none)"; followed by " (open)" if no curator had decided it.
	Was string `json:"was"`
	// Is says the same of where it is.
	Is string `json:"is"`
}

// ChangesBetween lists the tags whose groups or decisions differ between those after edit from and those after edit to,
// which may be the earlier one; most landmarks first.
func (s *Session) ChangesBetween(from, to int) ([]TagChange, error) {
	past, now, err := s.statesAt(from, to)
	if err != nil {
		return nil, err
	}
	list := []TagChange{}
	for i := range s.state.levels[0] {
		if was, is := past.standing(i), now.standing(i); was != is {
			list = append(list, TagChange{Tag: i, Was: was, Is: is})
		}
	}
	slices.SortStableFunc(list, func(x, y TagChange) int {
		return cmp.Compare(s.draft.Tags[y.Tag].Landmarks, s.draft.Tags[x.Tag].Landmarks)
	})
	return list, nil
}

// ChangesText lists changes of tags of the session's draft with their landmarks, one to a line.
func (s *Session) ChangesText(list []TagChange) string {
	var b strings.Builder
	for _, c := range list {
		t := s.draft.Tags[c.Tag]
		fmt.Fprintf(&b, "%8d  %v: %s -> %s\n", t.Landmarks, Ref{t.Name, t.QID}, standingText(c.Was), standingText(c.Is))
	}
	return b.String()
}

// standingText puts the group of a standing in quotes.
func standingText(standing string) string {
	where, open := strings.CutSuffix(standing, isOpen)
	if where != nowhere {
		where = quoted(where)
	}
	if open {
		where += isOpen
	}
	return where
}

// RestoreEffect says what a Restore of the snapshot of edit number of would do at the end of a log: how many
// edits of tags and groups it takes out of force, and how many that were undone since then it brings back.
func RestoreEffect(edits []Edit, of int) (lost, back int) {
	before := Active(edits)
	for i, on := range Active(append(slices.Clone(edits), Edit{Op: Restore, Of: of}))[:len(edits)] {
		switch {
		case edits[i].ofLog() || on == before[i]:
		case on:
			back++
		default:
			lost++
		}
	}
	return lost, back
}

// isOpen ends the standing of a tag that no curator has decided, and nowhere is that of one without a group.
const isOpen, nowhere = " (open)", "(none)"

// standing says where a tag is, as TagChange does.
func (s *state) standing(tag int) string {
	n := s.at(0, int32(tag))
	where := nowhere
	switch {
	case n.dropped:
		where = Category{Dropped: true}.String()
	case n.parent >= 0:
		where = s.at(1, n.parent).Name
	}
	if !n.decided {
		where += isOpen
	}
	return where
}

// statesAt returns the states after two edits of the log, as stateAt does.
func (s *Session) statesAt(from, to int) (past, now *state, err error) {
	if past, err = s.stateAt(from); err == nil {
		now, err = s.stateAt(to)
	}
	return past, now, err
}

// stateAt returns the state after an edit of the log, which the caller must not change.
func (s *Session) stateAt(version int) (*state, error) {
	switch {
	case version < 0 || version > len(s.edits):
		return nil, fmt.Errorf("curate: there is no version %d; the log has %d edits", version, len(s.edits))
	case version == len(s.edits):
		return s.state, nil
	}
	now := s.finder() // it makes the table of a tolerant session
	var hold []int
	for i, on := range Active(s.edits[:version]) {
		if on && !s.edits[i].ofLog() {
			hold = append(hold, i+1)
		}
	}
	steps, same := s.journal.steps, 0
	for same < min(len(hold), len(steps)) && hold[same] == steps[same].seq {
		same++
	}
	var past *state
	if same < s.journal.lost {
		past, same = s.journal.base.clone(), 0
		past.begin()
	} else {
		past = s.state.clone()
		past.begin()
		for _, done := range slices.Backward(steps[same:]) {
			past.undo(done.records)
		}
	}
	for _, seq := range hold[same:] {
		past.begin()
		if _, err := past.replayEdit(finder{past, now.tags}, &s.edits[seq-1]); err != nil {
			if !s.tolerant {
				return nil, fmt.Errorf("curate: edit %d: %w", seq, err)
			}
			past.undo(past.records)
		}
	}
	return past, nil
}
