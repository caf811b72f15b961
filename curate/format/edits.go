package format

import (
	"fmt"
	"slices"
	"strings"

	"hgld/curate"
	"hgld/labels"
)

// Edits returns the edits that make a session agree with a document, and the tags of
// the document that the session's draft does not have. The edits are numbered on from
// the session's version and have neither time nor author. There are no edits for what
// already holds, so an interrupted import can be repeated.
//
// A tag is found by text and item, by its text alone if one side has no item, or by its
// item alone. A text with several items in the draft stands for all of them. Tags
// that the document has as proposed are proposed, unless the session has decided on them.
// Other tags without a group, and tags that it does not have, stay as they are.
func Edits(s *curate.Session, d *Document) (edits []curate.Edit, missing []curate.Ref, err error) {
	levels := d.Hierarchy.Levels
	if len(levels) > len(s.Levels()) {
		return nil, nil, fmt.Errorf("the file has the %d levels %.80q, the log %.80q; start a new log for it", len(levels),
			levelNames(d.Hierarchy), s.Levels())
	}
	p := planner{s: s, version: s.Version(), index: indexTags(s), left: map[curate.Ref]bool{},
		told: map[curate.Ref]bool{}, ranked: map[curate.Ref]suggestion{}}
	for range s.Levels() {
		p.named = append(p.named, map[string]bool{})
	}
	groups := 0
	if len(levels) > 1 {
		groups = len(levels[1].Classes)
	}
	members := make([][]int, groups)
	drops, notes, proposals := &byText{}, &byText{}, &byText{}
	found := p.index.find(levels[0].Classes)
	for i := range levels[0].Classes {
		c, tags := &levels[0].Classes[i], found[i]
		if len(tags) == 0 && (c.Parent >= 0 || c.Dropped != "" || d.proposes(i)) {
			missing = append(missing, curate.Ref{Name: c.Name, QID: c.QID})
		}
		for _, t := range tags {
			p.told[s.Tag(t).Ref] = c.Parent >= 0 || c.Dropped != "" || d.proposes(i)
			switch {
			case c.Parent >= 0:
				members[c.Parent] = append(members[c.Parent], t)
			case c.Dropped != "" && !s.Tag(t).Dropped:
				drops.add(c.Dropped, s.Tag(t).Ref)
				p.left[s.Tag(t).Ref] = true
			case d.proposes(i) && p.mayPropose(t, c.Proposed):
				proposals.add(c.Proposed, s.Tag(t).Ref)
				if i < len(d.suggestions) {
					p.ranked[s.Tag(t).Ref] = d.suggestions[i]
				}
				p.left[s.Tag(t).Ref] = true
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
	p.propose(proposals, d.Sources)
	p.rules(d.Hierarchy.Rules)
	if err := p.parents(levels); err != nil {
		return nil, nil, err
	}
	for _, text := range notes.texts {
		p.add(curate.Edit{Op: curate.Note, From: notes.of[text], Note: text})
	}
	if err := p.groupNotes(levels); err != nil {
		return nil, nil, err
	}
	lost, err := p.extra(d.ExtraParents)
	return p.edits, append(missing, lost...), err
}

// rules adds an edit for each rule that the session lacks, or that finds open tags of which the document
// tells nothing.
func (p *planner) rules(rules []labels.Rule) {
	have := p.s.Rules(nil)
	for _, r := range rules {
		e := curate.Edit{Op: curate.Move, To: r.Group, Note: r.Dropped, Rule: r.Expression}
		if r.Group == "" {
			e.Op = curate.Drop
		}
		for _, tag := range p.s.Found(r.Expression) {
			if !p.told[tag] {
				e.From = append(e.From, tag)
				p.told[tag], p.left[tag] = true, true
			}
		}
		if len(e.From) > 0 || !slices.ContainsFunc(have, r.Same) {
			p.add(e)
			p.named[1][r.Group] = r.Group != ""
		}
	}
}

// proposes reports whether a document proposes a group for one of its tags, or to drop it.
func (d *Document) proposes(tag int) bool {
	return tag < len(d.suggestions) || d.Hierarchy.Levels[0].Classes[tag].Proposed != ""
}

// mayPropose reports whether a tag is open, and not yet proposed for a group.
func (p *planner) mayPropose(tag int, group string) bool {
	t := p.s.Tag(tag)
	return !t.Decided && !(t.Proposed && t.Group == group)
}

// propose adds one edit with the proposals for all groups. Its note names their sources.
func (p *planner) propose(of *byText, sources []string) {
	e := curate.Edit{Op: curate.Propose}
	if len(sources) > 0 {
		e.Note = "from " + strings.Join(sources, ", ")
	}
	for _, group := range of.texts {
		e.Parts = append(e.Parts, p.proposedPart(group, of.of[group]))
		p.named[1][group] = group != ""
	}
	if len(e.Parts) > 0 {
		p.add(e)
	}
}

// proposedPart proposes tags for a group, with their scores if all have one, and with their reasons if any has.
func (p *planner) proposedPart(group string, tags []curate.Ref) curate.Part {
	part := curate.Part{To: group, Members: tags}
	for _, r := range tags {
		s := p.ranked[r]
		if s.scored {
			part.Scores = append(part.Scores, s.score)
		}
		part.Reasons = append(part.Reasons, s.reason)
	}
	if len(part.Scores) < len(tags) {
		part.Scores = nil
	}
	if !slices.ContainsFunc(part.Reasons, func(r string) bool { return r != "" }) {
		part.Reasons = nil
	}
	return part
}

func levelNames(h *labels.Hierarchy) []string {
	var names []string
	for _, l := range h.Levels {
		names = append(names, l.Name)
	}
	return names
}

// byText groups tags by a text, in the order of their first tag.
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

// find returns the tags of each class. Texts take precedence over items: a class that
// only shares its item with a tag does not take it from the class with the tag's text.
func (x tagIndex) find(classes []labels.Class) [][]int {
	found := make([][]int, len(classes))
	for i := range classes {
		found[i] = x.free(x.named(&classes[i]))
	}
	for i, c := range classes {
		if same := x.byQID[c.QID]; len(found[i]) == 0 && len(same) == 1 {
			found[i] = x.free(same)
		}
	}
	return found
}

// named returns the tags that have the text of a class and no other item.
func (x tagIndex) named(c *labels.Class) []int {
	if i, exact := x.s.Find(curate.Ref{Name: c.Name, QID: c.QID}); exact {
		return []int{i}
	}
	if c.QID == "" {
		return x.byName[c.Name]
	}
	return slices.DeleteFunc(slices.Clone(x.byName[c.Name]), func(i int) bool { return x.s.Draft().Tags[i].QID != "" })
}

// free claims and returns the tags that no other class has claimed.
func (x tagIndex) free(tags []int) []int {
	var free []int
	for _, i := range tags {
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
	named   []map[string]bool   // groups that an edit names, by level
	left    map[curate.Ref]bool // tags that leave the group they are in
	told    map[curate.Ref]bool // tags whose group the document tells, or a rule of it
	ranked  map[curate.Ref]suggestion
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
			p.left[t.Ref] = true
		case !t.Decided:
			accept = append(accept, t.Ref)
		}
	}
	for _, e := range []curate.Edit{{Op: curate.Accept, From: accept, To: group},
		{Op: curate.Move, From: move, To: group}} {
		if len(e.From) > 0 {
			p.add(e)
		}
	}
	if len(accept)+len(move) > 0 {
		p.named[1][group] = true
	}
}

// parents puts groups under their parents. It declares groups without tags, and groups
// that would vanish with their last tag.
func (p *planner) parents(levels []labels.Level) error {
	for l := 1; l < len(levels); l++ {
		if l+1 == len(p.s.Levels()) {
			return nil // the coarsest level of the log has no parents
		}
		have, err := p.groups(l)
		if err != nil {
			return err
		}
		under := &byText{}
		var loose []curate.Ref
		for _, c := range levels[l].Classes {
			now := have[c.Name]
			switch {
			case c.Parent < 0 && !now.Declared && !p.named[l][c.Name]:
				loose = append(loose, curate.Ref{Name: c.Name})
				p.named[l][c.Name] = true
			case c.Parent >= 0:
				if parent := levels[l+1].Classes[c.Parent].Name; now.Parent != parent {
					under.add(parent, curate.Ref{Name: c.Name})
					p.named[l][c.Name], p.named[l+1][parent] = true, true
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

// groupNotes sets the notes of the groups that exist after the edits so far.
func (p *planner) groupNotes(levels []labels.Level) error {
	for l := 1; l < len(levels); l++ {
		have, err := p.groups(l)
		if err != nil {
			return err
		}
		notes := &byText{}
		for _, c := range levels[l].Classes {
			if c.Note != "" && have[c.Name].Note != c.Note && p.stays(l, have[c.Name], c.Name) {
				notes.add(c.Note, curate.Ref{Name: c.Name})
			}
		}
		for _, text := range notes.texts {
			p.add(curate.Edit{Op: curate.Note, Level: l, From: notes.of[text], Note: text})
		}
	}
	return nil
}

// stays reports whether a group exists after the edits so far. now is its state in the
// session.
func (p *planner) stays(level int, now curate.Group, name string) bool {
	stays := func(tag curate.Ref) bool { return !p.left[tag] }
	return p.named[level][name] || now.Declared || level == 1 && slices.ContainsFunc(now.Members, stays)
}
