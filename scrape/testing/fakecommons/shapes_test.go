package fakecommons

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
)

// keyed lists the objects whose keys are data: ids, languages, sites. All members of such an object
// have one shape.
var keyed = []string{"entities", "claims", "statements", "labels", "descriptions", "aliases", "sitelinks", "qualifiers",
	"snaks"}

// shape adds the paths of a value with their types, such as "query.pages[].ns number".
func shape(v any, path, key string, all map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		all[path+" object"] = true
		for name, member := range v {
			step := name
			switch {
			case slices.Contains(keyed, key) || key == "pages": // pages by id are of formatversion 1
				step = "*"
			case key == "datavalue" && name == "value":
				step = fmt.Sprintf("value<%v>", v["type"])
			}
			inner := name
			if step == "*" {
				inner = ""
			}
			shape(member, path+"."+step, inner, all)
		}
	case []any:
		if len(v) == 0 && slices.Contains(keyed, key) {
			all[path+" object"] = true // PHP writes an empty object so
			return
		}
		all[path+" array"] = true
		for _, member := range v {
			shape(member, path+"[]", "", all)
		}
	case nil:
		all[path+" null"] = true
	default:
		all[path+" "+map[bool]string{true: "number", false: fmt.Sprintf("%T", v)}[fmt.Sprintf("%T", v) == "float64"]] = true
	}
}

func shapeOf(t *testing.T, text []byte) map[string]bool {
	t.Helper()
	var v any
	must.Do(t, json.Unmarshal(text, &v))
	all := map[string]bool{}
	shape(v, "", "", all)
	return all
}

// samples are the places of the requests below.
var samples = []Category{
	{Title: "Category:Happy Valley Racecourse", Item: "Q837662",
		Values: []Value{{Text: "park", Qualifiers: []string{"1172–1954", "x"}}}},
	{Title: "Category:Old name", Variant: HardRedirect, Target: "Category:Happy Valley Racecourse"},
	{Title: "Category:Soft redirected", Variant: SoftRedirect, Target: "Category:Happy Valley Racecourse"},
	{Title: "Category:No item yet", Variant: NoInfobox}, {Title: "Category:Disambiguation", Variant: Disambiguation},
	{Title: "Category:Merged", Item: "Q100", Merged: "Q200"}, {Title: "Category:Deleted one", Variant: Missing},
	{Title: "Category:Moved", Variant: Missing, Target: "Category:No item yet"},
}

// reply sends a request to the fake. inside extracts the only entity, for files that hold just
// that.
func (f faked) reply(t *testing.T) []byte {
	t.Helper()
	s := New(samples)
	s.API.Lag = func() bool { return true }
	query := must.Get(url.ParseQuery(f.query + "&formatversion=2"))(t)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/w/api.php?format=json&"+query.Encode(), nil))
	if f.entity == "" {
		return w.Body.Bytes()
	}
	var frame struct{ Entities map[string]json.RawMessage }
	must.Do(t, json.Unmarshal(w.Body.Bytes(), &frame))
	return frame.Entities[f.entity]
}

// faked says how the fake makes the shape of a saved reply.
type faked struct {
	query  string
	entity string            // the file holds only this entity
	lacks  map[string]string // paths that the fake does not make, with the reason
}

const byID = "action=wbgetentities&ids="

// savedReplies lists the saved replies to requests such as hgld's, which are of formatversion 2.
var savedReplies = map[string]faked{
	"shapes/commons_pageprops_fv2.json": {query: "action=query&redirects=1&prop=pageprops|categories&titles=" +
		"category:Happy_Valley_Racecourse|Category:Old name|Category:Soft redirected|Category:No item " +
		"yet|Category:Deleted one|Category:Bad[title"},
	"shapes/errors_fv2.json 0": {query: byID + "Q1&maxlag=5"},
	"shapes/errors_fv2.json 2": {query: byID + strings.Repeat("Q1|", 50) + "Q1"},
	"shapes/errors_fv2.json 3": {query: byID + "Q0"},
	"shapes/errors_fv2.json 4": {query: byID + "Q999999999"},
	"shapes/errors_fv2.json 5": {query: byID + "Q100&props=claims|info"},

	"pywikibot/Q60.wd":                  item,
	"pywikibot/Q60_unknown_datatype.wd": item, "wikibase_Q1.json": item, "wikibase_Q1752.json": item,
	"wikibase_Q183.json": item,
}

