package curate

import (
	"fmt"
	"slices"
)

// A proposal is a decision suggested by a model. The tags of a Propose move into the groups
// that it names, as in a Move, but stay undecided. They enter the hierarchy when a curator
// accepts, moves or confirms them; Withdraw moves them back. A proposed tag in no group is proposed to be dropped.

// decide makes a tag decided, and neither proposed nor dropped.
func (n *node) decide() {
	n.decided, n.dropped, n.reason = true, false, ""
	n.proposed, n.was = false, 0
}

// propose executes Propose. On another draft it leaves out tags that are decided there.
func (s *state) propose(f finder, e *Edit) (fx effect, err error) {
	var left []int32
	for _, part := range e.Parts {
		tags, missing := f.findAll(0, part.Members)
		fx.missing = append(fx.missing, missing...)
		open := slices.DeleteFunc(tags, func(i int32) bool { return s.at(0, i).decided })
		switch {
		case len(open) < len(part.Members)-len(missing) && f.tags == nil:
			return fx, fmt.Errorf("propose: a tag for %.80q is already decided; only undecided tags can be proposed", part.To)
		case len(open) == 0:
			continue
		}
		group, declared := int32(-1), false
		if part.To != "" {
			group, declared = s.declare(1, part.To)
		}
		fx.changed = fx.changed || declared
		for _, i := range open {
			left = append(left, s.at(0, i).parent)
			fx.changed = s.proposeOne(i, group) || fx.changed
			s.at(0, i).placed = int32(e.Seq)
		}
	}
	s.removeEmpty(left)
	return fx, nil
}

// proposeOne proposes a tag for a group, or with −1 to be dropped, and reports whether that changed anything.
func (s *state) proposeOne(i, group int32) bool {
	n := s.change(0, i)
	if n.proposed {
		return s.put(0, i, group)
	}
	n.proposed, n.was = true, n.parent
	s.put(0, i, group)
	return true
}

// confirm executes Confirm, which is an Accept for each part.
func (s *state) confirm(f finder, e *Edit) (fx effect) {
	for _, part := range e.Parts {
		op := Accept
		if part.To == "" {
			op = Drop
		}
		one := s.decide(f, &Edit{Seq: e.Seq, Op: op, From: part.Members, To: part.To, Note: droppedAsProposed(op)})
		fx.changed = fx.changed || one.changed
		fx.missing = append(fx.missing, one.missing...)
	}
	return fx
}

// droppedAsProposed is the reason of a drop that a curator confirmed.
func droppedAsProposed(op Op) string {
	if op == Drop {
		return "as proposed"
	}
	return ""
}

// withdraw executes Withdraw. It restores a group that was removed since the proposal.
func (s *state) withdraw(f finder, e *Edit) (fx effect) {
	tags, missing := f.findAll(0, e.From)
	fx.missing = missing
	var left []int32
	for _, i := range tags {
		if !s.at(0, i).proposed {
			continue
		}
		n := s.change(0, i)
		left = append(left, n.parent)
		home := n.was
		n.proposed, n.was, n.placed = false, 0, 0
		if home >= 0 {
			home = s.existingGroup(home)
		}
		s.put(0, i, home)
		fx.changed = true
	}
	s.removeEmpty(left)
	return fx
}

// existingGroup returns a group of tags. If the group was removed, it returns the group that now has
// its name.
func (s *state) existingGroup(group int32) int32 {
	n := s.at(1, group)
	if !n.gone {
		return group
	}
	if i, taken := s.index[1][n.Ref]; taken {
		return i
	}
	return s.add(1, n.Ref)
}

// Proposed returns the proposed tags in the draft's order.
func (s *Session) Proposed() []Ref { return s.tagsThat(func(n *node) bool { return n.proposed }) }

// Undecided returns the undecided tags in the draft's order, proposed ones included.
func (s *Session) Undecided() []Ref { return s.tagsThat(func(n *node) bool { return !n.decided }) }

// Dropped returns the number of dropped tags.
func (s *Session) Dropped() int { return len(s.tagsThat(func(n *node) bool { return n.dropped })) }

func (s *Session) tagsThat(are func(*node) bool) (refs []Ref) {
	for i := range s.state.levels[0] {
		if n := s.state.at(0, int32(i)); are(n) {
			refs = append(refs, n.Ref)
		}
	}
	return refs
}
