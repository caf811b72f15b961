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
