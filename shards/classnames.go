package shards

import (
	"fmt"
	"slices"
	"strings"

	"hgld/internal/spelling"
	"hgld/labels"
)

// classNames watches the names of the classes of a source, level by level.
type classNames struct {
	levels []string
	forms  []map[string]forms
	kinds  []map[labels.Split]*kinds
}

// forms says in which forms of Unicode a name occurs that has several.
type forms struct{ composed, other bool }

// kinds counts the images of a split by the names of their classes.
type kinds struct {
	numbers, texts      int
	anyNumber, anyTexts string // the first of each
}

func newClassNames(levels []string) *classNames {
	n := &classNames{levels: levels}
	for range levels {
		n.forms, n.kinds = append(n.forms, map[string]forms{}), append(n.kinds, map[labels.Split]*kinds{})
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
			k = &kinds{}
			n.kinds[l][item.Split] = k
		}
		k.add(name)
		if isASCII(name) {
			continue
		}
		form := spelling.Form(name)
		f := n.forms[l][form]
		if form == name {
			f.composed = true
		} else {
			f.other = true
			if &names[0] == &item.Names[0] {
				names = slices.Clone(names)
			}
			names[l] = form
		}
		n.forms[l][form] = f
	}
	return names
}

func (k *kinds) add(name string) {
	if spelling.IsNumber(name) {
		if k.numbers++; k.numbers == 1 {
			k.anyNumber = name
		}
	} else if k.texts++; k.texts == 1 {
		k.anyTexts = name
	}
}

func isASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r > 127 })
}

// notes names classes that are probably one, and splits whose classes are named in different ways.
func (n *classNames) notes(h *labels.Hierarchy) (list []string) {
	for l, level := range h.Levels[:min(len(n.levels), len(h.Levels))] {
		var names []string
		for _, c := range level.Classes {
			names = append(names, c.Name)
		}
		both := 0
		for _, name := range names {
			if f := n.forms[l][name]; f.composed && f.other {
				if both++; both <= mostTwins {
					list = append(list, fmt.Sprintf("%s: %.80q is written in two forms of Unicode, and is one class", level.Name,
						name))
				}
			}
		}
		list = appendMore(list, level.Name, both)
		twins := spelling.Twins(names)
		for _, group := range twins[:min(len(twins), mostTwins)] {
			list = append(list, fmt.Sprintf("%s: %s are %s classes; if they are one, spell them alike", level.Name,
				quotedList(group), number(len(group))))
		}
		list = appendMore(list, level.Name, len(twins))
		if note := n.kindNote(l); note != "" {
			list = append(list, level.Name+": "+note)
		}
	}
	return list
}

// mostTwins is how many classes of a level are listed.
const mostTwins = 100

func appendMore(list []string, level string, all int) []string {
	if all > mostTwins {
		return append(list, fmt.Sprintf("%s: %d more such classes", level, all-mostTwins))
	}
	return list
}

// kindNote names two splits of which one has numbers for classes and the other has texts.
func (n *classNames) kindNote(level int) string {
	numbers, texts := labels.Split(""), labels.Split("")
	for _, split := range labels.Splits {
		switch k := n.kinds[level][split]; {
		case k == nil:
		case k.texts == 0 && numbers == "":
			numbers = split
		case k.numbers == 0 && texts == "":
			texts = split
		}
	}
	if numbers == "" || texts == "" {
		return ""
	}
	return fmt.Sprintf("the classes of %s are numbers (%s) and those of %s are names (%.80q); if they are the same "+
		"classes, name them alike", numbers, n.kinds[level][numbers].anyNumber, texts, n.kinds[level][texts].anyTexts)
}

func quotedList(names []string) string {
	var list []string
	for _, name := range names {
		list = append(list, fmt.Sprintf("%.80q", name))
	}
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " and " + list[last]
}

func number(n int) string {
	if n == 2 {
		return "two"
	}
	return fmt.Sprint(n)
}
