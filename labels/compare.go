package labels

import (
	"cmp"
	"fmt"
	"slices"
)

// Comparison is the difference between two label tables, A and B. A landmark without a
// label counts as absent.
type Comparison struct {
	Both    int               `json:"both"`    // landmarks with a label in both
	Same    int               `json:"same"`    // of those, with equal classes at every common level
	OnlyA   []LandmarkKey     `json:"only_a"`  // landmarks with a label in A alone
	OnlyB   []LandmarkKey     `json:"only_b"`  // landmarks with a label in B alone
	Levels  []LevelComparison `json:"levels"`  // the common levels, finest first
	Changes []Change          `json:"changes"` // every landmark and level that differs, in order of A
}

// LevelComparison counts the landmarks that differ at a level, and lists which classes
// of A are which classes of B.
type LevelComparison struct {
	Name   string       `json:"name"`   // of the level in A
	Differ int          `json:"differ"` // landmarks whose classes differ
	Swaps  []SwapCount  `json:"swaps"`  // most landmarks first
	OnlyA  []ClassCount `json:"only_a"` // classes that B does not have
	OnlyB  []ClassCount `json:"only_b"` // classes that A does not have
}

// SwapCount counts the landmarks of class A that have class B in the other table.
type SwapCount struct {
	A         string `json:"a"`         // class in A
	B         string `json:"b"`         // class in B
	Landmarks int    `json:"landmarks"` // how many have both
}

// ClassCount counts the landmarks of a class.
type ClassCount struct {
	Name      string `json:"name"`      // of the class
	Landmarks int    `json:"landmarks"` // how many have it
}

// Change is one landmark whose class at one level differs.
type Change struct {
	Split    Split      `json:"split"`       // of the landmark
	Landmark LandmarkID `json:"landmark_id"` // id within the split
	Level    string     `json:"level"`       // name of the level
	A        string     `json:"a"`           // class in A
	B        string     `json:"b"`           // class in B
}

// Equal reports whether nothing differs.
func (c *Comparison) Equal() bool { return len(c.OnlyA)+len(c.OnlyB)+len(c.Changes) == 0 }

// Compare compares the labels of two tables. It matches levels by name, or by position
// if no name is common, and leaves out the level of the landmarks themselves. Tables
// without a common split are a *SplitError, unless both have one id space.
func Compare(a, b *Table) (*Comparison, error) {
	pairs, err := commonLevels(a, b)
	if err != nil {
		return nil, err
	}
	oneSpace := a.OneIDSpace && b.OneIDSpace
	as, bs := a.labelledByKey(oneSpace), b.labelledByKey(oneSpace)
	if splits := b.Splits(); !oneSpace && len(splits) > 0 && !slices.ContainsFunc(a.Splits(),
		func(s Split) bool { return slices.Contains(splits, s) }) && len(a.Rows) > 0 {
		return nil, &SplitError{Table: b.name, Asked: a.Rows[0].Split, Have: splits, ID: b.Rows[0].Landmark}
	}
	c := &Comparison{OnlyA: []LandmarkKey{}, OnlyB: []LandmarkKey{}, Changes: []Change{}}
	for _, l := range as.order {
		other := bs.rows[as.key(l)]
		if other == nil {
			c.OnlyA = append(c.OnlyA, l.Key())
			continue
		}
		c.Both++
		changes := len(c.Changes)
		for _, p := range pairs {
			if x, y := l.Names[p.a], other.Names[p.b]; x != y {
				c.Changes = append(c.Changes, Change{l.Split, l.Landmark, p.name, x, y})
			}
		}
		if len(c.Changes) == changes {
			c.Same++
		}
	}
	for _, l := range bs.order {
		if as.rows[bs.key(l)] == nil {
			c.OnlyB = append(c.OnlyB, l.Key())
		}
	}
	for _, p := range pairs {
		c.Levels = append(c.Levels, compareLevel(p, c.Changes, as, bs))
	}
	return c, nil
}

// levelPair is a level that two tables have in common.
type levelPair struct {
	name string
	a, b int
}

func commonLevels(a, b *Table) ([]levelPair, error) {
	var pairs []levelPair
	for i, name := range a.Levels {
		if j := slices.Index(b.Levels, name); j >= 0 && name != LandmarkLevel {
			pairs = append(pairs, levelPair{name, i, j})
		}
	}
	if len(pairs) == 0 && len(a.Levels) == len(b.Levels) && len(a.Levels) > 1 {
		for i, name := range a.Levels {
			if name != LandmarkLevel && b.Levels[i] != LandmarkLevel {
				pairs = append(pairs, levelPair{name, i, i})
			}
		}
	}
	if len(pairs) == 0 {
		return nil, fmt.Errorf("compare: no level in common: %v and %v", a.Levels, b.Levels)
	}
	return pairs, nil
}

// keyedRows returns the labelled landmarks of a table by name.
type keyedRows struct {
	oneSpace bool
	order    []*LandmarkLabel
	rows     map[LandmarkKey]*LandmarkLabel
}

func (t *Table) labelledByKey(oneSpace bool) keyedRows {
	k := keyedRows{oneSpace: oneSpace, rows: make(map[LandmarkKey]*LandmarkLabel, len(t.Rows))}
	for i := range t.Rows {
		l := &t.Rows[i]
		if key := k.key(l); l.Labelled() && k.rows[key] == nil {
			k.rows[key] = l
			k.order = append(k.order, l)
		}
	}
	return k
}

func (k keyedRows) key(l *LandmarkLabel) LandmarkKey {
	if k.oneSpace {
		return LandmarkKey{Landmark: l.Landmark}
	}
	return l.Key()
}

func compareLevel(p levelPair, changes []Change, as, bs keyedRows) LevelComparison {
	c := LevelComparison{Name: p.name, Swaps: []SwapCount{}}
	swaps := map[[2]string]int{}
	for _, ch := range changes {
		if ch.Level == p.name {
			c.Differ++
			swaps[[2]string{ch.A, ch.B}]++
		}
	}
	for names, n := range swaps {
		c.Swaps = append(c.Swaps, SwapCount{names[0], names[1], n})
	}
	slices.SortFunc(c.Swaps, func(x, y SwapCount) int {
		return cmp.Or(y.Landmarks-x.Landmarks, cmp.Compare(x.A, y.A), cmp.Compare(x.B, y.B))
	})
	a, b := countClasses(as, p.a), countClasses(bs, p.b)
	c.OnlyA, c.OnlyB = without(a, b), without(b, a)
	return c
}

func countClasses(k keyedRows, level int) map[string]int {
	counts := map[string]int{}
	for _, l := range k.order {
		counts[l.Names[level]]++
	}
	return counts
}

// without returns the classes of a that b does not have, most landmarks first.
func without(a, b map[string]int) []ClassCount {
	list := []ClassCount{}
	for name, n := range a {
		if b[name] == 0 {
			list = append(list, ClassCount{name, n})
		}
	}
	slices.SortFunc(list, func(x, y ClassCount) int {
		return cmp.Or(y.Landmarks-x.Landmarks, cmp.Compare(x.Name, y.Name))
	})
	return list
}
