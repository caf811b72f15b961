package format

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"hgld/curate"
	"hgld/internal/seal"
	"hgld/labels"
)

// A curation in SKOS (W3C Recommendation, 2009) is a concept scheme. A tag or group is a
// concept, its parent is skos:broader, its Wikidata item skos:exactMatch, and a
// curator's note skos:editorialNote. A dropped tag is owl:deprecated, with the reason as
// skos:changeNote. The levels are classification levels of XKOS, coarsest first, and
// ordered collections, so that classes keep their order. The number of landmarks that
// carry a tag is a property that the file itself defines. IRIs are relative and resolve
// against the address that the file is published at.
//
// SKOS files by other programs need no levels: they follow from the depth of a concept
// below the top concepts.

const (
	skosNS     = "http://www.w3.org/2004/02/skos/core#"
	xkosNS     = "http://rdf-vocabulary.ddialliance.org/xkos#"
	owlNS      = "http://www.w3.org/2002/07/owl#"
	wikidataNS = "http://www.wikidata.org/entity/"

	countIRI = "#landmarks"
)

const skosHead = `@prefix rdf: <` + rdfNS + `> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <` + skosNS + `> .
@prefix xkos: <` + xkosNS + `> .
@prefix owl: <` + owlNS + `> .
@prefix wd: <` + wikidataNS + `> .

<` + countIRI + `> a rdf:Property ;
    rdfs:label "landmarks" ;
    rdfs:comment "Number of landmarks that carry the tag, or belong to the group." .

`

var item = regexp.MustCompile(`^Q[1-9][0-9]*$`)

// turtleStart matches the start of the first statement of a file, after comments.
var turtleStart = regexp.MustCompile(`^(?:\s|#[^\n]*\n)*(?i:@?prefix\s|@?base\s+<)`)

func isTurtle(data []byte) bool { return turtleStart.Match(data[:min(len(data), 1<<16)]) }

// writeSKOS writes SKOS with a last line, a comment, that has the hash of the lines before it.
func writeSKOS(w io.Writer, d *Document) error {
	h := d.Hierarchy
	if err := h.Check(); err != nil {
		return err
	}
	var text bytes.Buffer
	b := bufio.NewWriter(&text)
	fmt.Fprint(b, skosHead)
	top := len(h.Levels) - 1
	fmt.Fprintf(b, "<#scheme> a skos:ConceptScheme ;\n    xkos:numberOfLevels %d ;\n    xkos:levels (", len(h.Levels))
	for l := top; l >= 0; l-- {
		fmt.Fprintf(b, " %s", localIRI("level", h.Levels[l].Name))
	}
	fmt.Fprint(b, " )")
	if len(h.Origin) > 0 {
		var origin bytes.Buffer
		if err := json.Compact(&origin, h.Origin); err != nil {
			return err
		}
		fmt.Fprintf(b, " ;\n    skos:historyNote %s", turtleString(origin.String()))
	}
	for i, c := range h.Levels[top].Classes {
		separator := ",\n        "
		if i == 0 {
			separator = " ;\n    skos:hasTopConcept "
		}
		fmt.Fprintf(b, "%s%s", separator, localIRI(h.Levels[top].Name, c.Name))
	}
	fmt.Fprint(b, " .\n")
	for l := top; l >= 0; l-- {
		level := h.Levels[l]
		fmt.Fprintf(b, "\n%s a xkos:ClassificationLevel, skos:OrderedCollection ;\n    xkos:depth %d ;\n    skos:prefLabel "+
			"%s ;\n    skos:memberList (",
			localIRI("level", level.Name), top-l+1, turtleString(level.Name))
		for _, c := range level.Classes {
			fmt.Fprintf(b, "\n        %s", localIRI(level.Name, c.Name))
		}
		fmt.Fprint(b, " ) .\n")
	}
	for l := top; l >= 0; l-- {
		for i := range h.Levels[l].Classes {
			d.writeConcept(b, l, &h.Levels[l].Classes[i])
		}
	}
	if err := b.Flush(); err != nil {
		return err
	}
	_, err := w.Write(seal.Lines(text.Bytes()))
	return err
}

