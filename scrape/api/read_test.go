package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/internal/testing/usertime"
	"hgld/labels"
	"hgld/scrape"
	"hgld/scrape/testing/fakecommons"
)

func answer(body string) []scrape.Answer {
	return []scrape.Answer{{Status: 200, Type: "application/json", Body: []byte(body)}}
}

func decoded[T any](t *testing.T, facts map[string]scrape.Fact, key string) T {
	t.Helper()
	var v T
	if facts[key] == nil {
		t.Fatalf("no fact about %s", key)
	}
	must.Do(t, json.Unmarshal(facts[key], &v))
	return v
}

// claim wraps statements in a reply about Q1.
func claim(property, statements string) string {
	return `{"entities":{"Q1":{"type":"item","id":"Q1","claims":{"` + property + `":[` + statements + `]}}},"success":1}`
}

func statementOf(snak, more string) string {
	return `{"mainsnak":` + snak + `,"rank":"normal"` + more + `}`
}

const parkSnak = `{"snaktype":"value","property":"P31","datavalue":{"type":"wikibase-entityid","value":` +
	`{"entity-type":"item","numeric-id":22698}}}`

// malformed lists replies that must not be taken for an answer, each with the step that reads it
// and the error.
var malformed = map[string]struct{ step, body, err string }{
	"empty":              {stepTitle, "", "want an object"},
	"white space":        {stepItem, " \n", "want an object"},
	"HTML":               {stepTitle, "<!DOCTYPE html><html></html>", "want an object"},
	"plain text":         {stepItem, "upstream connect error", "want an object"},
	"list":               {stepTitle, "[]", "want an object"},
	"null":               {stepTitle, "null", "want an object"},
	"number":             {stepItem, "5", "want an object"},
	"not UTF-8":          {stepTitle, "{\"query\":\"\xf1\"}", "is not UTF-8"},
	"UTF-16":             {stepTitle, "\xff\xfe{\x00", "is not UTF-8"},
	"gzip":               {stepItem, "\x1f\x8b\x08\x00", "is not UTF-8"},
	"cut in a key":       {stepTitle, `{"que`, "truncated or malformed"},
	"cut in a value":     {stepTitle, `{"query":{"pages":[{"title":"Cat`, "truncated or malformed"},
	"cut behind a value": {stepItem, `{"entities":{}`, "truncated or malformed"},
	"cut behind a colon": {stepItem, `{"entities":`, "truncated or malformed"},
	"cut behind a comma": {stepItem, `{"success":1,`, "truncated or malformed"},
	"no colon":           {stepItem, `{"entities" {}}`, "truncated or malformed"},
	"no comma":           {stepItem, `{"entities":{} "success":1}`, "truncated or malformed"},
	"key without quotes": {stepItem, `{entities:{}}`, "truncated or malformed"},
	"bad literal":        {stepItem, `{"success":yes}`, "truncated or malformed"},
	"two documents":      {stepItem, `{"entities":{}}{"entities":{}}`, "after top-level value"},
	"deep": {stepItem, `{"x":` + strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001) + `}`,
		"truncated or malformed"},
	"neither query nor error": {stepTitle, `{"batchcomplete":true}`, `neither "query" nor "error"`},
	"neither entities":        {stepItem, `{"success":1}`, `neither "entities" nor "error"`},
	"entities of Commons":     {stepItem, saidByWDTK, "is not that of an item"},
	"query is a list":         {stepTitle, `{"query":[]}`, `its "query"`},
	"pages of version 1":      {stepTitle, `{"query":{"pages":{"5":{"title":"Category:A"}}}}`, `its "query"`},
	"page id as text":         {stepTitle, `{"query":{"pages":[{"pageid":"5","title":"Category:A"}]}}`, `its "query"`},
	"timestamp": {stepTitle,
		`{"query":{"pages":[{"title":"Category:A","revisions":[{"revid":1,"timestamp":"yesterday"}]}]}}`, `its "query"`},
	"item is none": {stepTitle,
		`{"query":{"pages":[{"title":"Category:A","pageprops":{"wikibase_item":"Q1<script>"}}]}}`, "is not an item id"},
	"error as text": {stepTitle, `{"error":"broken"}`, "reply.error"},
	"unknown error": {stepTitle, `{"error":{"code":"badtoken","info":"x"}}`, `"badtoken"`},
	"error about another id": {stepItem,
		`{"error":{"code":"no-such-entity","info":"Could not find an entity with the ID \"Q7\".","id":"Q7"}}`,
		`"no-such-entity"`},
	"too many values": {stepItem, `{"error":{"code":"toomanyvalues","info":"Too many values"}}`,
		`"toomanyvalues"`},
	"entity is text":          {stepItem, `{"entities":{"Q1":"x"}}`, `entity "Q1"`},
	"entity without an id":    {stepItem, `{"entities":{"Q1":{"claims":{}}}}`, "is not that of an item"},
	"entity without claims":   {stepItem, `{"entities":{"Q1":{"id":"Q1","type":"item"}}}`, "has no claims"},
	"entity is a property":    {stepItem, `{"entities":{"Q1":{"id":"P31","claims":{}}}}`, "is not that of an item"},
	"revision as text":        {stepItem, `{"entities":{"Q1":{"id":"Q1","lastrevid":"x","claims":{}}}}`, "entity"},
	"modified":                {stepItem, `{"entities":{"Q1":{"id":"Q1","modified":"now","claims":{}}}}`, "Q1"},
	"claims as text":          {stepItem, `{"entities":{"Q1":{"id":"Q1","claims":"x"}}}`, "want an object"},
	"statements as an object": {stepItem, `{"entities":{"Q1":{"id":"Q1","claims":{"P31":{}}}}}`, "P31"},
	"value is a text": {stepItem, claim("P31",
		statementOf(`{"snaktype":"value","datavalue":{"type":"string","value":"park"}}`, "")), "want an item"},
	"value is a property": {stepItem, claim("P31",
		statementOf(`{"snaktype":"value","datavalue":{"type":"wikibase-entityid","value":{"id":"P5"}}}`, "")),
		"is not an item"},
	"value without a number": {stepItem, claim("P31",
		statementOf(`{"snaktype":"value","datavalue":{"type":"wikibase-entityid","value":{}}}`, "")), "is not an item"},
	"number beyond 64 bits": {stepItem, claim("P31",
		statementOf(`{"snaktype":"value","datavalue":{"type":"wikibase-entityid","value":`+
			`{"numeric-id":99999999999999999999}}}`, "")), "P31"},
	"unknown rank": {stepItem, claim("P31", strings.Replace(statementOf(parkSnak, ""), "normal", "best", 1)),
		"unknown rank"},
	"no rank": {stepItem, claim("P31", `{"mainsnak":`+parkSnak+`}`), "unknown rank"},
	"topic is a text": {stepItem, claim("P301",
		statementOf(`{"snaktype":"value","datavalue":{"type":"string","value":"x"}}`, "")), "P301"},
	"labels as text":    {stepClass, `{"entities":{"Q1":{"id":"Q1","labels":{"en":"park"}}}}`, "labels"},
	"bracket for brace": {stepItem, `{"entities":{"Q1":{"id":"Q1","claims":{"P31":[]}]}}}`, "truncated or malformed"},
}

