package curate

import (
	"slices"
	"strings"

	"hgld/labels"
)

// A node lists its further parents by name, so that nodes can be compared and the same names hold on
// another draft. A rename or a merge of a parent changes the lists.

// nameEnd stands after each name in node.further; no name holds it.
const nameEnd = "\x00"

// furtherParents lists the names of the further parents of a node.
func (n *node) furtherParents() []string {
	if n.further == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(n.further, nameEnd), nameEnd)
}

// hasFurther reports whether name is one of them.
func (n *node) hasFurther(name string) bool {
	return n.further != "" && slices.Contains(n.furtherParents(), name)
}

// addFurther executes Also.
func (s *state) addFurther(f finder, e *Edit) (fx effect) {
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
			n.further = ""
		case !n.hasFurther(e.To):
			n.further += e.To + nameEnd
		}
		fx.changed = fx.changed || *n != before
	}
	return fx
}

// renameFurther gives the class from of a level the name to wherever it is a further parent. to may be
// one already.
func (s *state) renameFurther(level int, from, to string) {
	if from == to {
		return
	}
	for i := range s.levels[level-1] {
		if !s.at(level-1, int32(i)).hasFurther(from) {
			continue
		}
		n := s.change(level-1, int32(i))
		names := n.furtherParents()
		n.further = ""
		for _, name := range names {
			if name == from {
				name = to
			}
			if !n.hasFurther(name) {
				n.further += name + nameEnd
			}
		}
	}
}

// adoptFurther adds the further parents of a node of other to those of node i.
func (s *state) adoptFurther(level int, i int32, other *state, n node) {
	for _, name := range n.furtherParents() {
		if _, live := other.index[level+1][Ref{Name: name}]; live {
			s.declare(level+1, name)
		}
		if own := s.at(level, i); !own.hasFurther(name) {
			own.further += name + nameEnd
		}
	}
}

// lostFurther lists the further parents of a node that a division has removed.
func (s *state) lostFurther(level int, n node) (lost []string) {
	for _, name := range n.furtherParents() {
		if _, live := s.index[level+1][Ref{Name: name}]; !live {
			lost = append(lost, name)
		}
	}
	return lost
}

// FurtherParents lists the further parents of the classes of h, which Hierarchy has returned for this
// session, level by level. A class that is a further parent is listed with its own parent too, because no
// other class may name that. A tag without a group has no further parents.
//
// If a class lacks a parent in the tree, so that its place is not known, the error is an *OrphansError.
func (s *Session) FurtherParents(h *labels.Hierarchy) ([]labels.FurtherParent, error) {
	c := furtherCollector{s: s, h: h, seen: map[labels.FurtherParent]bool{}}
	var targets []string
	for l := range h.Levels {
		for _, name := range targets {
			if err := c.parentOf(l, name); err != nil {
				return nil, err
			}
		}
		var err error
		if targets, err = c.further(l, targets); err != nil {
			return nil, err
		}
	}
	return c.list, nil
}

// furtherCollector lists further parents.
type furtherCollector struct {
	s    *Session
	h    *labels.Hierarchy
	list []labels.FurtherParent
	seen map[labels.FurtherParent]bool
}

func (c *furtherCollector) add(level int, class, parent string) {
	row := labels.FurtherParent{Level: c.h.Levels[level].Name, Class: class, Parent: parent}
	if !c.seen[row] {
		c.seen[row] = true
		c.list = append(c.list, row)
	}
}

// parentOf lists a further parent of a finer class with its own parent.
func (c *furtherCollector) parentOf(level int, name string) error {
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
func (c *furtherCollector) orphan(level int, name string) error {
	return &OrphansError{Level: c.s.names[level], Parent: c.s.names[level+1], Groups: []string{name},
		Coarsest: level+2 == len(c.s.names)}
}

// further lists the further parents of the classes of a level, those in the hierarchy first, and returns
// the names of these parents.
func (c *furtherCollector) further(level int, more []string) (targets []string, err error) {
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
		if !there || n.gone || n.further == "" {
			continue
		}
		for _, name := range n.furtherParents() {
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
