package call

import (
	"errors"
	"fmt"
	"strconv"

	"hgld/labels"
	"hgld/train/retrieval"
)

// FurtherParent says that a class has another parent besides that of the tree. Classes are numbers, as in Side,
// with the names that errors call them by.
type FurtherParent struct {
	Level     string `json:"level"`      // name of the level of the class
	Class     int32  `json:"class"`      // its number
	ClassName string `json:"class_name"` // its name
	Also      int32  `json:"also"`       // the parent, a class of the next coarser level
	AlsoName  string `json:"also_name"`  // its name
	Where     string `json:"where"`      // of the row, for errors
}

// bindFurther lets the further parents of m decide, if there are any.
func (m *Measures) bindFurther(e *retrieval.Evaluation, n *numbering) error {
	if len(m.Also) == 0 {
		return nil
	}
	if m.Independent || e.Query.Ignore != nil || e.Gallery.Ignore != nil {
		return errors.New("further parents need levels that form a tree, and nothing to ignore")
	}
	names := make([]map[int32]string, len(m.Levels)) // of the classes that the list names
	for l := range names {
		names[l] = map[int32]string{}
	}
	list := make([]labels.FurtherParent, len(m.Also))
	for i, f := range m.Also {
		if f.Class < 0 || f.Also < 0 {
			return fmt.Errorf("%s: want a class and a further parent, and no missing one", f.Where)
		}
		list[i] = labels.FurtherParent{Level: f.Level, Class: f.ClassName, Parent: f.AlsoName, Where: f.Where}
		for l, level := range m.Levels {
			if level == f.Level && l+1 < len(names) {
				names[l][f.Class], names[l+1][f.Also] = f.ClassName, f.AlsoName
			}
		}
	}
	classes := func(level int) []string {
		var of []string
		for _, c := range n.builder.Hierarchy().Levels[level].Classes {
			number, err := strconv.Atoi(c.Name)
			name, named := names[level][int32(number)]
			if err != nil || !named {
				name = "\x00" + c.Name // the list does not name it
			}
			of = append(of, name)
		}
		return of
	}
	truth, err := retrieval.NewFurther(m.Levels, classes, e.Query.Labels, e.Gallery.Labels, list)
	if err != nil {
		return err
	}
	e.Truth = truth
	return nil
}
