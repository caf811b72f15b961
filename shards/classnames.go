package shards

import (
	"slices"

	"hgld/internal/spelling"
	"hgld/labels"
)

// classNames watches the names of the classes of a source, level by level.
type classNames struct {
	levels []string
	forms  []spelling.Forms
	kinds  []map[labels.Split]*spelling.Kinds
}

func newClassNames(levels []string) *classNames {
	n := &classNames{levels: levels, forms: make([]spelling.Forms, len(levels))}
	for range levels {
		n.kinds = append(n.kinds, map[labels.Split]*spelling.Kinds{})
	}
	return n
}

// add notes the names of an item, finest first, and brings them into one form of Unicode: both forms
// of é are one name. It returns the names of the item, or a copy.
func (n *classNames) add(item *Item) []string {
	names := item.Names
	for l, name := range names[:min(len(names), len(n.levels))] {
		if name == "" {
			continue
		}
		k := n.kinds[l][item.Split]
		if k == nil {
			k = new(spelling.Kinds)
			n.kinds[l][item.Split] = k
		}
		k.Add(name)
		if form := n.forms[l].Add(name); form != name {
			if &names[0] == &item.Names[0] {
				names = slices.Clone(names)
			}
			names[l] = form
		}
	}
	return names
}

// notes names classes that are probably one, and splits whose classes are named in different ways.
func (n *classNames) notes(h *labels.Hierarchy) (list []string) {
	for l, level := range h.Levels[:min(len(n.levels), len(h.Levels))] {
		var names []string
		for _, c := range level.Classes {
			names = append(names, c.Name)
		}
		list = append(list, n.forms[l].Notes(level.Name, names)...)
		if note := n.kindNote(l); note != "" {
			list = append(list, level.Name+": "+note)
		}
	}
	return list
}

// kindNote names two splits of which one has numbers for classes and the other has texts.
func (n *classNames) kindNote(level int) string {
	numbers, texts := labels.Split(""), labels.Split("")
	for _, split := range labels.Splits {
		switch k := n.kinds[level][split]; {
		case k == nil:
		case k.OnlyNumbers() && numbers == "":
			numbers = split
		case k.OnlyTexts() && texts == "":
			texts = split
		}
	}
	if numbers == "" || texts == "" {
		return ""
	}
	return spelling.KindNote(string(numbers), string(texts), n.kinds[level][numbers], n.kinds[level][texts])
}
