package format

import (
	"fmt"
	"slices"

	"hgld/curate"
	"hgld/labels"
)

// Edits lists the edits that bring a session to what a document says, numbered on
// from its version, with neither time nor author, and the tags of the document
// that the session's draft does not have. What already holds needs no edit, so an
// import that was cut off goes on where it ended.
//
// A tag is found by text and item, or by its text alone where one side has no
// item, or by its item alone; a text that stands for several items in the draft is
// all of them. Tags that the document leaves without a group, and tags that it
// does not have, are left as they are.
func Edits(s *curate.Session, d *Document) (edits []curate.Edit, missing []curate.Ref, err error) {
	levels := d.Hierarchy.Levels
	if len(levels) > len(s.Levels()) {
		return nil, nil, fmt.Errorf("the file has the %d levels %q, the log %q; start a new log for it", len(levels), levelNames(d.Hierarchy), s.Levels())
	}
	p := planner{s: s, version: s.Version(), index: indexTags(s)}
	groups := 0
	if len(levels) > 1 {
		groups = len(levels[1].Classes)
	}
	members := make([][]int, groups)
	drops, notes := &byText{}, &byText{}
	for i := range levels[0].Classes {
		c := &levels[0].Classes[i]
		tags := p.index.find(c)
		if len(tags) == 0 && (c.Parent >= 0 || c.Dropped != "") {
			missing = append(missing, curate.Ref{Name: c.Name, QID: c.QID})
		}
		for _, t := range tags {
			switch {
			case c.Parent >= 0:
				members[c.Parent] = append(members[c.Parent], t)
			case c.Dropped != "" && !s.Tag(t).Dropped:
				drops.add(c.Dropped, s.Tag(t).Ref)
			}
			if c.Note != "" && s.Tag(t).Note != c.Note {
				notes.add(c.Note, s.Tag(t).Ref)
			}
		}
	}
	for g, tags := range members {
		p.place(levels[1].Classes[g].Name, tags)
	}
	for _, reason := range drops.texts {
		p.add(curate.Edit{Op: curate.Drop, From: drops.of[reason], Note: reason})
	}
	if err := p.parents(levels); err != nil {
		return nil, nil, err
	}
	for _, text := range notes.texts {
		p.add(curate.Edit{Op: curate.Note, From: notes.of[text], Note: text})
	}
	if err := p.groupNotes(levels); err != nil {
		return nil, nil, err
	}
	return p.edits, missing, nil
}

func levelNames(h *labels.Hierarchy) []string {
	var names []string
	for _, l := range h.Levels {
		names = append(names, l.Name)
	}
	return names
}

// byText collects tags by a text, in the order of its first tag.
type byText struct {
	texts []string
	of    map[string][]curate.Ref
}

func (b *byText) add(text string, r curate.Ref) {
	if b.of == nil {
		b.of = map[string][]curate.Ref{}
	}
	if _, known := b.of[text]; !known {
		b.texts = append(b.texts, text)
	}
	b.of[text] = append(b.of[text], r)
}

// tagIndex finds the tags of a draft.
type tagIndex struct {
	s             *curate.Session
	byName, byQID map[string][]int
	taken         map[int]bool
}

func indexTags(s *curate.Session) tagIndex {
	x := tagIndex{s, map[string][]int{}, map[string][]int{}, map[int]bool{}}
	for i, t := range s.Draft().Tags {
		x.byName[t.Name] = append(x.byName[t.Name], i)
		if t.QID != "" {
			x.byQID[t.QID] = append(x.byQID[t.QID], i)
		}
	}
	return x
}

// find returns the tags that a class stands for and that no other class was.
func (x tagIndex) find(c *labels.Class) []int {
	found := x.byName[c.Name]
	if i, exact := x.s.Find(curate.Ref{Name: c.Name, QID: c.QID}); exact {
		found = []int{i}
	} else if c.QID != "" {
		found = slices.DeleteFunc(slices.Clone(found), func(i int) bool { return x.s.Draft().Tags[i].QID != "" })
		if same := x.byQID[c.QID]; len(found) == 0 && len(same) == 1 {
			found = same
		}
	}
	var free []int
	for _, i := range found {
		if !x.taken[i] {
			x.taken[i] = true
			free = append(free, i)
		}
	}
	return free
}

// planner collects edits.
type planner struct {
	s       *curate.Session
	version int
	index   tagIndex
	edits   []curate.Edit
	named   map[string]bool // groups that an edit names
}

func (p *planner) add(e curate.Edit) {
	e.Base = p.version + len(p.edits)
	e.Seq = e.Base + 1
	p.edits = append(p.edits, e)
}

// place puts tags into a group. Those that are in it already are accepted.
func (p *planner) place(group string, tags []int) {
	var accept, move []curate.Ref
	for _, i := range tags {
		switch t := p.s.Tag(i); {
		case t.Group != group:
			move = append(move, t.Ref)
		case !t.Decided:
			accept = append(accept, t.Ref)
		}
	}
	for _, e := range []curate.Edit{{Op: curate.Accept, From: accept, To: group}, {Op: curate.Move, From: move, To: group}} {
		if len(e.From) > 0 {
			p.add(e)
		}
	}
	if p.named == nil {
		p.named = map[string]bool{}
	}
	p.named[group] = p.named[group] || len(accept)+len(move) > 0
}

// parents puts groups under their parents, and declares those that hold no tag.
func (p *planner) parents(levels []labels.Level) error {
	for l := 1; l < len(levels); l++ {
		if l+1 == len(p.s.Levels()) {
			return nil // the log's coarsest level has no parents
		}
		have, err := p.groups(l)
		if err != nil {
			return err
		}
		under := &byText{}
		var loose []curate.Ref
		for _, c := range levels[l].Classes {
			now, there := have[c.Name]
			switch {
			case c.Parent < 0 && !there && !(l == 1 && p.named[c.Name]):
				loose = append(loose, curate.Ref{Name: c.Name})
			case c.Parent >= 0:
				if parent := levels[l+1].Classes[c.Parent].Name; now.Parent != parent {
					under.add(parent, curate.Ref{Name: c.Name})
				}
			}
		}
		if len(loose) > 0 {
			p.add(curate.Edit{Op: curate.SetParent, Level: l, From: loose})
		}
		for _, parent := range under.texts {
			p.add(curate.Edit{Op: curate.SetParent, Level: l, From: under.of[parent], To: parent})
		}
	}
	return nil
}

// groups returns the groups that the session has at a level, by name.
func (p *planner) groups(level int) (map[string]curate.Group, error) {
	list, err := p.s.Groups(level)
	if err != nil {
		return nil, err
	}
	have := map[string]curate.Group{}
	for _, g := range list {
		have[g.Name] = g
	}
	return have, nil
}

// groupNotes sets the notes of the groups of all levels.
func (p *planner) groupNotes(levels []labels.Level) error {
	for l := 1; l < len(levels); l++ {
		have, err := p.groups(l)
		if err != nil {
			return err
		}
		notes := &byText{}
		for _, c := range levels[l].Classes {
			if c.Note != "" && have[c.Name].Note != c.Note {
				notes.add(c.Note, curate.Ref{Name: c.Name})
			}
		}
		for _, text := range notes.texts {
			p.add(curate.Edit{Op: curate.Note, Level: l, From: notes.of[text], Note: text})
		}
	}
	return nil
}
