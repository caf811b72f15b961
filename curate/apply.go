package curate

import (
	"fmt"
	"slices"
)

// effect says what an edit did.
type effect struct {
	changed bool
	missing []Ref // references that do not exist
}

// apply executes an edit of tags or groups. With a tolerant finder it does as much as it can
// and reports missing references; with an exact finder a missing reference is an error.
// After an error the caller must undo the edit (see journal.go).
func (s *state) apply(f finder, e *Edit) (effect, error) {
	if err := e.Check(len(s.levels)); err != nil {
		return effect{}, err
	}
	var fx effect
	var err error
	switch e.Op {
	case Accept, Move, Drop:
		fx = s.decide(f, e)
	case Propose:
		fx, err = s.propose(f, e)
	case Confirm:
		fx = s.confirm(f, e)
	case Withdraw:
		fx = s.withdraw(f, e)
	case Rename:
		fx, err = s.rename(f, e)
	case Merge:
		fx, err = s.mergeAll(f, e)
	case Split:
		fx, err = s.split(f, e)
	case SetParent:
		fx = s.setParent(e)
	case ExtraParent:
		fx = s.addExtra(f, e)
	case Flag, Note:
		fx = s.remark(f, e)
	default:
		panic(fmt.Sprintf("curate: apply %.80q", e.Op))
	}
	if err == nil && len(fx.missing) > 0 && f.tags == nil {
		err = missingError(e, fx.missing)
	}
	return fx, err
}

// decide executes Accept, Move and Drop.
func (s *state) decide(f finder, e *Edit) (fx effect) {
	tags, missing := f.findAll(0, e.From)
	fx.missing = missing
	if tags = append(tags, s.followers(f, e, tags)...); len(tags) == 0 {
		return fx
	}
	group := int32(-1)
	if e.Op != Drop {
		group, fx.changed = s.declare(1, e.To)
	}
	var left []int32
	for _, i := range tags {
		n := s.change(0, i)
		left = append(left, n.parent)
		before := *n
		s.put(0, i, group)
		n.decide()
		if n.dropped = e.Op == Drop; n.dropped {
			n.reason = e.Note
		}
		fx.changed = fx.changed || *n != before
		n.placed = int32(e.Seq)
	}
	s.removeEmpty(left)
	return fx
}

func (s *state) rename(f finder, e *Edit) (fx effect, err error) {
	to := Ref{Name: e.To}
	i, ok := f.find(e.Level, Ref{Name: e.From[0].Name})
	other, taken := s.index[e.Level][to]
	switch {
	case !ok && taken && f.tags != nil:
		return fx, nil // on another draft it may already have this name
	case !ok:
		fx.missing = e.From
		return fx, nil
	case taken && other != i:
		return fx, fmt.Errorf("rename: a group %.80q already exists; merge the two", e.To)
	}
	n := s.change(e.Level, i)
	fx.changed = n.Ref != to || !n.declared
	delete(s.index[e.Level], n.Ref)
	n.Ref, n.declared = to, true
	s.index[e.Level][to] = i
	s.renameExtra(e.Level, e.From[0].Name, e.To)
	return fx, nil
}

// mergeAll executes Merge, part by part if it has parts. A group cannot be merged by one part and be the
// target of another.
func (s *state) mergeAll(f finder, e *Edit) (fx effect, err error) {
	if len(e.Parts) == 0 {
		return s.merge(f, e), nil
	}
	from := map[string]string{}
	for _, p := range e.Parts {
		for _, r := range p.Members {
			from[r.Name] = p.To
		}
	}
	for _, p := range e.Parts {
		if to := from[p.To]; to != "" && to != p.To {
			return fx, fmt.Errorf("merge: %.80q is merged into %.80q and cannot take other groups", p.To, to)
		}
	}
	for _, p := range e.Parts {
		one := s.merge(f, &Edit{Op: Merge, Level: e.Level, From: p.Members, To: p.To})
		fx.changed = fx.changed || one.changed
		fx.missing = append(fx.missing, one.missing...)
	}
	return fx, nil
}

