package curate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
)

// Comparison compares the sessions of two curators on one draft. It covers the tags that both
// have decided; a tag that only one has decided counts as a missing rating.
type Comparison struct {
	// Categories lists the choices for a tag (see Compare).
	Categories []Category `json:"categories"`
	// Table counts tags: [a][b] is the number that A put into category a and B into b.
	Table [][]int `json:"-"`
	// Agreement measures Table.
	Agreement Agreement `json:"agreement"`
	OnlyA     int       `json:"only_a"`  // number of tags that only A has decided
	OnlyB     int       `json:"only_b"`  // number of tags that only B has decided
	Neither   int       `json:"neither"` // number of tags that neither has decided

	// Differences are the tags that they put into different categories, most landmarks
	// first.
	Differences []Difference       `json:"differences"`
	Parents     []ParentDifference `json:"parent_differences"` // groups that they put under different parents
}

// Category is a declared group, or the act of dropping a tag.
type Category struct {
	Name    string `json:"name"`              // name of the group
	Dropped bool   `json:"dropped,omitempty"` // set for the act of dropping; Name is "" then
	Parent  string `json:"parent,omitempty"`  // name of its parent in the first session that has one
}

// String returns the name, or "(dropped)".
func (c Category) String() string {
	if c.Dropped {
		return "(dropped)"
	}
	return c.Name
}

// Difference is a tag that curators have put into different categories.
type Difference struct {
	Tag       int    `json:"tag"`           // its position in the draft
	Name      string `json:"name"`          // its text
	QID       string `json:"qid,omitempty"` // its Wikidata item
	Landmarks int    `json:"landmarks"`     // number of landmarks that carry it
	// Choices are the curators' choices in order: a group, "(dropped)", or "" where undecided. In
	// JSON, those of two curators are a and b.
	Choices []string `json:"choices,omitempty"`
}

// ParentDifference is a group that curators have put under different parents.
type ParentDifference struct {
	Level int    `json:"level"` // level of the group
	Group string `json:"group"` // its name
	// Choices are the curators' parents of it in order, "" for none. In JSON, those of two curators
	// are a and b.
	Choices []string `json:"choices,omitempty"`
}

// MarshalJSON calls the choices of two curators a and b.
func (d Difference) MarshalJSON() ([]byte, error) {
	type plain Difference
	if len(d.Choices) != 2 {
		return json.Marshal(plain(d))
	}
	a, b := d.Choices[0], d.Choices[1]
	d.Choices = nil
	return json.Marshal(struct {
		plain
		A string `json:"a"`
		B string `json:"b"`
	}{plain(d), a, b})
}

// MarshalJSON calls the parents of two curators a and b.
func (p ParentDifference) MarshalJSON() ([]byte, error) {
	type plain ParentDifference
	if len(p.Choices) != 2 {
		return json.Marshal(plain(p))
	}
	a, b := p.Choices[0], p.Choices[1]
	p.Choices = nil
	return json.Marshal(struct {
		plain
		A string `json:"a"`
		B string `json:"b"`
	}{plain(p), a, b})
}

// Compare compares two sessions on the same draft. The categories are the groups of
// level 1 that either session has declared, by name and with or without tags, and
// dropping if either has dropped a tag. The parents of the categories weigh the
// disagreements.
func Compare(a, b *Session) (*Comparison, error) {
	if err := onOneDraft(a, b); err != nil {
		return nil, err
	}
	c := &Comparison{Categories: categories(a, b), Differences: []Difference{}}
	ratings, differences := rate([]*Session{a, b}, c.Categories)
	c.Table = crossTable(ratings[0], ratings[1], len(c.Categories))
	for i, x := range ratings[0] {
		switch y := ratings[1][i]; {
		case x < 0 && y < 0:
			c.Neither++
		case y < 0:
			c.OnlyA++
		case x < 0:
			c.OnlyB++
		}
	}
	c.Differences = append(c.Differences, differences...)
	c.Agreement = Agree(c.Table, numberParents(c.Categories))
	c.Parents = parentDifferences(a, b)
	return c, nil
}

