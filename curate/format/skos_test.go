package format

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"hgld/internal/testing/must"
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
		{head + "<a> a skos:Concept ; skos:prefLabel \"a\" ; skos:broader <a> .", "broader than itself"},
		{two + "<c> a skos:Concept ; skos:prefLabel \"c\"@de .\n<d> a skos:Concept ; skos:prefLabel \"d\"@fr .\n",
			`x.ttl:5: 1 concepts have no skos:prefLabel in "de"`},
		{two + "<c> a skos:Concept ; skos:prefLabel \"c\" ; skos:broader <a>, <d> .\n", `"c" is below <d>, which is not in`},
		{chainOfConcepts(20_000), "its concepts lie in"},
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

// chainOfConcepts is a scheme in which each concept is below the next.
func chainOfConcepts(n int) string {
	var b strings.Builder
	b.WriteString("@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n")
	for i := range n {
		fmt.Fprintf(&b, "<#c%d> a skos:Concept ; skos:prefLabel \"c%d\"", i, i)
		if i+1 < n {
			fmt.Fprintf(&b, " ; skos:broader <#c%d>", i+1)
		}
		b.WriteString(" .\n")
	}
	return b.String()
}

// A thesaurus has several languages, deprecated concepts, several parents, and homonyms. The order of statements says
// nothing.
func TestThesauriAreReadAsTheyAre(t *testing.T) {
	const head = "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n" +
		"@prefix owl: <http://www.w3.org/2002/07/owl#> .\n@prefix ex: <http://e/> .\n"
	const languages = `ex:n a skos:Concept ; skos:prefLabel "Natur"@de, "nature"@fr .
ex:l a skos:Concept ; skos:prefLabel "See"@de, "lac"@fr ; skos:broader ex:n .
ex:b a skos:Concept ; skos:prefLabel "baie"@fr, "Bucht"@de ; skos:broader ex:n .
`
	const english = `ex:i a skos:Concept ; skos:prefLabel "Insel"@de, "island"@en-US, "isle"@en, "île"@fr ;
    skos:broader ex:n .`
	const tree = `ex:n a skos:Concept ; skos:prefLabel "n" .
ex:a a skos:Concept ; skos:prefLabel "a" ; skos:broader ex:n .
ex:c a skos:Concept ; skos:prefLabel "c" ; skos:broader ex:n .
`
	for name, c := range map[string]struct {
		text, read string
		rows       []row
		extra      string
	}{
		"one language": {languages, `"de"`, []row{{tag: "Bucht", group: "Natur"}, {tag: "See", group: "Natur"}}, ""},
		"the most complete one": {languages + english, `"de"`, []row{{tag: "Bucht", group: "Natur"},
			{tag: "Insel", group: "Natur"}, {tag: "See", group: "Natur"}}, ""},
		"a statement twice": {tree + "ex:a skos:broader ex:n ; skos:prefLabel \"a\" .\n", "",
			[]row{{tag: "a", group: "n"}, {tag: "c", group: "n"}}, ""},
		"a deprecated concept with a parent": {tree + "ex:a owl:deprecated true .\n", "",
			[]row{{tag: "a", dropped: "dropped"}, {tag: "c", group: "n"}}, ""},
		"a deprecated concept above the tags": {
			tree + "ex:old a skos:Concept ; skos:prefLabel \"old\" ; owl:deprecated true .\n", "",
			[]row{{tag: "a", group: "n"}, {tag: "c", group: "n"}}, ""},
		"two parents": {tree + "ex:m a skos:Concept ; skos:prefLabel \"m\" .\nex:c skos:broader ex:m .\n", "",
			[]row{{tag: "a", group: "n"}, {tag: "c", group: "n"}}, "tag c m"},
		"homonyms": {tree + "<http://e/banks#7> a skos:Concept ; skos:prefLabel \"a\" ; skos:broader ex:n .\n", "",
			[]row{{tag: "a (7)", group: "n"}, {tag: "a (a)", group: "n"}, {tag: "c", group: "n"}}, ""},
	} {
		d := read(t, []byte(head+c.text), "t.ttl")
		if got := rowsOf(d.Hierarchy); !slices.Equal(got, c.rows) || c.read != "" && !strings.Contains(d.ReadAs(), c.read) {
			t.Errorf("%s: %q (%s), want %q in %s", name, got, d.ReadAs(), c.rows, c.read)
		}
		extra := ""
		for _, f := range d.ExtraParents {
			extra += strings.Join([]string{f.Level, f.Class, f.Parent}, " ")
		}
		if extra != c.extra {
			t.Errorf("%s: extra parents %q, want %q", name, extra, c.extra)
		}
		if again := read(t, write(t, d, "skos"), "again.ttl"); len(again.ExtraParents) != len(d.ExtraParents) {
			t.Errorf("%s: written and read again, %d extra parents are %d", name, len(d.ExtraParents), len(again.ExtraParents))
		}
	}
}

