// Package curate is stage 3 of hgld. It reads draft.json, the clusters of stage 2, and
// edits.jsonl, a log of the edits that a curator made to them. It writes hierarchy.json,
// the curated classes.
//
// The log is the source of truth. A Session is a draft with the edits replayed on it,
// and changes only by appending an Edit. Edits refer to tags by text and Wikidata item
// and to groups by name, never by position, so a log can be replayed on the draft of a
// later scrape. A Curation replays several logs: those of some curators and of the
// adjudicator between them.
//
// A hierarchy has levels, finest first: tags, their groups (supercategories), and the
// parents of the groups (kinds). The header of the log lists them, so their number is
// not fixed.
package curate

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// DefaultLevels are the levels of a log whose header names none.
var DefaultLevels = []string{"tag", "supercategory", "kind"}

// Kinds are the default parents of supercategories.
var Kinds = []string{"natural", "human-made"}

// Op is what an edit does.
type Op string

// The operations. Level is that of From: 0 for tags, 1 for groups of tags, and so on. A
// group that To names is made if it does not exist.
const (
	// Accept confirms that the tags From are in the group To; Move puts them there. Both
	// decide the tags and have the same result. They record what the curator saw: on
	// another draft an accepted tag may have to be moved.
	Accept Op = "accept"
	Move   Op = "move"
	// Rename gives the group From the name To, which no other group may have.
	Rename Op = "rename"
	// Merge puts the members of the groups From into the group To, which may be one of
	// them; the others are gone. A new group gets the parent that they share. With Parts it makes several
	// merges at once, each of the groups Members into the group To.
	Merge Op = "merge"
	// Split divides the group From into Parts, which list all its members, so that a
	// replay does not run k-means. New parts get the group's parent. It decides no tag.
	Split Op = "split"
	// SetParent puts the groups From under To, a class of the next coarser level; an
	// empty To removes the parent. A group that does not exist is declared.
	SetParent Op = "set_parent"
	// ExtraParent says that the classes From belong to the class To as well: an extra parent, besides that of the
	// tree. It decides no tag. An empty To takes all extra parents of From away.
	ExtraParent Op = "also"
	// Drop leaves the tags From out of the hierarchy and decides them; Note says why.
	Drop Op = "drop"
	// Propose puts the tags of Parts into their groups without deciding them. A decided
	// tag cannot be proposed. A part without a group proposes to drop its tags.
	Propose Op = "propose"
	// Confirm decides the tags of Parts in their groups, proposed or not: one Accept for
	// several groups, and a Drop for a part without one. A Note says that a curator has looked at them.
	Confirm Op = "confirm"
	// Withdraw takes the proposed tags From back to where they were before the proposal.
	// Tags that are not proposed stay. A Note says that a curator has looked at them and
	// what is wrong.
	Withdraw Op = "withdraw"
	// Flag marks From for another look; Note says why. On what is flagged, it is a reply. With
	// Resolved it ends the flag, and Note is the answer.
	Flag Op = "flag"
	// Note adds a note to those of each of From; an empty one removes all of them. The last one stands in the
	// hierarchy.
	Note Op = "note"
	// Revert undoes the edit whose Seq is Of, as if it had never been made. Later edits
	// must be possible without it. Reverting a Revert restores the edit.
	Revert Op = "revert"
	// Snapshot gives the present state the name Note. It changes nothing.
	Snapshot Op = "snapshot"
	// Restore brings back the state of the Snapshot whose Seq is Of: no edit between the two is in force. Reverting
	// it brings them back.
	Restore Op = "restore"
)

// Ops lists every operation.
var Ops = []Op{Accept, Move, Rename, Merge, Split, SetParent, ExtraParent, Drop, Propose, Confirm, Withdraw, Flag, Note,
	Revert, Snapshot, Restore}

// Ref refers to a tag by its text, byte for byte, and its Wikidata item if that is
// known, or to a group by its name.
type Ref struct {
	Name string `json:"name"`          // text of a tag or the name of a group
	QID  string `json:"qid,omitempty"` // Wikidata item of a tag, such as "Q16970"; "" for none
}