func (d *Document) writeConcept(b *bufio.Writer, l int, c *labels.Class) {
	h := d.Hierarchy
	fmt.Fprintf(b, "\n%s a skos:Concept ;\n    skos:inScheme <#scheme> ;\n    skos:prefLabel %s",
		localIRI(h.Levels[l].Name, c.Name), turtleString(c.Name))
	if c.Parent >= 0 && l+1 < len(h.Levels) {
		fmt.Fprintf(b, " ;\n    skos:broader %s", localIRI(h.Levels[l+1].Name, h.Levels[l+1].Classes[c.Parent].Name))
	}
	if item.MatchString(c.QID) {
		fmt.Fprintf(b, " ;\n    skos:exactMatch wd:%s", c.QID)
	} else if c.QID != "" {
		fmt.Fprintf(b, " ;\n    skos:notation %s", turtleString(c.QID))
	}
	if c.Dropped != "" {
		fmt.Fprintf(b, " ;\n    owl:deprecated true ;\n    skos:changeNote %s", turtleString(c.Dropped))
	}
	if c.Note != "" {
		fmt.Fprintf(b, " ;\n    skos:editorialNote %s", turtleString(c.Note))
	}
	if n, counted := d.count(l)[c.Name]; counted {
		fmt.Fprintf(b, " ;\n    <%s> %d", countIRI, n)
	}
	fmt.Fprint(b, " .\n")
}

