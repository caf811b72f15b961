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
	// Seq is the number of its edit.
	Seq int `json:"seq"`
	// Name is its name.
	Name string `json:"name"`
	// At is the time at which it was made.
	At time.Time `json:"at"`
	// By is the name of the curator.
	By string `json:"by,omitempty"`
	// Edits is the number of edits of tags and groups that were in force.
	Edits int `json:"edits"`
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
	// Tag is its position in the draft.
	Tag int `json:"tag"`
	// Was says where it was: a group, "(dropped)", or "(none)"; followed by " (open)" if no curator had decided it.
	Was string `json:"was"`
	// Is says the same of where it is.
	Is string `json:"is"`
}

// ChangesSince lists the tags whose groups or decisions differ from those after edit version of the log, most
// landmarks first.
func (s *Session) ChangesSince(version int) ([]TagChange, error) {
	if version < 0 || version > len(s.edits) {
		return nil, fmt.Errorf("curate: there is no version %d; the log has %d edits", version, len(s.edits))
	}
	past, err := s.stateAt(version)
	if err != nil {
		return nil, err
	}
	list := []TagChange{}
	for i := range s.state.levels[0] {
		if was, is := past.standing(i), s.state.standing(i); was != is {
			list = append(list, TagChange{Tag: i, Was: was, Is: is})
		}
	}
	slices.SortStableFunc(list, func(x, y TagChange) int {
		return cmp.Compare(s.draft.Tags[y.Tag].Landmarks, s.draft.Tags[x.Tag].Landmarks)
	})
	return list, nil
}

// standing says where a tag is, as TagChange does.
func (s *state) standing(tag int) string {
	n := s.at(0, int32(tag))
	where := "(none)"
	switch {
	case n.dropped:
		where = Category{Dropped: true}.String()
	case n.parent >= 0:
		where = s.at(1, n.parent).Name
	}
	if !n.decided {
		where += " (open)"
	}
	return where
}

// stateAt returns the state after an edit of the log.
func (s *Session) stateAt(version int) (*state, error) {
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
