package curate

import (
	"slices"
	"strings"

	"hgld/labels"
)

// A node lists its extra parents by name, so that nodes can be compared and the same names hold on
// another draft. A rename or a merge of a parent changes the lists.

// nameEnd stands after each name in node.extra; no name holds it.
const nameEnd = "\x00"

// extraParents lists the names of the extra parents of a node.
func (n *node) extraParents() []string {
	if n.extra == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(n.extra, nameEnd), nameEnd)
}

// besideParent lists the extra parents of a node but for its parent in the tree.
func (s *state) besideParent(level int, n *node) []string {
	list := n.extraParents()
	if n.parent < 0 || len(list) == 0 {
		return list
	}
	own := s.at(level+1, n.parent).Name
	return slices.DeleteFunc(list, func(name string) bool { return name == own })
}

// hasExtra reports whether name is one of them.
func (n *node) hasExtra(name string) bool {
	return n.extra != "" && slices.Contains(n.extraParents(), name)
}

// addExtra executes ExtraParent.
func (s *state) addExtra(f finder, e *Edit) (fx effect) {
	nodes, missing := f.findAll(e.Level, e.From)
	fx.missing = missing
	if e.To != "" && len(nodes) > 0 {
		_, fx.changed = s.declare(e.Level+1, e.To)
	}
	for _, i := range nodes {
		n := s.change(e.Level, i)
		before := *n
		n.declared = n.declared || e.Level > 0
		switch {
		case e.To == "":
			n.extra = ""
		case !n.hasExtra(e.To):
			n.extra += e.To + nameEnd
		}
		fx.changed = fx.changed || *n != before
	}
	return fx
}

// renameExtra gives the class from of a level the name to wherever it is an extra parent. to may be
// one already.
func (s *state) renameExtra(level int, from, to string) {
	if from == to {
		return
	}
	for i := range s.levels[level-1] {
		if !s.at(level-1, int32(i)).hasExtra(from) {
			continue
		}
		n := s.change(level-1, int32(i))
		names := n.extraParents()
		n.extra = ""
		for _, name := range names {
			if name == from {
				name = to
			}
			if !n.hasExtra(name) {
				n.extra += name + nameEnd
			}
		}
	}
}

// adoptExtra adds the extra parents of a node of other to those of node i.
func (s *state) adoptExtra(level int, i int32, other *state, n node) {
	for _, name := range n.extraParents() {
		if _, live := other.index[level+1][Ref{Name: name}]; live {
			s.declare(level+1, name)
		}
		if own := s.at(level, i); !own.hasExtra(name) {
			own.extra += name + nameEnd
		}
	}
}

// lostExtra lists the extra parents of a node that a division has removed.
func (s *state) lostExtra(level int, n node) (lost []string) {
	for _, name := range n.extraParents() {
		if _, live := s.index[level+1][Ref{Name: name}]; !live {
			lost = append(lost, name)
		}
	}
	return lost
}

// ExtraParents lists the extra parents of the classes of h, which Hierarchy has returned for this
// session, level by level. A class that is an extra parent is listed with its own parent too, because no
// other class may name that. A tag without a group has no extra parents.
//
// If a class lacks a parent in the tree, so that its place is not known, the error is an *OrphansError.
func (s *Session) ExtraParents(h *labels.Hierarchy) ([]labels.ExtraParent, error) {
	c := extraCollector{s: s, h: h, seen: map[labels.ExtraParent]bool{}}
	var targets []string
	for l := range h.Levels {
		for _, name := range targets {
			if err := c.parentOf(l, name); err != nil {
				return nil, err
			}
		}
		var err error
		if targets, err = c.extra(l, targets); err != nil {
			return nil, err
		}
	}
	return c.list, nil
}

// extraCollector lists extra parents.
type extraCollector struct {
	s    *Session
	h    *labels.Hierarchy
	list []labels.ExtraParent
	seen map[labels.ExtraParent]bool
}

func (c *extraCollector) add(level int, class, parent string) {
	row := labels.ExtraParent{Level: c.h.Levels[level].Name, Class: class, Parent: parent}
	if !c.seen[row] {
		c.seen[row] = true
		c.list = append(c.list, row)
	}
}

// parentOf lists an extra parent of a finer class with its own parent.
func (c *extraCollector) parentOf(level int, name string) error {
	if level+1 >= len(c.h.Levels) {
		return nil
	}
	parent := c.s.parentOf(level, name)
	if parent == "" {
		return c.orphan(level, name)
	}
	c.add(level, name, parent)
	return nil
}

// orphan is the error of a class that needs a parent in the tree.
func (c *extraCollector) orphan(level int, name string) error {
	return &OrphansError{Level: c.s.names[level], Parent: c.s.names[level+1], Groups: []string{name},
		Coarsest: level+2 == len(c.s.names)}
}

// extra lists the extra parents of the classes of a level, those in the hierarchy first, and returns
// the names of these parents.
func (c *extraCollector) extra(level int, more []string) (targets []string, err error) {
	top := level+1 >= len(c.h.Levels)
	in := map[string]string{} // parents of the classes
	for _, class := range c.h.Levels[level].Classes {
		switch {
		case top:
			in[class.Name] = ""
		case class.Parent >= 0:
			in[class.Name] = c.h.Levels[level+1].Classes[class.Parent].Name
		}
	}
	for _, name := range more {
		in[name] = c.s.parentOf(level, name)
	}
	for _, n := range c.s.state.levels[level] {
		own, there := in[n.Name]
		if !there || n.gone || n.extra == "" {
			continue
		}
		for _, name := range n.extraParents() {
			_, live := c.s.state.index[level+1][Ref{Name: name}]
			if name == own || !live {
				continue
			}
			if top {
				return nil, c.orphan(level, n.Name)
			}
			c.add(level, n.Name, name)
			if !slices.Contains(targets, name) {
				targets = append(targets, name)
			}
		}
	}
	slices.Sort(targets)
	return targets, nil
}
