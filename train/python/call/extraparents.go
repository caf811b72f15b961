package call

import (
	"errors"
	"fmt"
	"strconv"

	"hgld/labels"
	"hgld/train/retrieval"
)

// ExtraParent says that a class has another parent besides that of the tree. Classes are numbers, as in Side,
// with the names that errors call them by.
type ExtraParent struct {
	Level      string `json:"level"`       // name of the level of the class
	Class      int32  `json:"class"`       // its number
	ClassName  string `json:"class_name"`  // its name
	Parent     int32  `json:"parent"`      // the parent, a class of the next coarser level
	ParentName string `json:"parent_name"` // its name
	Where      string `json:"where"`       // of the row, for errors
}

// bindExtra lets the extra parents of m decide, if there are any.
func (m *Measures) bindExtra(e *retrieval.Evaluation, n *numbering) error {
	if m.Also != nil {
		return errors.New("also is now named extra_parents")
	}
	if len(m.ExtraParents) == 0 {
		return nil
	}
	if m.Independent || e.Query.Ignore != nil || e.Gallery.Ignore != nil {
		return errors.New("extra parents need levels that form a tree, and nothing to ignore")
	}
	names := make([]map[int32]string, len(m.Levels)) // of the classes that the list names
	for l := range names {
		names[l] = map[int32]string{}
	}
	list := make([]labels.ExtraParent, len(m.ExtraParents))
	for i, f := range m.ExtraParents {
		if f.Class < 0 || f.Parent < 0 {
			return fmt.Errorf("%s: want a class and an extra parent, and no missing one", f.Where)
		}
		list[i] = labels.ExtraParent{Level: f.Level, Class: f.ClassName, Parent: f.ParentName, Where: f.Where}
		for l, level := range m.Levels {
			if level == f.Level && l+1 < len(names) {
				names[l][f.Class], names[l+1][f.Parent] = f.ClassName, f.ParentName
			}
		}
	}
	classes := func(level int) []string {
		var of []string
		for _, class := range n.Names(level) {
			number, err := strconv.Atoi(class)
			name, named := names[level][int32(number)]
			if err != nil || !named {
				name = "\x00" + class // the list does not name it
			}
			of = append(of, name)
		}
		return of
	}
	truth, err := retrieval.NewMultiParent(m.Levels, classes, e.Query.Labels, e.Gallery.Labels, list)
	if err != nil {
		return err
	}
	e.Truth = truth
	return nil
}
