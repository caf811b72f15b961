package curate

import (
	"fmt"
	"maps"
	"slices"

	"hgld/labels"
)

// node is a tag or a group.
type node struct {
	Ref
	parent   int32 // position in the next level, -1 for none
	children int32
	decided  bool // a tag that a curator placed or dropped
	proposed bool // an undecided tag that a proposal placed
	dropped  bool
	declared bool // a group that an edit named: it stays even without members
	gone     bool // merged, divided, or undeclared and empty
	flagged  bool
	was      int32  // group of a proposed tag before its first proposal, −1 for none; 0 for other tags
	reason   string // of the drop
	flag     string // reason of the flag
	flagBy   string // its author
	note     string
	extra    string // names of extra parents, each after a NUL
	placed   int32  // number of the edit of this log that last decided or proposed the tag, 0 for none
}

// state holds the nodes of each level and an index of their names. Level 0 never grows
// or shrinks.
type state struct {
	levels [][]node
	index  []map[Ref]int32

	edit    uint32     // number of the current edit
	stamps  [][]uint32 // number of the edit that last changed each node
	records []record   // of the current edit
}

// newState puts the tags of a draft into its clusters.
func newState(d *labels.Draft, levels int) *state {
	s := &state{levels: make([][]node, levels), index: make([]map[Ref]int32, levels)}
	for l := range s.index {
		s.index[l] = map[Ref]int32{}
	}
	for _, t := range d.Tags {
		s.add(0, Ref{t.Name, t.QID})
	}
	for _, c := range d.Clusters {
		group := s.add(1, Ref{Name: c.Name})
		for _, m := range c.Members {
			s.put(0, int32(m.Tag), group)
		}
	}
	return s
}

// clone copies the state without its records. The copy shares the index of tags, which
// never changes.
func (s *state) clone() *state {
	c := &state{levels: make([][]node, len(s.levels)), index: make([]map[Ref]int32, len(s.index))}
	for l := range s.levels {
		c.levels[l], c.index[l] = slices.Clone(s.levels[l]), s.index[l]
		if l > 0 {
			c.index[l] = maps.Clone(s.index[l])
		}
	}
	return c
}

// at returns the node at a position of a level.
func (s *state) at(level int, i int32) *node { return &s.levels[level][i] }

func (s *state) add(level int, r Ref) int32 {
	i := int32(len(s.levels[level]))
	s.levels[level] = append(s.levels[level], node{Ref: r, parent: -1})
	s.index[level][r] = i
	if s.edit > 0 {
		s.stamps[level] = append(s.stamps[level], s.edit)
		s.records = append(s.records, record{level: level, at: i, fresh: true})
	}
	return i
}

// declare returns the group with the given name and makes it if there is none. It
// reports whether that changed anything.
func (s *state) declare(level int, name string) (int32, bool) {
	i, known := s.index[level][Ref{Name: name}]
	if !known {
		i = s.add(level, Ref{Name: name})
	}
	if s.at(level, i).declared {
		return i, false
	}
	s.change(level, i).declared = true
	return i, true
}

// put sets the parent of a node and reports whether it had another one before.
func (s *state) put(level int, i, parent int32) bool {
	if s.at(level, i).parent == parent {
		return false
	}
	n := s.change(level, i)
	if n.parent >= 0 {
		s.change(level+1, n.parent).children--
	}
	if parent >= 0 {
		s.change(level+1, parent).children++
	}
	n.parent = parent
	return true
}

// remove removes a group without members.
func (s *state) remove(level int, i int32) {
	n := s.change(level, i)
	if level+1 < len(s.levels) {
		s.put(level, i, -1)
	}
	delete(s.index[level], n.Ref)
	n.gone = true
}

// removeEmpty removes empty groups of tags that no edit has named: clusters of the draft
// whose tags have all moved. groups may repeat a group; -1 stands for none.
func (s *state) removeEmpty(groups []int32) {
	for _, i := range groups {
		if i < 0 {
			continue
		}
		if n := s.at(1, i); n.children == 0 && !n.declared && !n.gone {
			s.remove(1, i)
		}
	}
}

// childrenOf lists the nodes whose parent is one of the groups.
func (s *state) childrenOf(level int, groups []int32) []int32 {
	in := make([]bool, len(s.levels[level]))
	for _, g := range groups {
		in[g] = true
	}
	var children []int32
	for i := range s.levels[level-1] {
		if p := s.levels[level-1][i].parent; p >= 0 && in[p] {
			children = append(children, int32(i))
		}
	}
	return children
}

// finder looks up references. On the draft that an edit was made for, a reference
// matches exactly. On another draft a tag may have gained or lost its item, or may have
// kept its item under another text, if only one tag matches.
type finder struct {
	*state
	tags *tagTable // nil: exact matches only
}

// tagTable indexes the tags of a draft by text and by item.
type tagTable struct{ byName, byQID map[string][]int32 }

func (s *state) exact() finder { return finder{state: s} }

func (s *state) table() *tagTable {
	t := &tagTable{byName: map[string][]int32{}, byQID: map[string][]int32{}}
	for i, n := range s.levels[0] {
		t.byName[n.Name] = append(t.byName[n.Name], int32(i))
		if n.QID != "" {
			t.byQID[n.QID] = append(t.byQID[n.QID], int32(i))
		}
	}
	return t
}

func (f finder) find(level int, r Ref) (int32, bool) {
	if i, ok := f.index[level][r]; ok || level > 0 || f.tags == nil {
		return i, ok
	}
	if same := f.tags.byName[r.Name]; len(same) == 1 && (r.QID == "" || f.at(0, same[0]).QID == "") {
		return same[0], true
	}
	if same := f.tags.byQID[r.QID]; r.QID != "" && len(same) == 1 {
		return same[0], true
	}
	return -1, false
}

// findAll returns the positions of refs, and the refs that do not exist. It replaces
// refs of tags by the draft's own, which are equal, so that a log that names each label
// many times holds its text once.
func (f finder) findAll(level int, refs []Ref) (found []int32, missing []Ref) {
	for k, r := range refs {
		if i, ok := f.find(level, r); ok {
			found = append(found, i)
			if tag := f.at(level, i).Ref; level == 0 && tag == r {
				refs[k] = tag
			}
		} else {
			missing = append(missing, r)
		}
	}
	return found, missing
}

// missingError is the error of an edit that names what the session does not have.
func missingError(e *Edit, missing []Ref) error {
	what := "group"
	if e.Level == 0 || e.Op == Split && e.Level == 1 && missing[0] != e.From[0] {
		what = "tag"
	}
	if len(missing) == 1 {
		return fmt.Errorf("%s: there is no %s %v", e.Op, what, missing[0])
	}
	return fmt.Errorf("%s: there is no %s %v, and %d others that it names are missing too", e.Op, what, missing[0],
		len(missing)-1)
}
