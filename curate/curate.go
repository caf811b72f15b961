// Package curate is stage 3 of hgld: it reads draft.json, the clusters of stage
// 2, and edits.jsonl, what a curator did to them, and writes hierarchy.json, the
// curated classes.
//
// The log of edits is the truth: a Session is a draft with the edits replayed on
// it, and nothing is ever changed but by appending an Edit. Edits name tags by
// text and Wikidata item and groups by name, never by position, so a log can be
// replayed on the draft of a later scrape.
//
// A hierarchy has levels, finest first: tags, the groups that they are in
// (supercategories), and what these belong to (kinds). The number of levels is
// data: it stands in the header of the log.
package curate

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// DefaultLevels names the levels of a log that names none.
var DefaultLevels = []string{"tag", "supercategory", "kind"}

// Kinds are the parents that supercategories have by default.
var Kinds = []string{"natural", "human-made"}

// Op is what an edit does.
type Op string

// The operations. Level says where From is: 0 tags, 1 groups of tags, and so on.
// A group that To names and that does not exist is made.
const (
	// Accept confirms that the tags From are in the group To, and Move puts them
	// there; both decide the tags. They differ in what the curator saw, not in what
	// results: on another draft an accepted tag may have to be moved.
	Accept Op = "accept"
	Move   Op = "move"
	// Rename gives the group From the name To, which no other group may have.
	Rename Op = "rename"
	// Merge puts all that the groups From hold into the group To, which may be one
	// of them; the others are gone. A new group gets the parent that they share.
	Merge Op = "merge"
	// Split divides the group From into Parts, which list all its members; replay
	// never clusters anew. New parts get the group's parent. It decides no tag.
	Split Op = "split"
	// SetParent puts the groups From under To, a class of the next coarser level;
	// an empty To takes the parent away. A group that does not exist is declared.
	SetParent Op = "set_parent"
	// Drop leaves the tags From out of the hierarchy and decides them; Note says
	// why.
	Drop Op = "drop"
	// Flag marks From for another look; Note says why.
	Flag Op = "flag"
	// Note replaces the note of each of From; an empty one erases it.
	Note Op = "note"
	// Revert undoes the edit whose Seq is Of, as if it had never been made; later
	// edits must be possible without it. Reverting a Revert does the edit again.
	Revert Op = "revert"
)

// Ops lists every operation.
var Ops = []Op{Accept, Move, Rename, Merge, Split, SetParent, Drop, Flag, Note, Revert}

// Ref names a tag by its text, byte for byte, and its Wikidata item where known;
// or a group by its name.
type Ref struct {
	Name string `json:"name"`
	QID  string `json:"qid,omitempty"`
}

// String is the quoted name, with the item in brackets where there is one.
func (r Ref) String() string {
	if r.QID == "" {
		return fmt.Sprintf("%.80q", r.Name)
	}
	return fmt.Sprintf("%.80q (%s)", r.Name, r.QID)
}

// Part is one group that a Split results in.
type Part struct {
	To      string `json:"to"`
	Members []Ref  `json:"members"`
}

// Edit is one act of a curator and one line of the log.
type Edit struct {
	Seq   int       `json:"seq"`  // position in the log, from 1
	Base  int       `json:"base"` // version, the number of edits, that its author saw
	At    time.Time `json:"at"`
	By    string    `json:"by"`
	Op    Op        `json:"op"`
	Level int       `json:"level,omitempty"` // of From
	From  []Ref     `json:"from,omitempty"`
	To    string    `json:"to,omitempty"`
	Parts []Part    `json:"parts,omitempty"` // Split only
	Of    int       `json:"of,omitempty"`    // Revert only
	Note  string    `json:"note,omitempty"`

	Extra map[string]json.RawMessage `json:"-"` // fields of a newer minor version, kept on rewriting
}

// Check says what is wrong with an edit by itself, whatever it is applied to, in
// a hierarchy of the given number of levels.
func (e *Edit) Check(levels int) error {
	if !slices.Contains(Ops, e.Op) {
		return fmt.Errorf("unknown operation %.80q", e.Op)
	}
	if err := e.checkNames(); err != nil {
		return err
	}
	if e.Op == Revert {
		if e.Of < 1 || len(e.From) > 0 || e.To != "" || len(e.Parts) > 0 {
			return errors.New("revert takes the number of an edit and nothing else")
		}
		return nil
	}
	if e.Of != 0 {
		return fmt.Errorf("%s has the number of an edit (%d), which only revert takes", e.Op, e.Of)
	}
	if len(e.From) == 0 {
		return fmt.Errorf("%s names nothing", e.Op)
	}
	if (e.Op == Split) != (len(e.Parts) > 0) {
		return fmt.Errorf("%s with %d parts; split has parts and nothing else does", e.Op, len(e.Parts))
	}
	return e.checkShape(levels)
}

// checkShape holds the edit to what its operation takes.
func (e *Edit) checkShape(levels int) error {
	low, high := 0, levels-1
	needsTo := false
	switch e.Op {
	case Accept, Move:
		high, needsTo = 0, true
	case Drop:
		high = 0
	case Rename:
		low, needsTo = 1, true
	case Merge:
		low, needsTo = 1, true
	case Split:
		low = 1
	case SetParent:
		low, high = 1, levels-2
	}
	switch {
	case e.Level < low || e.Level > high:
		return fmt.Errorf("%s of level %d; in a hierarchy of %d levels it takes %d to %d", e.Op, e.Level, levels, low, high)
	case needsTo && e.To == "":
		return fmt.Errorf("%s without a name to go to", e.Op)
	case e.To != "" && !needsTo && e.Op != SetParent:
		return fmt.Errorf("%s takes no name to go to; got %.80q", e.Op, e.To)
	case (e.Op == Rename || e.Op == Split) && len(e.From) != 1:
		return fmt.Errorf("%s takes one group; got %d", e.Op, len(e.From))
	}
	return nil
}

// checkNames refuses names that stand twice and text that the log could not give
// back.
func (e *Edit) checkNames() error {
	if err := e.checkRefs(e.From, map[Ref]bool{}); err != nil {
		return err
	}
	members, parts := map[Ref]bool{}, map[string]bool{}
	for _, p := range e.Parts {
		if p.To == "" || parts[p.To] || len(p.Members) == 0 {
			return fmt.Errorf("part %.80q: every part needs a name of its own and members", p.To)
		}
		parts[p.To] = true
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
			return fmt.Errorf("%s: %v stands twice", e.Op, r)
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
