package curate

import (
	"cmp"
	"fmt"
	"slices"
)

// Comparison sets two curators' sessions on one draft side by side. A tag counts
// where both have decided it, and one that only one of them has decided is a
// missing rating.
type Comparison struct {
	Categories []Category `json:"categories"` // what a tag could be put into: see Compare
	Table      [][]int    `json:"-"`          // [a][b]: tags that A put into category a and B into b
	Agreement  Agreement  `json:"agreement"`
	OnlyA      int        `json:"only_a"` // tags that A alone has decided
	OnlyB      int        `json:"only_b"`
	Neither    int        `json:"neither"`

	Differences []Difference       `json:"differences"` // most landmarks first
	Parents     []ParentDifference `json:"parent_differences"`
}

// Category is a declared group, or the act of dropping a tag.
type Category struct {
	Name    string `json:"name"`
	Dropped bool   `json:"dropped,omitempty"`
	Parent  string `json:"parent,omitempty"` // in the first session that has one
}

// String is the name, and "(dropped)" for dropping.
func (c Category) String() string {
	if c.Dropped {
		return "(dropped)"
	}
	return c.Name
}

// Difference is a tag that two curators have put into different categories.
type Difference struct {
	Tag       int    `json:"tag"` // position in the draft
	Name      string `json:"name"`
	QID       string `json:"qid,omitempty"`
	Landmarks int    `json:"landmarks"`
	A         string `json:"a"` // group, or "(dropped)"
	B         string `json:"b"`
}

// ParentDifference is a group that two curators have put under different
// parents.
type ParentDifference struct {
	Level int    `json:"level"`
	Group string `json:"group"`
	A     string `json:"a"`
	B     string `json:"b"`
}

// Compare compares two sessions on the same draft. The categories are the groups
// that either has declared, by name, whether they hold tags or not, and dropping
// if either has dropped a tag; they are compared at level 1, and their parents
// weigh the disagreements.
func Compare(a, b *Session) (*Comparison, error) {
	if err := onOneDraft(a, b); err != nil {
		return nil, err
	}
	c := &Comparison{Categories: categories(a, b), Differences: []Difference{}}
	index := positions(c.Categories)
	for range c.Categories {
		c.Table = append(c.Table, make([]int, len(c.Categories)))
	}
	for i := range a.now.levels[0] {
		x, y := a.Tag(i), b.Tag(i)
		switch {
		case !x.Decided && !y.Decided:
			c.Neither++
		case !y.Decided:
			c.OnlyA++
		case !x.Decided:
			c.OnlyB++
		default:
			c.Table[index[x.choice()]][index[y.choice()]]++
			if x.choice() != y.choice() {
				c.Differences = append(c.Differences, Difference{Tag: i, Name: x.Name, QID: x.QID,
					Landmarks: x.Landmarks, A: x.choice().String(), B: y.choice().String()})
			}
		}
	}
	slices.SortStableFunc(c.Differences, func(x, y Difference) int { return cmp.Compare(y.Landmarks, x.Landmarks) })
	c.Agreement = Agree(c.Table, numberParents(c.Categories))
	c.Parents = parentDifferences(a, b)
	return c, nil
}

// onOneDraft reports sessions of other levels or of another draft than the first.
func onOneDraft(sessions ...*Session) error {
	first := sessions[0]
	for _, s := range sessions[1:] {
		if !slices.Equal(first.names, s.names) {
			return fmt.Errorf("curate: the sessions have the levels %.80q and %.80q", first.names, s.names)
		}
		if !slices.EqualFunc(first.now.levels[0], s.now.levels[0], func(x, y node) bool { return x.Ref == y.Ref }) {
			return fmt.Errorf("curate: the sessions are of different drafts")
		}
	}
	return nil
}

// positions finds a choice in a list of categories.
func positions(list []Category) map[Category]int {
	index := map[Category]int{}
	for i, category := range list {
		index[Category{Name: category.Name, Dropped: category.Dropped}] = i
	}
	return index
}

// choice is the category that a decided tag is in.
func (t TagState) choice() Category { return Category{Name: t.Group, Dropped: t.Dropped} }

// categories lists the declared groups of all sessions by name, then dropping.
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
		for _, n := range s.now.levels[1] {
			if n.gone || !n.declared || known[n.Name] {
				continue
			}
			known[n.Name] = true
			list = append(list, Category{Name: n.Name, Parent: parent(n.Name)})
		}
		for _, n := range s.now.levels[0] {
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
	i, there := s.now.index[level][Ref{Name: name}]
	if !there || s.now.at(level, i).parent < 0 {
		return ""
	}
	return s.now.at(level+1, s.now.at(level, i).parent).Name
}

// numberParents gives parents as Agree takes them: categories without one are
// each alone. Where none has one the result is nil.
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

// parentDifferences lists the groups that both sessions put under a parent, but
// not under the same.
func parentDifferences(a, b *Session) []ParentDifference {
	list := []ParentDifference{}
	for l := 1; l+1 < len(a.names); l++ {
		for _, n := range a.now.levels[l] {
			x, y := a.parentOf(l, n.Name), b.parentOf(l, n.Name)
			if !n.gone && x != "" && y != "" && x != y {
				list = append(list, ParentDifference{Level: l, Group: n.Name, A: x, B: y})
			}
		}
	}
	slices.SortFunc(list, func(x, y ParentDifference) int {
		return cmp.Or(cmp.Compare(x.Level, y.Level), cmp.Compare(x.Group, y.Group))
	})
	return list
}
