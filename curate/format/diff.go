package format

import (
	"cmp"
	"fmt"
	"slices"

	"hgld/curate"
	"hgld/labels"
)

// Difference lists how document B differs from document A. Lists are ordered by the
// number of landmarks they touch, most first, then by name.
//
// A group is gone if only A has its name, and born if only B has. The other changes are
// about the tags that have a group in both documents. Groups are merged into a group of
// B if it holds most of the tags of each and one of them is gone. A group is split if
// two or more groups of B take most of their tags from it and one of them is born. A
// group is renamed if it is gone, another is born, and each holds most of the other's
// tags. Tags that these changes do not explain have moved.
type Difference struct {
	Tags  int `json:"tags"`  // number of tags that both documents have
	Equal int `json:"equal"` // number of them that are in the same group

	Renamed  []GroupChange `json:"renamed"`      // renamed groups
	Merged   []GroupChange `json:"merged"`       // merged groups
	Split    []GroupChange `json:"split"`        // split groups
	Added    []GroupChange `json:"added"`        // other groups that only B has
	Removed  []GroupChange `json:"removed"`      // other groups that only A has
	Parents  []ParentMove  `json:"parents"`      // groups of both that have another parent
	Moved    []GroupChange `json:"moved"`        // moved tags, by the groups they left and went to; "" for none
	TagsNew  []TagChange   `json:"tags_added"`   // tags that only B has
	TagsGone []TagChange   `json:"tags_removed"` // tags that only A has

	Agreement curate.Agreement `json:"agreement"` // that of A and B as two curators
}

// GroupChange is a change of groups with the tags that it touches.
type GroupChange struct {
	From      []string `json:"from,omitempty"` // groups of A
	To        []string `json:"to,omitempty"`   // groups of B
	Tags      []string `json:"tags"`           // texts of the tags
	Landmarks int      `json:"landmarks"`      // number of landmarks that carry them
	Images    int      `json:"images"`         // number of images of these landmarks
}

// ParentMove is a group that two documents put under different parents.
type ParentMove struct {
	Level     int    `json:"level"`     // level of the group
	Group     string `json:"group"`     // its name
	A         string `json:"a"`         // its parent in document A
	B         string `json:"b"`         // its parent in document B
	Landmarks int    `json:"landmarks"` // number of landmarks of the group
	Images    int    `json:"images"`    // number of images of these landmarks
}

// TagChange is a tag that only one of the documents has.
type TagChange struct {
	Name      string `json:"name"`          // its text
	QID       string `json:"qid,omitempty"` // its Wikidata item
	Group     string `json:"group"`         // its group, "" for none
	Landmarks int    `json:"landmarks"`     // number of landmarks that carry it
	Images    int    `json:"images"`        // number of images of these landmarks
}

// None reports whether nothing differs.
func (d *Difference) None() bool {
	groups := len(d.Renamed) + len(d.Merged) + len(d.Split) + len(d.Added) + len(d.Removed) + len(d.Parents)
	return groups+len(d.Moved)+len(d.TagsNew)+len(d.TagsGone) == 0
}

// Diff compares two documents. It replays both, as the edits of two curators, on one
// draft of all their tags.
func Diff(a, b *Document) (*Difference, error) {
	draft := unionDraft(a, b)
	if len(draft.Tags) == 0 {
		return diffGroups(a, b), nil
	}
	names := levelNames(a.Hierarchy)
	if n := len(b.Hierarchy.Levels); n > len(names) {
		names = levelNames(b.Hierarchy)
	}
	if len(names) == 1 { // only tags, which can be dropped
		names = append(names, curate.DefaultLevels[1])
	}
	c := comparison{draft: draft}
	for side, d := range []*Document{a, b} {
		s, err := curate.NewSession(draft, names)
		if err != nil {
			return nil, err
		}
		edits, _, err := Edits(s, d)
		if err != nil {
			return nil, err
		}
		if _, err := s.Load(edits); err != nil {
			return nil, err
		}
		c.sides[side] = s
		c.has[side] = tagsOf(s, d)
	}
	var err error
	if c.Comparison, err = curate.Compare(c.sides[0], c.sides[1]); err != nil {
		return nil, err
	}
	return c.difference(a, b), nil
}