// String returns the quoted name, with the item in parentheses if there is one.
func (r Ref) String() string {
	if r.QID == "" {
		return fmt.Sprintf("%.80q", r.Name)
	}
	return fmt.Sprintf("%.80q (%s)", r.Name, r.QID)
}

// Part is one group that a Split results in, that a Propose or a Confirm puts tags into, or that a Merge puts
// groups into.
type Part struct {
	To      string `json:"to"`      // name of the group; "" for dropping
	Members []Ref  `json:"members"` // all its members after a Split, or the tags or groups that go there
	// Scores say of each member of a Propose how surely it belongs there; larger is surer. They
	// may be missing.
	Scores []float64 `json:"scores,omitempty"`
	// Reasons say of each member of a Propose why it belongs there, "" for no reason. They may be missing.
	Reasons []string `json:"reasons,omitempty"`
}

// Edit is one decision of a curator and one line of the log.
type Edit struct {
	Seq   int       `json:"seq"`             // its number in the log, from 1
	Base  int       `json:"base"`            // version that its author saw: a number of edits
	At    time.Time `json:"at"`              // time of the edit
	By    string    `json:"by"`              // name of the curator
	Op    Op        `json:"op"`              // operation
	Level int       `json:"level,omitempty"` // level of From
	From  []Ref     `json:"from,omitempty"`  // tags or groups that the edit is about
	To    string    `json:"to,omitempty"`    // name of the group that they go to
	Parts []Part    `json:"parts,omitempty"` // parts of a Split, Propose, Confirm, or a Merge of several groups
	// Of is the number of the edit that a Revert undoes, or of the Snapshot that a Restore brings back.
	Of   int    `json:"of,omitempty"`
	Note string `json:"note,omitempty"` // a note or a reason
	// Resolved is set for a Flag that ends one. A reader that does not know the field keeps it, and
	// shows the flag as open.
	Resolved bool `json:"resolved,omitempty"`

	// Rule is a regular expression of a Move or a Drop: on another draft, the edit decides the open tags that it finds,
	// too.
	Rule string `json:"rule,omitempty"`

	// Extra holds the fields of a newer minor version, which are kept on rewriting.
	Extra map[string]json.RawMessage `json:"-"`
}

// Check returns an error if an edit is wrong in itself, whatever it is applied to, in a
// hierarchy with the given number of levels.
func (e *Edit) Check(levels int) error {
	if !slices.Contains(Ops, e.Op) {
		return fmt.Errorf("unknown operation %.80q", e.Op)
	}
	if err := cmp.Or(e.checkNames(), e.checkRule()); err != nil {
		return err
	}
	if e.ofLog() {
		return e.checkOfLog()
	}
	if e.Of != 0 {
		return fmt.Errorf("%s has the number of an edit (%d), but only revert and restore take one", e.Op, e.Of)
	}
	if e.Resolved && e.Op != Flag {
		return fmt.Errorf("%s is resolved, but only a flag can be", e.Op)
	}
	switch {
	case e.byParts() && len(e.From) > 0:
		return fmt.Errorf("%s names tags that are not in its parts", e.Op)
	case !e.byParts() && len(e.From) == 0 && e.Rule == "":
		return fmt.Errorf("%s names no tag or group", e.Op)
	case (e.Op == Split || e.byParts()) != (len(e.Parts) > 0):
		return fmt.Errorf("%s with %d parts; only split, propose and confirm have parts, and merge can", e.Op, len(e.Parts))
	}
	return e.checkShape(levels)
}

// ofLog reports whether an edit is about the log, and not about tags or groups.
func (e *Edit) ofLog() bool { return e.Op == Revert || e.Op == Snapshot || e.Op == Restore }

func (e *Edit) checkOfLog() error {
	switch {
	case len(e.From) > 0 || e.To != "" || len(e.Parts) > 0 || e.Level != 0 || e.Resolved:
		return fmt.Errorf("%s names tags or groups, but takes none", e.Op)
	case e.Op == Snapshot && (e.Note == "" || e.Of != 0):
		return errors.New("snapshot takes a name, in the note, and nothing else")
	case e.Op != Snapshot && e.Of < 1:
		return fmt.Errorf("%s takes the number of an edit", e.Op)
	}
	return nil
}