func (s *state) merge(f finder, e *Edit) (fx effect) {
	groups, missing := f.findAll(e.Level, e.From)
	fx.missing = missing
	if len(groups) == 0 {
		if _, there := s.index[e.Level][Ref{Name: e.To}]; there && f.tags != nil {
			fx.missing = nil // on another draft the group may already exist
		}
		return fx
	}
	_, there := s.index[e.Level][Ref{Name: e.To}]
	parents := map[int32]bool{}
	for _, g := range groups {
		parents[s.at(e.Level, g).parent] = true
	}
	to, changed := s.declare(e.Level, e.To)
	fx.changed = changed
	if !there && len(parents) == 1 {
		if p := s.at(e.Level, groups[0]).parent; p >= 0 {
			s.put(e.Level, to, p)
		}
	}
	groups = slices.DeleteFunc(groups, func(g int32) bool { return g == to })
	for _, child := range s.childrenOf(e.Level, groups) {
		s.put(e.Level-1, child, to)
	}
	for _, g := range groups {
		s.renameExtra(e.Level, s.at(e.Level, g).Name, e.To)
		s.remove(e.Level, g)
		fx.changed = true
	}
	return fx
}

func (s *state) split(f finder, e *Edit) (fx effect, err error) {
	group, ok := f.find(e.Level, Ref{Name: e.From[0].Name})
	if !ok {
		if f.tags == nil {
			fx.missing = e.From
			return fx, nil
		}
		group = -1 // on another draft its members may be in other groups
	}
	parts := make([][]int32, len(e.Parts))
	listed := 0
	for p, part := range e.Parts {
		members, missing := f.findAll(e.Level-1, part.Members)
		fx.missing = append(fx.missing, missing...)
		parts[p] = members
		listed += len(members)
		if f.tags != nil {
			continue
		}
		for _, m := range members {
			if s.at(e.Level-1, m).parent != group {
				return fx, fmt.Errorf("split: %v is not in %.80q", s.at(e.Level-1, m).Ref, e.From[0].Name)
			}
		}
		if other, there := s.index[e.Level][Ref{Name: part.To}]; there && other != group {
			return fx, fmt.Errorf("split: a group %.80q already exists; choose another name", part.To)
		}
	}
	if f.tags == nil && len(fx.missing) == 0 && listed != int(s.at(e.Level, group).children) {
		return fx, fmt.Errorf("split: the parts list %d members, but %.80q has %d", listed, e.From[0].Name,
			s.at(e.Level, group).children)
	}
	fx.changed = s.divide(e, group, parts)
	return fx, nil
}

// divide puts the members of each part into the part's group. It removes the divided group
// if no part has its name and no member is left in it.
func (s *state) divide(e *Edit, group int32, parts [][]int32) (changed bool) {
	parent := int32(-1)
	if group >= 0 {
		parent = s.at(e.Level, group).parent
	}
	kept := false
	for p, members := range parts {
		if len(members) == 0 {
			continue
		}
		_, there := s.index[e.Level][Ref{Name: e.Parts[p].To}]
		to, fresh := s.declare(e.Level, e.Parts[p].To)
		changed = changed || fresh
		kept = kept || to == group
		if !there && parent >= 0 {
			s.put(e.Level, to, parent)
		}
		if !there && group >= 0 && s.at(e.Level, group).extra != "" {
			s.change(e.Level, to).extra = s.at(e.Level, group).extra
		}
		for _, m := range members {
			changed = s.put(e.Level-1, m, to) || changed
			if e.Level == 1 && s.at(0, m).dropped {
				n := s.change(0, m)
				n.dropped, n.reason, n.decided = false, "", false
			}
		}
	}
	if group >= 0 && !kept && s.at(e.Level, group).children == 0 {
		s.remove(e.Level, group)
	}
	return changed
}

func (s *state) setParent(e *Edit) (fx effect) {
	parent := int32(-1)
	if e.To != "" {
		parent, fx.changed = s.declare(e.Level+1, e.To)
	}
	for _, r := range e.From {
		i, declared := s.declare(e.Level, r.Name)
		moved := s.put(e.Level, i, parent)
		fx.changed = fx.changed || declared || moved
	}
	return fx
}

// setFlag marks a node for another look, or ends that.
func (n *node) setFlag(e *Edit) {
	n.flagged, n.flag, n.flagBy = true, e.Note, e.By
	if e.Resolved {
		n.flagged, n.flag, n.flagBy = false, "", ""
	}
}

// remark executes Flag and Note.
func (s *state) remark(f finder, e *Edit) (fx effect) {
	nodes, missing := f.findAll(e.Level, e.From)
	fx.missing = missing
	for _, i := range nodes {
		n := s.change(e.Level, i)
		before := *n
		if e.Op == Flag {
			n.setFlag(e)
		} else {
			n.note = e.Note
		}
		fx.changed = fx.changed || *n != before
	}
	return fx
}