// everything is the name of the cluster of tags that a document leaves without a group.
const everything = "\u200bwithout a group"

// unionDraft returns a draft of the tags of both documents in one cluster. Two tags
// with one text are one tag, whether one of them has no item or both have different
// ones.
func unionDraft(a, b *Document) *labels.Draft {
	draft := &labels.Draft{Version: labels.DraftVersion}
	at := map[string]int{}
	for _, d := range []*Document{a, b} {
		for _, c := range d.Hierarchy.Levels[0].Classes {
			i, known := at[c.Name]
			if !known {
				i = len(draft.Tags)
				at[c.Name] = i
				draft.Tags = append(draft.Tags, labels.DraftTag{Tag: labels.Tag{Name: c.Name}})
			}
			t := &draft.Tags[i]
			if t.QID = cmp.Or(t.QID, c.QID); c.QID != "" && c.QID != t.QID {
				t.QID = "" // identified by its text, which both files have
			}
			t.Landmarks = max(t.Landmarks, d.count(0)[c.Name])
			t.Images = max(t.Images, d.Images[c.Name])
		}
	}
	all := labels.Cluster{Name: everything}
	for i := range draft.Tags {
		all.Members = append(all.Members, labels.Member{Tag: i})
	}
	if len(all.Members) > 0 {
		draft.Clusters = []labels.Cluster{all}
	}
	return draft
}

// tagsOf marks the tags of a draft that a document has.
func tagsOf(s *curate.Session, d *Document) []bool {
	has := make([]bool, len(s.Draft().Tags))
	index := indexTags(s)
	for _, c := range d.Hierarchy.Levels[0].Classes {
		for _, i := range index.byName[c.Name] {
			has[i] = true
		}
	}
	return has
}

// comparison is a curate.Comparison with its sessions and counts.
type comparison struct {
	*curate.Comparison
	draft *labels.Draft
	sides [2]*curate.Session
	has   [2][]bool
}

// pairKey is a group of A and one of B.
type pairKey struct{ a, b string }

func (c *comparison) difference(a, b *Document) *Difference {
	d := &Difference{Agreement: c.Agreement}
	flow := map[pairKey][]int{} // common tags, by their groups
	for i, t := range c.draft.Tags {
		x, y := c.group(0, i), c.group(1, i)
		switch {
		case c.has[0][i] && c.has[1][i]:
			d.Tags++
			if x == y {
				d.Equal++
			}
			flow[pairKey{x, y}] = append(flow[pairKey{x, y}], i)
		case c.has[0][i]:
			d.TagsGone = append(d.TagsGone, TagChange{t.Name, t.QID, x, t.Landmarks, t.Images})
		default:
			d.TagsNew = append(d.TagsNew, TagChange{t.Name, t.QID, y, t.Landmarks, t.Images})
		}
	}
	g := newGroupFlow(groupNames(a), groupNames(b), flow)
	explained := g.explain(c, d)
	for key, tags := range flow {
		if key.a != key.b && !explained[key] {
			d.Moved = append(d.Moved, c.change([]string{key.a}, []string{key.b}, tags))
		}
	}
	c.parents(d, g, flow)
	d.sort()
	return d
}

// group returns the group of a tag, "(dropped)", or "" for none.
func (c *comparison) group(side, tag int) string {
	t := c.sides[side].Tag(tag)
	if !t.Decided {
		return ""
	}
	return curate.Category{Name: t.Group, Dropped: t.Dropped}.String()
}

func (c *comparison) change(from, to []string, tags []int) GroupChange {
	g := GroupChange{From: from, To: to, Tags: []string{}}
	slices.SortStableFunc(tags, func(i, j int) int {
		return cmp.Compare(c.draft.Tags[j].Landmarks,
			c.draft.Tags[i].Landmarks)
	})
	for _, i := range tags {
		g.Tags = append(g.Tags, c.draft.Tags[i].Name)
		g.Landmarks += c.draft.Tags[i].Landmarks
		g.Images += c.draft.Tags[i].Images
	}
	return g
}

