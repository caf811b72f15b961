package format

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"hgld/labels"
)

// A scheme of other make: languages, narrower, no levels, a long text, a blank
// node, comments, a base.
const foreign = `# made elsewhere
@base <http://example.org/places/> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
PREFIX ex: <http://example.org/places/>
prefix wd: <http://www.wikidata.org/entity/>

ex:scheme a skos:ConceptScheme ; skos:hasTopConcept ex:natural, <made> .
ex:natural a skos:Concept ; skos:notation "N.1" ; skos:prefLabel "naturel"@fr, "natural"@en ; skos:narrower ex:lake.
<made> a skos:Concept ; skos:prefLabel 'human-made' .
ex:lake a skos:Concept ; skos:notation "Q23397" ; skos:prefLabel "lake" ; skos:altLabel """a
"long" text""" ; .
ex:church a skos:Concept ; skos:prefLabel "church"@en-GB ; skos:broader <made> ; skos:note [ a skos:Thing ; skos:value 1.5 , true, "x"^^<http://www.w3.org/2001/XMLSchema#string> ] .
ex:t1 a skos:Concept ; skos:prefLabel "caf\u00e9\t\U0001F3DB" ; skos:broader ex:church ; skos:exactMatch wd:Q1 .
[] skos:related ex:t1 .
`

func TestSKOSOfOtherToolsIsRead(t *testing.T) {
	d := read(t, []byte(foreign), "places.ttl")
	if d.read != "skos" {
		t.Fatalf("taken for %s", d.read)
	}
	want := []row{{tag: "café\t🏛", qid: "Q1", group: "church", kind: "human-made"}}
	if got := rowsOf(d.Hierarchy); !slices.Equal(got, want) {
		t.Errorf("tags %q, want %q", got, want)
	}
	var groups []string
	for _, c := range d.Hierarchy.Levels[1].Classes {
		groups = append(groups, c.Name+c.QID+" < "+d.Hierarchy.Levels[2].Classes[c.Parent].Name)
	}
	if want := []string{"lakeQ23397 < natural", "church < human-made"}; !slices.Equal(groups, want) {
		t.Errorf("groups %q, want %q", groups, want)
	}
	if top := d.Hierarchy.Levels[2].Classes[0]; top.QID != "" {
		t.Errorf("the number %q of a scheme is taken for a Wikidata item", top.QID)
	}
}

func TestDamagedTurtleNamesTheLine(t *testing.T) {
	const head = "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n"
	const two = head + "<a> a skos:Concept ; skos:prefLabel \"a\" .\n<b> a skos:Concept ; skos:prefLabel \"b\" .\n"
	for _, c := range []struct{ text, want string }{
		{head + "<a> a skos:Concept", `want "." behind a statement`},
		{head + "<a> a skos:Concept ; skos:prefLabel \"x .\n", "x.ttl:2: the text"},
		{head + "\n<a> a other:Thing .", `x.ttl:3: prefix "other" is not declared`},
		{head + "<a b> a skos:Concept .", "is not closed"},
		{head + "\"a\" a skos:Concept .", "is the subject"},
		{head + "<a> skos:prefLabel \"\\q\" .", "is not an escape"},
		{head + "<a> skos:prefLabel \"\\uD800\" .", "is not a character"},
		{head + "<a> skos:member ( <b> ", "ends in the middle"},
		{head, "no skos:Concept"},
		{strings.Repeat("(", 1000), "brackets are open"},
		{"@prefix a: <b> . (.[", "want an IRI"},
		{head + "<a> a skos:Concept .", "x.ttl:2: concept <a> has no skos:prefLabel"},
		{two + "<c> a skos:Concept ; skos:prefLabel \"c\" ; skos:broader <a>, <b> .\n", `x.ttl:4: "c" has two parents`},
		{head + "<a> a skos:Concept ; skos:prefLabel \"a\" ; skos:broader <a> .", "broader than itself"},
		{two + "<c> a skos:Concept ; skos:prefLabel \"a\" .\n", `class "a" occurs twice`},
		{head + "<a> skos:prefLabel \"\xff\" .", "not UTF-8"},
		{strings.Replace(string(mustSKOS(t)), "<#landmarks> 1320", "<#landmarks> -4", 1), `"lake" has "-4" landmarks`},
		{strings.Replace(string(mustSKOS(t)), "skos:broader <#supercategory/lake>", "skos:broader <#kind/natural>", 1),
			"not in the next level"},
	} {
		_, err := Read([]byte(c.text), "x.ttl", "skos", labels.ReadOptions{})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "x.ttl") {
			t.Errorf("error %v, want one with %q", err, c.want)
		}
	}
}

func mustSKOS(t *testing.T) []byte { return write(t, church(), "skos") }

// No prefix of a file and no byte changed in it ends in a panic.
func FuzzTurtle(f *testing.F) {
	f.Add([]byte(foreign))
	f.Add([]byte("(.["))
	f.Add([]byte("@prefix a: <b> .\n[ a:b ( 1 'x' ) ] ."))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := Read(data, "x.ttl", "skos", labels.ReadOptions{})
		if err == nil && d.Hierarchy.Check() != nil {
			t.Error("a hierarchy that is none was read")
		}
	})
}

func TestTruncatedTurtleNeverPanics(t *testing.T) {
	text := foreign + string(mustSKOS(t))
	for n := range text {
		if _, err := parseTurtle([]byte(text[:n]), "x"); err != nil && !strings.HasPrefix(err.Error(), "x") {
			t.Fatal(fmt.Errorf("cut at %d: %w", n, err))
		}
	}
}