// saidByWDTK returns a reply of Commons about a file, changed into an answer about Q1.
const saidByWDTK = `{"entities":{"Q1":{"pageid":125658679,"ns":6,"title":"File:Foo-1.png","type":"mediainfo"` +
	`,"id":"M89","labels":{},"statements":{}}}}`

func TestMalformedRepliesHaveANamedError(t *testing.T) {
	if len(malformed) < 40 {
		t.Fatalf("%d replies, want 40", len(malformed))
	}
	source := &Source{}
	for name, c := range malformed {
		keys := []string{"Q1"}
		if c.step == stepTitle {
			keys = []string{"Category:A"}
		}
		facts, err := source.Read(c.step, keys, answer(c.body))
		if err == nil || !strings.Contains(err.Error(), c.err) || len(err.Error()) > 400 {
			t.Errorf("%s: %v, facts %s; want an error with %q", name, err, facts, c.err)
		}
	}
}

func TestStatementsAreParsed(t *testing.T) {
	qualifiers := `,"qualifiers-order":["P580","P582","P642","P1107","P2096","P625"],"qualifiers":{
		"P580":[{"snaktype":"value","datavalue":{"type":"time","value":{"time":"+1172-05-03T00:00:00Z","precision":11}}}],
		"P582":[{"snaktype":"somevalue"}],
		"P642":[{"snaktype":"value","datavalue":{"type":"wikibase-entityid","value":{"id":"Q9"}}}],
		"P1107":[{"snaktype":"value","datavalue":{"type":"quantity","value":{"amount":"+0.5","unit":"1"}}}],
		"P2096":[{"snaktype":"value","datavalue":{"type":"monolingualtext","value":{"text":"Straße","language":"de"}}}],
		"P625":[{"snaktype":"value","datavalue":{"type":"globecoordinate","value":{"latitude":1}}}]}`
	body := claim("P31", statementOf(parkSnak, qualifiers)+`,`+statementOf(`{"snaktype":"novalue"}`, ""))
	facts := must.Get(readItems([]string{"Q1"}, answer(body), english))(t)
	want := []value{{QID: "Q22698", Rank: "normal", Qualifiers: []qualifier{{"P580", "", "3 May 1172"},
		{"P582", "", "somevalue"}, {"P642", "Q9", ""},
		{"P1107", "", "0.5"}, {"P2096", "", "Straße"}, {"P625", "", `{"latitude":1}`}}}}
	if got := decoded[itemFact](t, facts, "Q1").Values; !reflect.DeepEqual(got, want) {
		t.Errorf("values %+v\nwant   %+v", got, want)
	}
}