// parents lists the groups that have another parent, including renamed ones.
func (c *comparison) parents(d *Difference, g *groupFlow, flow map[pairKey][]int) {
	touched := func(level int, a, b string) (landmarks, images int) {
		for key, tags := range flow {
			if level == 1 && key.a == a && key.b == b {
				change := c.change(nil, nil, tags)
				landmarks, images = landmarks+change.Landmarks, images+change.Images
			}
		}
		return landmarks, images
	}
	for _, p := range c.Parents {
		n, m := touched(p.Level, p.Group, p.Group)
		d.Parents = append(d.Parents, ParentMove{p.Level, p.Group, p.Choices[0], p.Choices[1], n, m})
	}
	of := [2]map[string]string{c.parentsOf(0), c.parentsOf(1)}
	for a, b := range g.renamed {
		if x, y := of[0][a], of[1][b]; x != "" && y != "" && x != y {
			n, m := touched(1, a, b)
			d.Parents = append(d.Parents, ParentMove{1, fmt.Sprintf("%s -> %s", a, b), x, y, n, m})
		}
	}
}

func (c *comparison) parentsOf(side int) map[string]string {
	parents := map[string]string{}
	groups, err := c.sides[side].Groups(1)
	if err != nil {
		panic(err) // every session has groups of tags
	}
	for _, g := range groups {
		parents[g.Name] = g.Parent
	}
	return parents
}

func groupNames(d *Document) map[string]bool {
	names := map[string]bool{}
	if len(d.Hierarchy.Levels) > 1 {
		for _, c := range d.Hierarchy.Levels[1].Classes {
			names[c.Name] = true
		}
	}
	return names
}

// diffGroups compares documents without tags by the names and the parents of their
// groups.
func diffGroups(a, b *Document) *Difference {
	d := &Difference{}
	in := [2]map[string]bool{groupNames(a), groupNames(b)}
	for name := range in[0] {
		if !in[1][name] {
			d.Removed = append(d.Removed, GroupChange{From: []string{name}, Tags: []string{}, Landmarks: a.count(1)[name]})
		}
	}
	for name := range in[1] {
		if !in[0][name] {
			d.Added = append(d.Added, GroupChange{To: []string{name}, Tags: []string{}, Landmarks: b.count(1)[name]})
		}
	}
	levels := min(len(a.Hierarchy.Levels), len(b.Hierarchy.Levels))
	for l := 1; l+1 < levels; l++ {
		in := [2]map[string]string{parentNames(a, l), parentNames(b, l)}
		for name, x := range in[0] {
			if y, both := in[1][name]; both && x != y {
				d.Parents = append(d.Parents, ParentMove{l, name, x, y, max(a.count(l)[name], b.count(l)[name]), 0})
			}
		}
	}
	d.sort()
	return d
}

// parentNames returns the parents of the groups of a level, all of which have one.
func parentNames(d *Document, level int) map[string]string {
	parents := map[string]string{}
	for _, c := range d.Hierarchy.Levels[level].Classes {
		parents[c.Name] = d.Hierarchy.Levels[level+1].Classes[c.Parent].Name
	}
	return parents
}

func (d *Difference) sort() {
	for _, list := range []*[]GroupChange{&d.Renamed, &d.Merged, &d.Split, &d.Added, &d.Removed, &d.Moved} {
		slices.SortFunc(*list, func(x, y GroupChange) int {
			return cmp.Or(cmp.Compare(y.Landmarks, x.Landmarks), cmp.Compare(len(y.Tags), len(x.Tags)),
				slices.Compare(x.From, y.From), slices.Compare(x.To, y.To))
		})
		if *list == nil {
			*list = []GroupChange{}
		}
	}
	for _, list := range []*[]TagChange{&d.TagsNew, &d.TagsGone} {
		slices.SortStableFunc(*list, func(x, y TagChange) int {
			return cmp.Or(cmp.Compare(y.Landmarks, x.Landmarks), cmp.Compare(x.Name, y.Name))
		})
		if *list == nil {
			*list = []TagChange{}
		}
	}
	slices.SortFunc(d.Parents, func(x, y ParentMove) int {
		return cmp.Or(cmp.Compare(x.Level, y.Level), cmp.Compare(y.Landmarks, x.Landmarks), cmp.Compare(x.Group, y.Group))
	})
	if d.Parents == nil {
		d.Parents = []ParentMove{}
	}
}