// Another language than that of most names can be chosen, and an error names those that there are.
func TestTheLanguageOfAThesaurusIsChosen(t *testing.T) {
	const text = "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n@prefix ex: <http://e/> .\n" +
		"ex:n a skos:Concept ; skos:prefLabel \"Natur\"@de, \"nature\"@fr .\n" +
		"ex:l a skos:Concept ; skos:prefLabel \"See\"@de, \"lac\"@fr-CA, \"lago\"@it ; skos:broader ex:n .\n"
	d, err := Read([]byte(text), "t.ttl", "skos:fr", labels.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	language, others := d.Languages()
	if got := rowsOf(d.Hierarchy); !slices.Equal(got, []row{{tag: "lac", group: "nature"}}) || language != "fr" ||
		!slices.Equal(others, []string{"de", "it"}) || d.read != "skos" {
		t.Errorf("%q in %s beside %q as %s", got, language, others, d.read)
	}
	for format, want := range map[string]string{"skos:it": "or choose another of the languages de, fr",
		"skos:xx": "choose another of the languages de, fr, it", "skos:": "unknown format", "sheet:fr": "unknown format"} {
		if _, err := Read([]byte(text), "t.ttl", format, labels.ReadOptions{}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", format, err, want)
		}
	}
}

// N-Triples are Turtle, and RDF/XML is named with the way to convert it.
func TestOtherSyntaxesOfRDF(t *testing.T) {
	const triples = "# made elsewhere\n<http://e/a> <" + rdfNS + "type> <" + skosNS + "Concept> .\n" +
		"<http://e/a> <" + skosNS + "prefLabel> \"a\" .\n"
	if d := read(t, []byte(triples), "t.nt"); d.read != "skos" || len(d.Hierarchy.Levels[0].Classes) != 1 {
		t.Errorf("N-Triples are read as %s", d.ReadAs())
	}
	const xml = "<?xml version=\"1.0\"?>\n<rdf:RDF xmlns:rdf=\"" + rdfNS + "\"></rdf:RDF>"
	_, err := Read([]byte(xml), "t.rdf", "", labels.ReadOptions{})
	if err == nil || !strings.Contains(err.Error(), "SKOS in RDF/XML, which is not read; convert it to Turtle") {
		t.Errorf("RDF/XML: %v", err)
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
		if err := parseTurtle([]byte(text[:n]), "x", func(triple) {}); err != nil && !strings.HasPrefix(err.Error(), "x") {
			t.Fatal(fmt.Errorf("cut at %d: %w", n, err))
		}
	}
}

// A million statements fit into eight megabytes of Turtle. What is held of one is counted, because a hostile file has
// nothing else: 16 bytes and the growth of its list. Entries of a map would count twice, since a map may be half full.
func TestStatementsTakeLittleMemory(t *testing.T) {
	var text strings.Builder
	text.WriteString("@prefix skos: <" + skosNS + "> .\n@prefix e: <http://e.org/> .\n")
	const concepts, narrower = 1000, 50
	for i := range concepts {
		fmt.Fprintf(&text, "e:c%d a skos:Concept ; skos:prefLabel \"c%d\" ; skos:narrower e:d0", i, i)
		for j := range narrower - 1 {
			fmt.Fprintf(&text, ", e:d%d", j+1)
		}
		text.WriteString(" .\n")
	}
	g := newGraph("x")
	must.Do(t, parseTurtle([]byte(text.String()), "x", g.add))
	held, facts := 2*len(g.seen)*int(unsafe.Sizeof(statement{})), 0
	for _, list := range g.subjects {
		held += cap(list) * int(unsafe.Sizeof(fact{}))
		facts += len(list)
	}
	if facts != concepts*(narrower+2) || held/facts > 60 || len(g.texts) > 3*concepts || len(g.order) != concepts {
		t.Errorf("%d bytes are held of %d statements, with %d texts and %d subjects", held, facts, len(g.texts), len(g.order))
	}
}
