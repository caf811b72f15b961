package labels

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Parents holds the parents of classes of which some have several (docs/label-semantics.md). A path goes from a finest
// class up, at each step to one parent. Classes are numbered as in the rows that it was made from.
type Parents struct {
	Used   int      // extra parents whose class a row has
	Unseen []string // extra parents that no row has in the tree, by name

	names []string
	index []map[string]int32  // number of each class, by level
	of    []map[int32][]int32 // parents of each class, by level; that of the tree first
	seen  []map[int32]bool    // the classes of the rows
	added []string            // what the list adds to the tree, sorted
}

// NewParents joins the parents that rows state with extra ones. levels are the names of the levels, finest first,
// and classes returns the class names of a level, by number. A class that no row has gets its parents from the list
// alone. The error names the row of the list that cannot be used, or says that rows lack levels, which would leave
// it unknown what they are to one another.
func NewParents(levels []string, classes func(level int) []string, list []ExtraParent, rows ...[]Path) (*Parents,
	error) {
	p := &Parents{names: levels, index: make([]map[string]int32, len(levels)),
		of: make([]map[int32][]int32, len(levels)), seen: make([]map[int32]bool, len(levels))}
	for l := range levels {
		p.index[l], p.of[l], p.seen[l] = map[string]int32{}, map[int32][]int32{}, map[int32]bool{}
		for i, name := range classes(l) {
			p.index[l][name] = int32(i)
		}
	}
	for _, side := range rows {
		for _, path := range side {
			if err := p.learn(path); err != nil {
				return nil, err
			}
		}
	}
	return p, p.bind(list)
}

// learn notes the parents that a row states.
func (p *Parents) learn(path Path) error {
	switch path.Depth() {
	case 0:
		return nil
	case len(path):
	default:
		return errors.New("extra parents need a class at every level, and some rows lack one")
	}
	for l, c := range path {
		p.seen[l][c] = true
		if l+1 < len(path) {
			p.add(l, c, path[l+1])
		}
	}
	return nil
}

// add notes a parent, and reports whether it is new.
func (p *Parents) add(level int, class, parent int32) bool {
	if slices.Contains(p.of[level][class], parent) {
		return false
	}
	p.of[level][class] = append(p.of[level][class], parent)
	return true
}

// bind adds the extra parents.
func (p *Parents) bind(list []ExtraParent) error {
	for _, f := range list {
		level := slices.Index(p.names, f.Level)
		if level < 0 || level+1 == len(p.names) {
			return &ExtraParentLevelError{f, p.names}
		}
		class, parent := p.number(level, f.Class), p.number(level+1, f.Parent)
		if p.add(level, class, parent) {
			p.added = append(p.added, strings.Join([]string{f.Level, f.Class, f.Parent}, "\x00"))
		}
		if !p.seen[level][class] {
			continue
		}
		p.Used++
		if !p.seen[level+1][parent] && !slices.Contains(p.Unseen, f.Parent) {
			p.Unseen = append(p.Unseen, f.Parent)
		}
	}
	for _, f := range list {
		level := slices.Index(p.names, f.Level) + 1
		if level+1 < len(p.names) && p.seen[level-1][p.number(level-1, f.Class)] &&
			len(p.of[level][p.number(level, f.Parent)]) == 0 {
			return fmt.Errorf("%s: no item has the %s %.80q, so its %s is unknown; add a row %s,%s,… with it", f.Where,
				p.names[level], f.Parent, p.names[level+1], p.names[level], f.Parent)
		}
	}
	slices.Sort(p.added)
	return nil
}

// Paths returns the paths of a finest class. The first is that of the tree.
func (p *Parents) Paths(finest int32) []Path {
	list := []Path{{finest}}
	for l := 1; l < len(p.names); l++ {
		var longer []Path
		for _, path := range list {
			for _, parent := range p.of[l-1][path[l-1]] {
				longer = append(longer, append(path[:l:l], parent))
			}
		}
		list = longer
	}
	return list
}

// CheckUsed returns an error if no row has the class of any of the list, which has at least one.
func (p *Parents) CheckUsed(list []ExtraParent) error {
	if p.Used > 0 {
		return nil
	}
	return fmt.Errorf("%s: no item has the %s %.80q, nor any other class of the file: want names as in the labels",
		list[0].Where, list[0].Level, list[0].Class)
}

// Report says how many extra parents of a file apply, and which no item has in the tree.
func (p *Parents) Report(path string, list []ExtraParent, log func(format string, args ...any)) {
	s := "s"
	if len(list) == 1 {
		s = ""
	}
	log("%s: %d of %d extra parent%s apply here", path, p.Used, len(list), s)
	if len(p.Unseen) > 0 {
		log("warning: no item has the class %.200q; check the spelling", p.Unseen)
	}
}

// Hash writes what the list adds to the tree, in an order of its own.
func (p *Parents) Hash(w io.Writer) { io.WriteString(w, strings.Join(p.added, "\x00\x00")) }

// ExtraParentLevelError says that an extra parent is of a level that the labels do not have, or of their coarsest one.
type ExtraParentLevelError struct {
	Row    ExtraParent // of the list
	Levels []string    // of the labels, finest first
}

// Error names the row and the levels that may have extra parents.
func (e *ExtraParentLevelError) Error() string {
	if len(e.Levels) < 2 {
		return fmt.Sprintf("%s: the level is %.80q; an extra parent needs labels of two levels or more, and these have "+
			"%.200q alone", e.Row.Where, e.Row.Level, e.Levels)
	}
	return fmt.Sprintf("%s: the level is %.80q; want one below the coarsest: %.200q", e.Row.Where, e.Row.Level,
		e.Levels[:len(e.Levels)-1])
}

// number returns the number of a class, and a new one for a new name.
func (p *Parents) number(level int, name string) int32 {
	c, known := p.index[level][name]
	if !known {
		c = int32(len(p.index[level]))
		p.index[level][name] = c
	}
	return c
}

// Above returns the classes at each level, from the finest up, over all paths of a finest class.
func (p *Parents) Above(finest int32) [][]int32 {
	all := make([][]int32, len(p.names))
	all[0] = []int32{finest}
	for l := 1; l < len(all); l++ {
		for _, c := range all[l-1] {
			for _, parent := range p.of[l-1][c] {
				if !slices.Contains(all[l], parent) {
					all[l] = append(all[l], parent)
				}
			}
		}
	}
	return all
}