// rate returns the category of each tag for each session, [sessions][tags] with −1 for an undecided tag, and the tags
// whose categories differ, most landmarks first.
func rate(sessions []*Session, categories []Category) (ratings [][]int, differences []Difference) {
	index := map[Category]int{}
	for i, c := range categories {
		index[Category{Name: c.Name, Dropped: c.Dropped}] = i
	}
	ratings = make([][]int, len(sessions))
	for i := range sessions[0].state.levels[0] {
		d, rated, differ := Difference{Tag: i, Choices: make([]string, len(sessions))}, -1, false
		for k, s := range sessions {
			t, rating := s.Tag(i), -1
			d.Name, d.QID, d.Landmarks = t.Name, t.QID, t.Landmarks
			if t.Decided {
				choice := Category{Name: t.Group, Dropped: t.Dropped}
				rating, d.Choices[k] = index[choice], choice.String()
				differ, rated = differ || rated >= 0 && rated != rating, rating
			}
			ratings[k] = append(ratings[k], rating)
		}
		if differ {
			differences = append(differences, d)
		}
	}
	slices.SortStableFunc(differences, func(x, y Difference) int { return cmp.Compare(y.Landmarks, x.Landmarks) })
	return ratings, differences
}

// crossTable counts the tags that both have rated: [a][b] is the number that one put into a and the other into b.
func crossTable(one, other []int, categories int) [][]int {
	table := make([][]int, categories)
	for a := range table {
		table[a] = make([]int, categories)
	}
	for i, a := range one {
		if b := other[i]; a >= 0 && b >= 0 {
			table[a][b]++
		}
	}
	return table
}

// onOneDraft returns an error unless all sessions have the levels and the draft of the first.
func onOneDraft(sessions ...*Session) error {
	first := sessions[0]
	for _, s := range sessions[1:] {
		if !slices.Equal(first.names, s.names) {
			return fmt.Errorf("curate: the sessions have the levels %.80q and %.80q", first.names, s.names)
		}
		if !slices.EqualFunc(first.state.levels[0], s.state.levels[0], func(x, y node) bool { return x.Ref == y.Ref }) {
			return fmt.Errorf("curate: the sessions are of different drafts")
		}
	}
	return nil
}

// categories lists the declared groups of all sessions by name, followed by dropping.
func categories(sessions ...*Session) []Category {
	var list []Category
	known := map[string]bool{}
	dropped := false
	parent := func(name string) (of string) {
		for _, s := range sessions {
			of = cmp.Or(of, s.parentOf(1, name))
		}
		return of
	}
	for _, s := range sessions {
		for _, n := range s.state.levels[1] {
			if n.gone || !n.declared || known[n.Name] {
				continue
			}
			known[n.Name] = true
			list = append(list, Category{Name: n.Name, Parent: parent(n.Name)})
		}
		for _, n := range s.state.levels[0] {
			dropped = dropped || n.dropped
		}
	}
	slices.SortFunc(list, func(x, y Category) int { return cmp.Compare(x.Name, y.Name) })
	if dropped {
		list = append(list, Category{Dropped: true})
	}
	return list
}

// parentOf returns the name of a group's parent, "" if it has none.
func (s *Session) parentOf(level int, name string) string {
	i, there := s.state.index[level][Ref{Name: name}]
	if !there || s.state.at(level, i).parent < 0 {
		return ""
	}
	return s.state.at(level+1, s.state.at(level, i).parent).Name
}

// numberParents returns parents as Agree takes them. A category without a parent is a
// parent of its own. The result is nil if no category has a parent.
func numberParents(categories []Category) []int {
	numbers := map[string]int{}
	parents := make([]int, len(categories))
	for i, c := range categories {
		if c.Parent == "" {
			parents[i] = -1 - i
			continue
		}
		if _, known := numbers[c.Parent]; !known {
			numbers[c.Parent] = len(numbers)
		}
		parents[i] = numbers[c.Parent]
	}
	if len(numbers) == 0 {
		return nil
	}
	return parents
}

// parentDifferences lists the groups that the sessions put under more than one parent.
func parentDifferences(sessions ...*Session) []ParentDifference {
	list := []ParentDifference{}
	for l := 1; l+1 < len(sessions[0].names); l++ {
		known := map[string]bool{}
		for _, s := range sessions {
			for _, n := range s.state.levels[l] {
				if n.gone || known[n.Name] {
					continue
				}
				known[n.Name] = true
				p := ParentDifference{Level: l, Group: n.Name}
				for _, of := range sessions {
					p.Choices = append(p.Choices, of.parentOf(l, n.Name))
				}
				if len(distinct(p.Choices)) > 1 {
					list = append(list, p)
				}
			}
		}
	}
	slices.SortFunc(list, func(x, y ParentDifference) int {
		return cmp.Or(cmp.Compare(x.Level, y.Level), cmp.Compare(x.Group, y.Group))
	})
	return list
}

// distinct returns the choices that were made, each once, in order.
func distinct(choices []string) []string {
	var made []string
	for _, c := range choices {
		if c != "" && !slices.Contains(made, c) {
			made = append(made, c)
		}
	}
	return made
}