// byParts reports whether all references of an edit are in its Parts.
func (e *Edit) byParts() bool {
	return e.Op == Propose || e.Op == Confirm || e.Op == Merge && len(e.Parts) > 0
}

// checkShape checks the fields that the operation takes.
func (e *Edit) checkShape(levels int) error {
	low, high := 0, levels-1
	needsTo := false
	switch e.Op {
	case Accept, Move:
		high, needsTo = 0, true
	case Drop, Propose, Confirm, Withdraw:
		high = 0
	case Rename:
		low, needsTo = 1, true
	case Merge:
		low, needsTo = 1, len(e.Parts) == 0
	case Split:
		low = 1
	case SetParent:
		low, high = 1, levels-2
	case ExtraParent:
		high = levels - 2
	}
	switch {
	case e.Level < low || e.Level > high:
		return fmt.Errorf("%s at level %d; in a hierarchy of %d levels want level %d to %d", e.Op, e.Level, levels, low, high)
	case needsTo && e.To == "":
		return fmt.Errorf("%s without the name of a target", e.Op)
	case e.To != "" && !needsTo && e.Op != SetParent && e.Op != ExtraParent:
		return fmt.Errorf("%s takes no target; got %.80q", e.Op, e.To)
	case (e.Op == Rename || e.Op == Split) && len(e.From) != 1:
		return fmt.Errorf("%s takes one group; got %d", e.Op, len(e.From))
	}
	return nil
}

// checkNames returns an error for repeated names and for text that the log cannot store.
func (e *Edit) checkNames() error {
	if err := e.checkRefs(e.From, map[Ref]bool{}); err != nil {
		return err
	}
	members, parts := map[Ref]bool{}, map[string]bool{}
	for _, p := range e.Parts {
		if p.To == "" && e.Op != Propose && e.Op != Confirm || parts[p.To] || len(p.Members) == 0 {
			return fmt.Errorf("part %.80q: every part needs a unique name and members", p.To)
		}
		parts[p.To] = true
		if len(p.Scores) > 0 && (e.Op != Propose || len(p.Scores) != len(p.Members)) {
			return fmt.Errorf("%s: part %.80q has %d scores of %d members; only a propose has scores, one for each", e.Op, p.To,
				len(p.Scores), len(p.Members))
		}
		if len(p.Reasons) > 0 && (e.Op != Propose || len(p.Reasons) != len(p.Members)) {
			return fmt.Errorf("%s: part %.80q has %d reasons of %d members; only a propose has reasons, one for each",
				e.Op, p.To,
				len(p.Reasons), len(p.Members))
		}
		if slices.ContainsFunc(p.Reasons, func(r string) bool { return !readable(r) }) {
			return fmt.Errorf("%s: a reason of %.80q is not UTF-8 or holds a NUL", e.Op, p.To)
		}
		if !readable(p.To) {
			return fmt.Errorf("%s: %.80q is not UTF-8 or holds a NUL", e.Op, p.To)
		}
		if err := e.checkRefs(p.Members, members); err != nil {
			return err
		}
	}
	for _, t := range [...]string{e.By, e.To, e.Note} {
		if !readable(t) {
			return fmt.Errorf("%s: %.80q is not UTF-8 or holds a NUL", e.Op, t)
		}
	}
	return nil
}

func (e *Edit) checkRefs(refs []Ref, seen map[Ref]bool) error {
	for _, r := range refs {
		switch {
		case r.Name == "":
			return fmt.Errorf("%s: a name is empty", e.Op)
		case seen[r]:
			return fmt.Errorf("%s: %v is repeated", e.Op, r)
		case !readable(r.Name) || !readable(r.QID):
			return fmt.Errorf("%s: %v is not UTF-8 or holds a NUL", e.Op, r)
		}
		seen[r] = true
	}
	return nil
}

func readable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsRune(text, 0)
}
