package format

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"hgld/curate"
	"hgld/internal/budget"
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
// below the top concepts. Their names are in one language, that of most concepts. A second
// skos:broader is an extra parent. Concepts of a level with one name get the end of their
// IRI. A deprecated concept with nothing below it is a dropped tag, or is left out of a
// coarser level.

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

// turtleStart matches the start of the first statement of a file, after comments. N-Triples have no prefixes.
var turtleStart = regexp.MustCompile(`^(?:\s|#[^\n]*\n)*(?:(?i:@?prefix\s|@?base\s+<)|` +
	`(?:<[^<>"\s]*:[^<>"\s]*>|_:\w+)\s+<[^<>"\s]*:[^<>"\s]*>)`)

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
	extra := map[labels.ExtraParent][]string{}
	for _, f := range d.ExtraParents {
		class := labels.ExtraParent{Level: f.Level, Class: f.Class}
		extra[class] = append(extra[class], f.Parent)
	}
	for l := top; l >= 0; l-- {
		for i := range h.Levels[l].Classes {
			d.writeConcept(b, l, &h.Levels[l].Classes[i], extra)
		}
	}
	if err := b.Flush(); err != nil {
		return err
	}
	_, err := w.Write(seal.Lines(text.Bytes()))
	return err
}

// writeConcept writes a class. extra are the names of its parents beside that of the tree.
func (d *Document) writeConcept(b *bufio.Writer, l int, c *labels.Class, extra map[labels.ExtraParent][]string) {
	h := d.Hierarchy
	fmt.Fprintf(b, "\n%s a skos:Concept ;\n    skos:inScheme <#scheme> ;\n    skos:prefLabel %s",
		localIRI(h.Levels[l].Name, c.Name), turtleString(c.Name))
	if c.Parent >= 0 && l+1 < len(h.Levels) {
		fmt.Fprintf(b, " ;\n    skos:broader %s", localIRI(h.Levels[l+1].Name, h.Levels[l+1].Classes[c.Parent].Name))
	}
	for _, parent := range extra[labels.ExtraParent{Level: h.Levels[l].Name, Class: c.Name}] {
		fmt.Fprintf(b, " ;\n    skos:broader %s", localIRI(h.Levels[l+1].Name, parent))
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
	return readSKOSIn(data, name, "")
}

// readSKOSIn reads SKOS with the names of a language; "": that of most concepts.
func readSKOSIn(data []byte, name, language string) (*Document, error) {
	g := newGraph(name)
	g.language = language
	if err := parseTurtle(data, name, g.add); err != nil {
		return nil, err
	}
	levels, err := g.levels()
	if err != nil {
		return nil, err
	}
	others, err := g.chooseLanguage(levels)
	if err != nil {
		return nil, err
	}
	d := &Document{language: g.language, languages: others, Hierarchy: &labels.Hierarchy{Version: labels.HierarchyVersion,
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
		names := map[string]int{}
		for _, c := range level.concepts {
			names[g.text(c, skosNS+"prefLabel")]++
		}
		for _, c := range level.concepts {
			class, err := g.class(c, l, at)
			if err != nil {
				return nil, err
			}
			if names[class.Name] > 1 && !g.ours {
				class.Name = fmt.Sprintf("%s (%s)", class.Name, c[strings.LastIndexAny(c, "/#")+1:])
			}
			d.Hierarchy.Levels[l].Classes = append(d.Hierarchy.Levels[l].Classes, class)
			if err := g.counted(d, c, l, class.Name); err != nil {
				return nil, err
			}
		}
	}
	g.extra(d, levels, at)
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

// text returns the text of a property: one without a language, or else the shortest form of the file's language, such
// as en before en-GB. Names are in no other language; of other properties any text is better than none.
func (g *graph) text(subject, predicate string) string {
	best, found := 1000, ""
	for _, t := range g.objects(subject, predicate) {
		rank := 999
		switch {
		case !t.object.literal:
			continue
		case t.object.language == "":
			rank = 0
		case primary(t.object.language) == g.language:
			rank = min(len(t.object.language), 998)
		case predicate == skosNS+"prefLabel":
			continue
		}
		if rank < best {
			best, found = rank, t.object.value
		}
	}
	return found
}

// primary is the language of a tag such as en-GB, in lower case.
func primary(tag string) string {
	language, _, _ := strings.Cut(strings.ToLower(tag), "-")
	return language
}

// chooseLanguage chooses the language in which most concepts have a name, or English of several, unless one is chosen,
// and returns the others. A concept without a name in it, and without one of no language, is an error: names of several
// languages would look like one vocabulary.
func (g *graph) chooseLanguage(levels []conceptLevel) (others []string, err error) {
	counts := map[string]int{}
	for _, level := range levels {
		for _, c := range level.concepts {
			own := map[string]bool{}
			for _, t := range g.objects(c, skosNS+"prefLabel") {
				if t.object.literal && t.object.language != "" {
					own[primary(t.object.language)] = true
				}
			}
			for language := range own {
				counts[language]++
			}
		}
	}
	which := "the language of most names"
	if g.language != "" {
		which = "the chosen language"
	}
	others = slices.Sorted(maps.Keys(counts))
	for _, language := range others {
		if which == "the chosen language" {
			break
		}
		if n, best := counts[language], counts[g.language]; n > best || n == best && language == "en" {
			g.language = language
		}
	}
	var lacking []string
	for _, level := range levels {
		for _, c := range level.concepts {
			if len(g.objects(c, skosNS+"prefLabel")) > 0 && g.text(c, skosNS+"prefLabel") == "" {
				lacking = append(lacking, c)
			}
		}
	}
	others = slices.DeleteFunc(others, func(l string) bool { return l == g.language })
	if len(lacking) > 0 {
		return nil, g.errorf(lacking[0], "%d concepts have no skos:prefLabel in %.20q, %s, the first is %s; add these "+
			"names, remove the concepts, or choose another of the languages %s", len(lacking), g.language, which,
			iri(lacking[0]), strings.Join(others, ", "))
	}
	return others, nil
}

// extra lists the parents of concepts after their first.
func (g *graph) extra(d *Document, levels []conceptLevel, at map[string][2]int) {
	for l, level := range levels[:len(levels)-1] {
		for i, c := range level.concepts {
			up := g.objects(c, skosNS+"broader")
			for _, t := range up[min(1, len(up)):] {
				d.ExtraParents = append(d.ExtraParents, labels.ExtraParent{Level: level.name,
					Class:  d.Hierarchy.Levels[l].Classes[i].Name,
					Parent: d.Hierarchy.Levels[l+1].Classes[at[t.object.value][1]].Name,
					Where:  fmt.Sprintf("%s:%d", g.name, t.line)})
			}
		}
	}
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
			listed := map[string]bool{}
			for _, c := range level.concepts {
				listed[c] = true
			}
			for _, t := range g.objects(iri, skosNS+"member") {
				if c := t.object.value; !listed[c] {
					level.concepts, listed[c] = append(level.concepts, c), true
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
	parents := map[string]bool{}
	for _, c := range concepts { // skos:narrower is the inverse of skos:broader
		for _, t := range g.objects(c, skosNS+"narrower") {
			g.add(triple{t.object.value, skosNS + "broader", term{value: c}, t.line})
		}
	}
	depth, deepest := map[string]int{}, 0
	for _, c := range concepts {
		for _, t := range g.objects(c, skosNS+"broader") {
			parents[t.object.value] = true
		}
		n, err := g.depth(c, depth)
		if err != nil {
			return nil, err
		}
		deepest = max(deepest, n)
	}
	if err := budget.Deep("its concepts lie in", deepest+1); err != nil {
		return nil, fmt.Errorf("%s: %w", g.name, err)
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
		if l > 0 && g.deprecated(c) && !parents[c] {
			continue
		}
		levels[l].concepts = append(levels[l].concepts, c)
	}
	return levels, nil
}

// depth returns the number of concepts above one, by the first parent of each. known has those found before.
func (g *graph) depth(concept string, known map[string]int) (int, error) {
	var way []string
	on := map[string]bool{}
	n := -1 // above the top
	for at := concept; ; {
		if found, is := known[at]; is {
			n = found
			break
		}
		if on[at] {
			return 0, g.errorf(concept, "concept %s is broader than itself; want a tree", iri(concept))
		}
		on[at] = true
		way = append(way, at)
		up := g.objects(at, skosNS+"broader")
		if len(up) == 0 {
			break
		}
		at = up[0].object.value
	}
	for _, at := range slices.Backward(way) {
		n++
		known[at] = n
	}
	return known[concept], nil
}

func (g *graph) deprecated(c string) bool { return g.text(c, owlNS+"deprecated") == "true" }

// class reads a concept.
func (g *graph) class(c string, l int, at map[string][2]int) (labels.Class, error) {
	class := labels.Class{Name: g.text(c, skosNS+"prefLabel"), Parent: -1, Note: g.text(c, skosNS+"editorialNote")}
	if class.Name == "" {
		return class, g.errorf(c, "concept %s has no skos:prefLabel; want its name", iri(c))
	}
	if id := g.text(c, skosNS+"notation"); g.ours || item.MatchString(id) {
		class.QID = id // in other schemes a notation is a number of their own
	}
	for _, t := range g.objects(c, skosNS+"exactMatch") {
		if id, ok := strings.CutPrefix(t.object.value, wikidataNS); ok {
			class.QID = id
		}
	}
	if g.deprecated(c) && (l == 0 || g.ours) {
		class.Dropped = cmp.Or(g.text(c, skosNS+"changeNote"), "dropped")
		return class, nil // thesauri keep what it was below
	}
	for i, t := range g.objects(c, skosNS+"broader") {
		place, known := at[t.object.value]
		if !known || place[0] != l+1 {
			return class, g.errorf(c, "%.80q is below %s, which is not in the next level; want one level at a time", class.Name,
				iri(t.object.value))
		}
		if i == 0 {
			class.Parent = int32(place[1])
		}
	}
	return class, nil
}

// counted reads a concept's number of landmarks.
func (g *graph) counted(d *Document, c string, l int, name string) error {
	for _, f := range g.subjects[c] {
		t := g.triple(c, f)
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
