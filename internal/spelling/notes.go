package spelling

import (
	"fmt"
	"strings"
	"unicode"
)

// mostNotes is how many names of a level are listed.
const mostNotes = 10

// notes names the classes of a level that are written in two forms of Unicode, and those that are
// probably one class.
func notes(level string, names, twoForms []string) (list []string) {
	for _, name := range twoForms[:min(len(twoForms), mostNotes)] {
		list = append(list, fmt.Sprintf("%s: %.80q is written in two forms of Unicode, and is one class", level, name))
	}
	list = appendMore(list, level, len(twoForms))
	twins := Twins(names)
	for _, group := range twins[:min(len(twins), mostNotes)] {
		list = append(list, fmt.Sprintf("%s: %s are %s classes; if they are one, spell them alike", level,
			quotedList(group), countOf(len(group))))
	}
	return appendMore(list, level, len(twins))
}

func appendMore(list []string, level string, all int) []string {
	if all > mostNotes {
		return append(list, fmt.Sprintf("%s: %d more such classes", level, all-mostNotes))
	}
	return list
}

func quotedList(names []string) string {
	var list []string
	for _, name := range names {
		list = append(list, fmt.Sprintf("%.80q", name))
	}
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " and " + list[last]
}

func countOf(n int) string {
	if n == 2 {
		return "two"
	}
	return fmt.Sprint(n)
}

// Kinds counts names that are numbers and names that are texts.
type Kinds struct {
	numbers, texts    int
	aNumber, someText string // the first of each
}

// Add counts a name.
func (k *Kinds) Add(name string) {
	if IsNumber(name) {
		if k.numbers++; k.numbers == 1 {
			k.aNumber = name
		}
	} else if k.texts++; k.texts == 1 {
		k.someText = name
	}
}

// OnlyNumbers reports whether all names are numbers.
func (k *Kinds) OnlyNumbers() bool { return k.texts == 0 && k.numbers > 0 }

// OnlyTexts reports whether no name is a number.
func (k *Kinds) OnlyTexts() bool { return k.numbers == 0 && k.texts > 0 }

// KindNote says that the classes of one place are numbers and those of another are texts.
func KindNote(numbers, texts string, of, others *Kinds) string {
	return fmt.Sprintf("the classes of %s are numbers (%s) and those of %s are names (%.80q); if they are the same "+
		"classes, name them alike", numbers, of.aNumber, texts, others.someText)
}

// Forms brings the names of a level into one form of Unicode. The zero value is ready to use.
type Forms struct{ seen map[string]forms }

// forms says in which forms a name occurs that has several.
type forms struct{ composed, other bool }

// Add returns the normal form of a name.
func (f *Forms) Add(name string) string {
	if IsASCII(name) {
		return name
	}
	form := Form(name)
	if f.seen == nil {
		f.seen = map[string]forms{}
	}
	of := f.seen[form]
	of.composed, of.other = of.composed || form == name, of.other || form != name
	f.seen[form] = of
	return form
}

// Notes names the classes that are written in two forms of Unicode, and those of names that are probably one class.
func (f *Forms) Notes(level string, names []string) []string {
	var both []string
	for _, name := range names {
		if of := f.seen[name]; of.composed && of.other {
			both = append(both, name)
		}
	}
	return notes(level, names, both)
}

// IsASCII reports whether a text has characters of ASCII alone, and so one form.
func IsASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII })
}