// item makes an item with what hgld asks for.
var item = faked{query: byID + "Q837662&props=claims|descriptions|labels|info", entity: "Q837662",
	lacks: map[string]string{"value<bar-unknown-foo>": "made up by pywikibot", ".aliases": "not asked for",
		".sitelinks": "not asked for"}}

// savedTexts reads every saved reply. Of a file with several, each is named by a number.
func savedTexts(t *testing.T) map[string][]byte {
	t.Helper()
	folder := goldens.Shared(t, "data", "wikimedia", "json")
	texts := map[string][]byte{}
	for _, pattern := range []string{"*.json", "*/*.json", "*/*.wd"} {
		paths := must.Get(filepath.Glob(filepath.Join(folder, pattern)))(t)
		for _, path := range paths {
			text := must.Get(os.ReadFile(path))(t)
			name := must.Get(filepath.Rel(folder, path))(t)
			var several []json.RawMessage
			if json.Unmarshal(text, &several) != nil {
				texts[filepath.ToSlash(name)] = text
			}
			for i, one := range several {
				texts[fmt.Sprint(filepath.ToSlash(name), " ", i)] = one
			}
		}
	}
	return texts
}

// The fake makes every path of a saved reply, with its type.
func TestFakeMakesTheShapeOfEverySavedReply(t *testing.T) {
	texts := savedTexts(t)
	for name := range savedReplies {
		if texts[name] == nil {
			t.Errorf("%s is not among the saved replies", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		how, known := savedReplies[name]
		if !known {
			continue
		}
		made := shapeOf(t, how.reply(t))
		for path := range shapeOf(t, texts[name]) {
			if !made[path] && !slices.ContainsFunc(slices.Collect(maps.Keys(how.lacks)),
				func(p string) bool { return strings.Contains(path, p) }) {
				t.Errorf("%s: the fake does not make %s", name, path)
			}
		}
	}
	limited := slices.IndexFunc(apiFailures, func(f *failure) bool { return f.name == "ratelimited" })
	if got, want := shapeOf(t, []byte(apiFailures[limited].body)),
		shapeOf(t, savedTexts(t)["shapes/errors_fv2.json 1"]); !maps.Equal(got, want) {
		t.Errorf("ratelimited has the shape %v, want %v", got, want)
	}
}

// unsaved lists the paths that no saved reply has, with their source.
var unsaved = map[string]string{
	".query.pages[].revisions":                "MediaWiki's documentation of prop=revisions",
	".query.pages[].pageprops.disambiguation": "of ppprop=disambiguation",
	".query.logevents":                        "of list=logevents",
	".continue":                               "of continue",
	".value<wikibase-entityid>.id string":     "Wikibase since 2017; the saved items are older",
	".hash string":                            "Wikibase, for every snak",
	".datavalue.value<quantity>":              "saved of a statement, here also of qualifiers and references",
	".datavalue.value<globecoordinate>":       "likewise",
	".datavalue.value<monolingualtext>":       "likewise",
	".servedby string":                        "sent with every error",
	".warnings.result":                        "ApiResult, where a reply is too large",
}

// The fake's replies to hgld's requests have no path that real replies lack.
func TestFakeRepliesHaveOnlySavedShapes(t *testing.T) {
	real := map[string]bool{}
	for name, text := range savedTexts(t) {
		for path := range shapeOf(t, text) {
			if savedReplies[name].entity != "" { // an entity alone
				path = ".entities.*" + path
			}
			real[path] = true
		}
	}
	const titles = "&titles=Category:Happy_Valley_Racecourse|Category:Old name|Category:Soft " +
		"redirected|Category:Disambiguation|Category:Deleted one|Category:Bad[title"
	for _, query := range []string{
		"action=query&redirects=1&prop=pageprops|categories|revisions" + titles,
		"action=query&redirects=1&prop=pageprops|revisions" + titles,
		"action=query&prop=revisions&rvprop=content|ids&rvslots=main&titles=Category:Soft redirected",
		"action=query&list=logevents&letitle=Category:Deleted one", "action=query&list=logevents&letitle=Category:Moved",
		byID + "Q837662|Q100|Q6&props=claims|info", byID + "Q837662|Q6&props=labels|info", byID + "Q837662&props=info",
		byID + "Q0",
	} {
		made := shapeOf(t, faked{query: query}.reply(t))
		for path := range made {
			if !real[path] && !slices.ContainsFunc(slices.Collect(maps.Keys(unsaved)),
				func(p string) bool { return strings.Contains(path, p) }) {
				t.Errorf("%.60s: no saved reply has %s", query, path)
			}
		}
	}
}

// The headers of Wikimedia's answers that matter to a client, including those of a refusing edge
// server and of a lagging API.
func TestFakeSendsTheRealHeaders(t *testing.T) {
	lag := httptest.NewRecorder()
	s := New(samples)
	s.API.Lag = func() bool { return true }
	s.ServeHTTP(lag, httptest.NewRequest(http.MethodGet, "/w/api.php?action=wbgetentities&ids=Q1&maxlag=5", nil))
	s.Limits = WikimediaLimits()
	refused := httptest.NewRecorder()
	for range 40 {
		refused = httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "/w/api.php?action=wbgetentities&ids=Q1", nil)
		r.Header.Set("User-Agent", politeAgent)
		s.ServeHTTP(refused, r)
	}
	for _, c := range []struct {
		from *httptest.ResponseRecorder
		name string
	}{{lag, "Retry-After"}, {lag, "Mediawiki-Api-Error"}, {lag, "X-Database-Lag"}, {lag, "Content-Type"},
		{refused, "Retry-After"}, {refused, "X-Wmf-Ratelimit-Class"}} {
		if c.from.Header().Get(c.name) == "" {
			t.Errorf("no %s in an answer with status %d: %v", c.name, c.from.Code, c.from.Header())
		}
	}
}

// infoboxElements lists the elements that a reader of infoboxes looks for, by position: the table,
// header cells, and the contents of the row "Instance of".
func infoboxElements(t *testing.T, text []byte) map[string]bool {
	t.Helper()
	root := must.Get(html.Parse(strings.NewReader(string(text))))(t)
	all := map[string]bool{}
	var walk func(n *html.Node, path string, within bool)
	walk = func(n *html.Node, path string, within bool) {
		if n.Type == html.ElementNode {
			path += " " + element(n)
			read := within || strings.Contains(path, "#wdinfobox") &&
				(n.Data == "table" || n.Data == "caption" || n.Data == "th")
			if read || strings.Contains(path, "#mw-content-text") && !strings.Contains(path, "#wdinfobox") {
				all[path] = true
			}
			within = within || n.Data == "tr" && strings.HasPrefix(textOf(n), "Instance of")
		}
		for child := n.FirstChild; child != nil; child = child.NextSibling {
			walk(child, path, within)
		}
	}
	walk(root, "", false)
	return all
}

// element is the selector of an element, with the attribute names of a value's link.
func element(n *html.Node) string {
	var id, classes string
	var links []string
	for _, a := range n.Attr {
		switch a.Key {
		case "id":
			id = "#" + a.Val
		case "class":
			names := strings.Fields(a.Val)
			slices.Sort(names)
			classes = "." + strings.Join(names, ".")
		case "href", "title", "lang", "dir":
			links = append(links, "["+a.Key+"]")
		}
	}
	slices.Sort(links)
	return n.Data + id + classes + strings.Join(links, "")
}

func textOf(n *html.Node) string {
	if n.Type == html.TextNode {
		return n.Data
	}
	var all string
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		all += textOf(child)
	}
	return all
}

// The page parser reads exactly the elements of the saved infobox.
func TestFakeInfoboxHasTheElementsOfTheSavedOne(t *testing.T) {
	saved, err := os.ReadFile(goldens.Shared(t, "data", "wikimedia", "html", "infobox_happy_valley_racecourse.html"))
	must.Do(t, err)
	c := Category{Title: "Category:Happy Valley Racecourse",
		Values: []Value{{Text: "horse racing venue", Link: "/wiki/Category:Racecourses"}}}
	body := func(text []byte) map[string]bool {
		short := map[string]bool{}
		for path := range infoboxElements(t, text) {
			_, path, _ = strings.Cut(path, "#mw-content-text")
			short[path] = true
		}
		return short
	}
	real, made := body(saved), body(c.HTML(0))
	if len(real) < 8 {
		t.Fatalf("only %d elements were found in the saved page", len(real))
	}
	for path := range real {
		if !made[path] {
			t.Errorf("the fake does not make %s", path)
		}
	}
	for path := range made {
		if !real[path] {
			t.Errorf("no saved page has %s", path)
		}
	}
}