func readSKOS(data []byte, name string, _ labels.ReadOptions) (*Document, error) {
	triples, err := parseTurtle(data, name)
	if err != nil {
		return nil, err
	}
	g := newGraph(name, triples)
	levels, err := g.levels()
	if err != nil {
		return nil, err
	}
	d := &Document{Hierarchy: &labels.Hierarchy{Version: labels.HierarchyVersion,
		Levels: make([]labels.Level, len(levels))}}
	at := map[string][2]int{} // concept -> level, position
	for l, level := range levels {
		for i, c := range level.concepts {
			if _, twice := at[c]; twice {
				return nil, g.errorf(c, "concept %s is in two levels, or twice in one; want each concept once", iri(c))
			}
			at[c] = [2]int{l, i}
		}
	}
	d.Landmarks = make([]map[string]int, len(levels))
	for l, level := range levels {
		d.Hierarchy.Levels[l].Name = level.name
		for _, c := range level.concepts {
			class, err := g.class(c, l, at)
			if err != nil {
				return nil, err
			}
			d.Hierarchy.Levels[l].Classes = append(d.Hierarchy.Levels[l].Classes, class)
			if err := g.counted(d, c, l, class.Name); err != nil {
				return nil, err
			}
		}
	}
	if !slices.ContainsFunc(d.Landmarks, func(m map[string]int) bool { return m != nil }) {
		d.Landmarks = nil
	}
	for _, s := range g.of(rdfNS+"type", skosNS+"ConceptScheme") {
		if text := g.text(s, skosNS+"historyNote"); json.Valid([]byte(text)) && strings.HasPrefix(text, "{") {
			d.Hierarchy.Origin = json.RawMessage(text)
		}
	}
	if err := d.Hierarchy.Check(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return d, nil
}

// graph holds the triples of a file by subject.
type graph struct {
	name     string
	order    []string // subjects in the order of the file
	subjects map[string][]triple
	ours     bool // the file has levels, as those that we write do
}

var wikidataItem = regexp.MustCompile(`^Q[1-9][0-9]*$`)

func newGraph(name string, triples []triple) *graph {
	g := &graph{name: name, subjects: map[string][]triple{}}
	for _, t := range triples {
		if _, known := g.subjects[t.subject]; !known {
			g.order = append(g.order, t.subject)
		}
		g.subjects[t.subject] = append(g.subjects[t.subject], t)
	}
	return g
}

func (g *graph) errorf(subject, format string, args ...any) error {
	where := g.name
	if t := g.subjects[subject]; len(t) > 0 {
		where += ":" + strconv.Itoa(t[0].line)
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
	var list []triple
	for _, t := range g.subjects[subject] {
		if t.predicate == predicate {
			list = append(list, t)
		}
	}
	return list
}

// text returns the text of a property, preferring one without a language, then English.
func (g *graph) text(subject, predicate string) string {
	best, found := 3, ""
	for _, t := range g.objects(subject, predicate) {
		rank := 2
		switch {
		case !t.object.literal:
			continue
		case t.object.language == "":
			rank = 0
		case strings.HasPrefix(strings.ToLower(t.object.language), "en"):
			rank = 1
		}
		if rank < best {
			best, found = rank, t.object.value
		}
	}
	return found
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

// conceptLevel is a level and its concepts.
type conceptLevel struct {
	name     string
	concepts []string
}

// levels returns the levels of a scheme, finest first.
func (g *graph) levels() ([]conceptLevel, error) {
	schemes := g.of(rdfNS+"type", skosNS+"ConceptScheme")
	for _, s := range schemes {
		listed := g.objects(s, xkosNS+"levels")
		if len(listed) == 0 {
			continue
		}
		g.ours = true
		iris, err := g.list(listed[0].object.value)
		if err != nil {
			return nil, err
		}
		slices.Reverse(iris)
		var levels []conceptLevel
		for _, iri := range iris {
			level := conceptLevel{name: g.text(iri, skosNS+"prefLabel")}
			if ordered := g.objects(iri, skosNS+"memberList"); len(ordered) > 0 {
				if level.concepts, err = g.list(ordered[0].object.value); err != nil {
					return nil, err
				}
			}
			for _, t := range g.objects(iri, skosNS+"member") {
				if !slices.Contains(level.concepts, t.object.value) {
					level.concepts = append(level.concepts, t.object.value)
				}
			}
			levels = append(levels, level)
		}
		return levels, nil
	}
	return g.depths()
}

// depths derives levels for a scheme that has none.
func (g *graph) depths() ([]conceptLevel, error) {
	concepts := g.of(rdfNS+"type", skosNS+"Concept")
	if len(concepts) == 0 {
		return nil, fmt.Errorf("%s: has no skos:Concept; want a SKOS concept scheme", g.name)
	}
	for _, c := range concepts { // skos:narrower is the inverse of skos:broader
		for _, t := range g.objects(c, skosNS+"narrower") {
			if child := t.object.value; !slices.ContainsFunc(g.objects(child, skosNS+"broader"),
				func(b triple) bool { return b.object.value == c }) {
				g.subjects[child] = append(g.subjects[child], triple{child, skosNS + "broader", term{value: c}, t.line})
			}
		}
	}
	deepest := 0
	depth := map[string]int{}
	for _, c := range concepts {
		n := 0
		for at := c; ; n++ {
			up := g.objects(at, skosNS+"broader")
			if len(up) == 0 {
				break
			}
			if at = up[0].object.value; n > len(concepts) {
				return nil, g.errorf(c, "concept %s is broader than itself; want a tree", iri(c))
			}
		}
		depth[c] = n
		deepest = max(deepest, n)
	}
	levels := make([]conceptLevel, deepest+1)
	for l := range levels {
		levels[l].name = fmt.Sprintf("level_%d", l)
		if len(levels) <= len(curate.DefaultLevels) {
			levels[l].name = curate.DefaultLevels[l]
		}
	}
	for _, c := range concepts {
		l := deepest - depth[c]
		levels[l].concepts = append(levels[l].concepts, c)
	}
	return levels, nil
}

// class reads a concept.
func (g *graph) class(c string, l int, at map[string][2]int) (labels.Class, error) {
	class := labels.Class{Name: g.text(c, skosNS+"prefLabel"), Parent: -1, Note: g.text(c, skosNS+"editorialNote")}
	if class.Name == "" {
		return class, g.errorf(c, "concept %s has no skos:prefLabel; want its name", iri(c))
	}
	if id := g.text(c, skosNS+"notation"); g.ours || wikidataItem.MatchString(id) {
		class.QID = id // in other schemes a notation is a number of their own
	}
	for _, t := range g.objects(c, skosNS+"exactMatch") {
		if id, ok := strings.CutPrefix(t.object.value, wikidataNS); ok {
			class.QID = id
		}
	}
	if deprecated := g.text(c, owlNS+"deprecated"); deprecated == "true" {
		class.Dropped = g.text(c, skosNS+"changeNote")
		if class.Dropped == "" {
			class.Dropped = "dropped"
		}
	}
	up := g.objects(c, skosNS+"broader")
	if len(up) > 1 {
		return class, g.errorf(c, "%.80q has two parents, %s and %s; a hierarchy is a tree, so remove one skos:broader",
			class.Name,
			iri(up[0].object.value), iri(up[1].object.value))
	}
	if len(up) == 1 {
		place, known := at[up[0].object.value]
		if !known || place[0] != l+1 {
			return class, g.errorf(c, "%.80q is below %s, which is not in the next level; want one level at a time", class.Name,
				iri(up[0].object.value))
		}
		class.Parent = int32(place[1])
	}
	return class, nil
}

// counted reads a concept's number of landmarks.
func (g *graph) counted(d *Document, c string, l int, name string) error {
	for _, t := range g.subjects[c] {
		if !strings.HasSuffix(t.predicate, countIRI) {
			continue
		}
		n, err := strconv.Atoi(t.object.value)
		if err != nil || n < 0 {
			return g.errorf(c, "%.80q has %.80q landmarks; want a whole number", name, t.object.value)
		}
		if d.Landmarks[l] == nil {
			d.Landmarks[l] = map[string]int{}
		}
		d.Landmarks[l][name] = n
	}
	return nil
}
