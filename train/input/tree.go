package input

import (
	"fmt"

	"hgld/labels"
)

// Relabel gives the items of a data set the classes of another tree, by the name of their finest
// class: the landmark of an image. The finest level of the table must have the same names. Items
// without a label there are left out. Data sets relabelled by one table can be evaluated together.
func Relabel(d Dataset, t *labels.Table) (*Subset, error) {
	tree := &relabelling{levels: t.Levels}
	for _, level := range t.Hierarchy.Levels {
		var names []string
		for _, c := range level.Classes {
			names = append(names, c.Name)
		}
		tree.classes = append(tree.classes, names)
	}
	paths := map[string]labels.Path{}
	for i := range t.Rows {
		if l := &t.Rows[i]; l.Labelled() {
			paths[l.Names[0]] = l.Path
		}
	}
	for _, name := range d.Classes(0) {
		tree.of = append(tree.of, paths[name])
	}
	s := &Subset{Of: d, tree: tree}
	for i := range d.Len() {
		if c := d.Labels(i)[0]; c >= 0 && tree.of[c] != nil {
			s.Rows = append(s.Rows, i)
		}
	}
	if len(s.Rows) == 0 {
		example := ""
		if names := d.Classes(0); len(names) > 0 {
			example = names[0]
		}
		return nil, fmt.Errorf("none of %d images has a label; want a label for their classes of the level %s, such as "+
			"%.80q", d.Len(), d.Levels()[0], example)
	}
	return s, nil
}

// relabelling are the classes of another tree.
type relabelling struct {
	levels  []string
	classes [][]string    // names of each level
	of      []labels.Path // of each finest class of the data set, nil for one without a label
}

// Lone counts the classes of a level that have a single class of the next finer level in a part of a data set. In an
// evaluation of the part, the positives of their items are the same at both levels.
type Lone struct {
	Level, Finer string // names of the two levels
	Classes      int    // of the level, in the part
	Single       int    // those with a single class of the finer level in the part
	More         int    // those of Single that have more in the whole data set
	Example      string // the first of Single, one of More if there is any
	Only         string // its class of the finer level
}

// String describes the count.
func (l Lone) String() string {
	text := fmt.Sprintf("hold_out: %d of %d held-out classes of the level %s have one held-out class of %s, "+
		"such as %s with %s: they have the same positives at both levels",
		l.Single, l.Classes, l.Level, l.Finer, l.Example, l.Only)
	if l.More > 0 {
		text += fmt.Sprintf("; a larger share would hold out more of %d of them", l.More)
	}
	return text
}

// LoneClasses returns the pairs of neighbouring levels for which a part of a data set has such classes.
func LoneClasses(whole, part Dataset) []Lone {
	var list []Lone
	levels := whole.Levels()
	for level := 1; level < len(levels); level++ {
		all, in := children(whole, level), children(part, level)
		l := Lone{Level: levels[level], Finer: levels[level-1]}
		for class, name := range whole.Classes(level) {
			finer := in[int32(class)]
			if len(finer) == 0 {
				continue
			}
			l.Classes++
			if len(finer) > 1 {
				continue
			}
			more := len(all[int32(class)]) > 1
			if l.Single == 0 || more && l.More == 0 {
				l.Example = name
				for only := range finer {
					l.Only = whole.Classes(level - 1)[only]
				}
			}
			l.Single++
			if more {
				l.More++
			}
		}
		if l.Single > 0 {
			list = append(list, l)
		}
	}
	return list
}

// children returns the classes of the next finer level of each class of a level that items have.
func children(d Dataset, level int) map[int32]map[int32]bool {
	of := map[int32]map[int32]bool{}
	for i := range d.Len() {
		p := d.Labels(i)
		if p[level] < 0 || p[level-1] < 0 {
			continue
		}
		if of[p[level]] == nil {
			of[p[level]] = map[int32]bool{}
		}
		of[p[level]][p[level-1]] = true
	}
	return of
}