// If a member occurs twice, the last one counts, as in encoding/json.
func TestLastOfDuplicateJSONKeysCounts(t *testing.T) {
	item := func(qid string) string { return statementOf(strings.Replace(parkSnak, "22698", qid, 1), "") }
	for name, body := range map[string]string{
		"entity": `{"entities":{"Q1":{"id":"Q1","claims":{"P31":[` + item("5") + `]}},"Q1":{"id":"Q1","claims":{"P31":[` +
			item("7") + `]}}}}`,
		"claims": `{"entities":{"Q1":{"id":"Q1","claims":{"P31":[` + item("5") + `]},"claims":{"P31":[` + item("7") +
			`]}}}}`,
		"property": `{"entities":{"Q1":{"id":"Q1","claims":{"P31":[` + item("5") + `],"P31":[` + item("7") + `]}}}}`,
		"mainsnak": claim("P31", `{"mainsnak":{"snaktype":"novalue"},"mainsnak":`+strings.Replace(parkSnak, "22698", "7",
			1)+`,"rank":"normal"}`),
		"escaped": claim(`P3\u0031`, item("7")),
		"entities": `{"entities":{"Q1":{"id":"Q1","claims":{"P31":[` + item("5") +
			`]}}},"entities":{"Q1":{"id":"Q1","claims":{"P31":[` + item("7") + `]}}}}`,
		"qualifiers": claim("P31", statementOf(strings.Replace(parkSnak, "22698", "7", 1),
			`,"qualifiers-order":["P1"],"qualifiers-order":[],"qualifiers":[]`)),
	} {
		facts, err := readItems([]string{"Q1"}, answer(body), english)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got := decoded[itemFact](t, facts, "Q1").Values; !reflect.DeepEqual(got,
			[]value{{QID: "Q7", Rank: "normal"}}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestTimesArePrintedToTheirPrecision(t *testing.T) {
	for text, want := range map[string]string{
		`{"time":"+1172-00-00T00:00:00Z","precision":9}`:         "1172",
		`{"time":"+1954-03-00T00:00:00Z","precision":10}`:        "March 1954",
		`{"time":"+00000001954-03-09T00:00:00Z","precision":11}`: "9 March 1954",
		`{"time":"-0044-03-15T00:00:00Z","precision":11}`:        "15 March 44 BC",
		`{"time":"+1900-01-01T00:00:00Z","precision":7}`:         "1900",
		`{"time":"+1954-13-00T00:00:00Z","precision":11}`:        "1954",
		`{"time":"soon"}`: "", `5`: "",
	} {
		if got, ok := printedTime([]byte(text)); got != want || ok != (want != "") {
			t.Errorf("%s is printed %q, want %q", text, got, want)
		}
	}
}

func TestRedirectTemplatesAreRead(t *testing.T) {
	for text, want := range map[string]string{
		"{{Category redirect|Luitpoldpark}}":                                   "Category:Luitpoldpark",
		"{{category_redirect | Category:Luitpoldpark (München) }}":             "Category:Luitpoldpark (München)",
		"{{Category redirect|1=Category:A=B}}":                                 "Category:A=B",
		"{{Catredir|:Category:a_b|reason=moved}}":                              "Category:A b",
		"<!-- {{Category redirect|Old}} -->\n{{Cat redirect|[[:Category:C]]}}": "Category:C",
		"{{delete}}{{Seecat|D}}":                                               "Category:D",
		"{{Synonym taxon category redirect|Aus bus}}":                          "Category:Aus bus",
		"{{Template:Category redirect|E}}":                                     "Category:E",
		"{{Category redirect|category : f}}":                                   "Category:F",
		"":                                                                     "has no known template",
		"{{Infobox|A}}":                                                        "has no known template",
		"{{Category redirect}}":                                                "names no target",
		"{{Category redirect|}}":                                               "names no target",
		"{{Category redirect|A":                                                "is not closed",
		"{{Category redirect|{{PAGENAME}}}}":                                   "a title cannot contain",
		"{{Category redirect|<b>}}":                                            "category",
	} {
		got, err := redirectTarget(text)
		if err != nil {
			got = err.Error()
		}
		if got != want && (err == nil || !strings.Contains(got, want)) {
			t.Errorf("%q points to %q, want %q", text, got, want)
		}
	}
}

func TestFindingsWithoutATag(t *testing.T) {
	facts := map[scrape.Task]string{}
	put := func(step, key string, fact any) {
		text := must.Get(json.Marshal(fact))(t)
		facts[scrape.Task{Step: step, Key: key}] = string(text)
	}
	for _, title := range []string{"Gone item", "No item", "Category", "Combined", "Ambiguous", "Deprecated", "No topic"} {
		put(stepTitle, "Category:"+title, titleFact{Title: "Category:" + title, ID: 1,
			Item: "Q" + string("1234567"[len(title)%7])})
	}
	put(stepTitle, "Category:A", titleFact{Title: "Category:A", Item: "Q10"})
	put(stepTitle, "Category:B", titleFact{Title: "Category:B"})
	put(stepTitle, "Category:C", titleFact{Title: "Category:C", Item: "Q12"})
	put(stepTitle, "Category:D", titleFact{Title: "Category:D", Item: "Q13"})
	put(stepTitle, "Category:E", titleFact{Title: "Category:E", Invalid: "bad"})
	put(stepTitle, "Category:F", titleFact{Title: "Category:F", Redirect: true})
	put(stepText, "Category:F", textFact{Error: "no template"})
	put(stepTitle, "Category:G", titleFact{Title: "Category:G", Redirect: true})
	put(stepText, "Category:G", textFact{Target: "Category:G"})
	put(stepItem, "Q10", itemFact{ID: "Q10", Missing: true})
	put(stepItem, "Q12", itemFact{ID: "Q12", Topic: "Q99", Combines: []string{"Q5", "Q6"},
		Values: []value{{QID: "Q4167836", Rank: "normal"}}})
	put(stepItem, "Q99", itemFact{ID: "Q99", Missing: true})
	put(stepItem, "Q13", itemFact{ID: "Q13", Values: []value{{QID: "Q7", Rank: "deprecated"}}})
	put(stepClass, "Q4167836", classFact{Label: "Wikimedia category"})
	put(stepClass, "Q7", classFact{})
	for title, want := range map[string]labels.Outcome{"A": labels.NoItem, "B": labels.NoItem, "C": labels.CategoryItem,
		"D": labels.NoTag,
		"E": labels.Failed, "F": labels.Malformed, "G": labels.RedirectLoop} {
		rec, lacking := (&Source{}).Finding("Category:"+title, func(task scrape.Task) (scrape.Fact, bool) {
			text,
				ok := facts[task]
			return scrape.Fact(text), ok
		})
		if rec.Outcome != want || len(lacking) > 0 {
			t.Errorf("%s: %s, lacking %v; want %s", title, rec.Outcome, lacking, want)
		}
		if title == "C" && !reflect.DeepEqual(rec.Combines, []string{"Q5", "Q6"}) || title == "D" &&
			rec.Values[0].Text != "Q7" {
			t.Errorf("%s: %+v", title, rec)
		}
	}
}

func FuzzReplies(f *testing.F) {
	for _, c := range malformed {
		f.Add([]byte(c.body))
	}
	for _, name := range []string{"wdtk/wbgetentities-Q6-Q42-P31.json", "shapes/commons_pageprops_fv2.json"} {
		f.Add([]byte(saved(f, filepath.FromSlash(name))))
	}
	f.Add([]byte(claim("P31", statementOf(parkSnak, ""))))
	source := &Source{}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, step := range []string{stepTitle, stepText, stepItem, stepClass, stepLog} {
			facts, err := source.Read(step, []string{"Q1", "Category:A"}, []scrape.Answer{{Body: body}})
			if err != nil {
				continue
			}
			for key, fact := range facts {
				if !json.Valid(fact) || key != "Q1" && key != "Category:A" {
					t.Errorf("%s: a fact about %q: %q", step, key, fact)
				}
			}
		}
		if next, err := followUp(body, []string{"Q1"}); err == nil && !next.done && len(next.keys) > 1 {
			t.Errorf("next %+v", next)
		}
	})
}

func FuzzRedirectTarget(f *testing.F) {
	f.Add("{{Category redirect|A}}")
	f.Fuzz(func(t *testing.T, text string) {
		if title, err := redirectTarget(text); err == nil && !strings.HasPrefix(title, scrape.Namespace) {
			t.Errorf("%q points to %q", text, title)
		}
	})
}

// BenchmarkEntities reads the claims of fifty saved items, from 20 kB to 1 MB.
func BenchmarkEntities(b *testing.B) {
	var entities []string
	for _, name := range []string{"wikibase_Q183.json", "wikibase_Q1.json", "wikibase_Q1752.json", "pywikibot/Q60.wd"} {
		var compact bytes.Buffer // as the API sends it
		must.Do(b, json.Compact(&compact, []byte(saved(b, filepath.FromSlash(name)))))
		entities = append(entities, compact.String())
	}
	benchmarkItems(b, entities, []string{"Q183", "Q1", "Q1752", "Q60"})
}

// BenchmarkLandmarks reads the claims of fifty items of 4 kB with one value each, which leave
// little to skip.
func BenchmarkLandmarks(b *testing.B) {
	site := fakecommons.New([]fakecommons.Category{{Title: "Category:A", Item: "Q5",
		Values: []fakecommons.Value{{Text: "church", Qualifiers: []string{"1172–1954"}}}}})
	w := httptest.NewRecorder()
	site.ServeHTTP(w, httptest.NewRequest(http.MethodGet,
		"/w/api.php?action=wbgetentities&formatversion=2&ids=Q5&props=claims|info", nil))
	var reply struct{ Entities map[string]json.RawMessage }
	must.Do(b, json.Unmarshal(w.Body.Bytes(), &reply))
	benchmarkItems(b, []string{string(reply.Entities["Q5"])}, []string{"Q5"})
}

// benchmarkItems reads replies with fifty entities each.
func benchmarkItems(b *testing.B, entities, ids []string) {
	var members []string
	for i := range mostKeys {
		members = append(members, `"`+ids[i%len(ids)]+`":`+entities[i%len(entities)])
	}
	answers := answer(`{"entities":{` + strings.Join(members, ",") + `},"success":1}`)
	usertime.Measure(b, answers[0].Body, func() error {
		facts, err := readItems(ids, answers, english)
		if err == nil && len(facts) != len(ids) {
			err = fmt.Errorf("%d facts", len(facts))
		}
		return err
	})
}
