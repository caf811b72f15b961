package format

import (
	"fmt"
	"slices"
	"strconv"
)

// graph holds the triples of a file by subject.
type graph struct {
	name     string
	order    []string // subjects in the order of the file
	subjects map[string][]fact
	texts    []string         // what facts name
	numbers  map[string]int32 // of texts
	seen     map[statement]bool
	ours     bool   // the file has levels, as those that we write do
	language string // of the names; "": they have none
}

// fact is what a statement says of its subject. A file of a few megabytes may have a million.
type fact struct {
	said
	line int32
}

// said is a fact without its line, in numbers of texts. The language of a resource is −1.
type said struct{ predicate, value, language int32 }

// statement is one of a subject with many facts.
type statement struct {
	subject int32 // number of a text
	said
}

func newGraph(name string) *graph {
	return &graph{name: name, subjects: map[string][]fact{}, numbers: map[string]int32{}, seen: map[statement]bool{}}
}

// longText is the length from which texts are not compared, as no address is so long: a hostile file may name one of a
// megabyte a million times.
const longText = 1 << 14

// number returns the number of a text.
func (g *graph) number(text string) int32 {
	if len(text) < longText {
		if n, known := g.numbers[text]; known {
			return n
		}
		g.numbers[text] = int32(len(g.texts))
	}
	g.texts = append(g.texts, text)
	return int32(len(g.texts) - 1)
}

// add adds a statement. One that a file has twice is one, as RDF is a set.
func (g *graph) add(t triple) {
	s := said{g.number(t.predicate), g.number(t.object.value), -1}
	if t.object.literal {
		s.language = g.number(t.object.language)
	}
	known := g.subjects[t.subject]
	if known == nil {
		g.order = append(g.order, t.subject)
	}
	const few = 256
	if len(known) < few {
		if slices.ContainsFunc(known, func(f fact) bool { return f.said == s }) {
			return
		}
	} else if len(t.subject) < longText {
		subject := g.number(t.subject)
		if len(known) == few {
			for _, f := range known {
				g.seen[statement{subject, f.said}] = true
			}
		}
		if g.seen[statement{subject, s}] {
			return
		}
		g.seen[statement{subject, s}] = true
	}
	g.subjects[t.subject] = append(known, fact{s, int32(t.line)})
}

// triple returns a fact in words.
func (g *graph) triple(subject string, f fact) triple {
	t := triple{subject, g.texts[f.predicate], term{value: g.texts[f.value], literal: f.language >= 0}, int(f.line)}
	if t.object.literal {
		t.object.language = g.texts[f.language]
	}
	return t
}

func (g *graph) errorf(subject, format string, args ...any) error {
	where := g.name
	if t := g.subjects[subject]; len(t) > 0 {
		where += ":" + strconv.Itoa(g.triple(subject, t[0]).line)
	}
	return fmt.Errorf("%s: "+format, append([]any{where}, args...)...)
}

// iri is an IRI as a message shows it, no longer than a line.
func iri(value string) string {
	text := fmt.Sprintf("%.120q", value)
	return "<" + text[1:len(text)-1] + ">"
}

// objects returns the objects of a subject and a predicate.
func (g *graph) objects(subject, predicate string) []triple {
	number, named := g.numbers[predicate]
	n := 0
	for _, f := range g.subjects[subject] {
		if named && f.predicate == number {
			n++
		}
	}
	list := make([]triple, 0, n)
	for _, f := range g.subjects[subject] {
		if named && f.predicate == number {
			list = append(list, g.triple(subject, f))
		}
	}
	return list
}

// of lists the subjects that have a property, in order.
func (g *graph) of(predicate, object string) []string {
	var list []string
	for _, s := range g.order {
		if slices.ContainsFunc(g.objects(s, predicate), func(t triple) bool { return t.object.value == object }) {
			list = append(list, s)
		}
	}
	return list
}

// list returns the members of an rdf:List.
func (g *graph) list(head string) ([]string, error) {
	var list []string
	for node := head; node != rdfNS+"nil"; {
		first, rest := g.objects(node, rdfNS+"first"), g.objects(node, rdfNS+"rest")
		if len(first) != 1 || len(rest) > 1 || len(list) > len(g.order) {
			return nil, g.errorf(node, "a list of concepts is broken; want ( … )")
		}
		list = append(list, first[0].object.value)
		if len(rest) == 0 {
			return list, nil
		}
		node = rest[0].object.value
	}
	return list, nil
}
