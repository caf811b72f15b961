package api

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
)

var english = []string{"en", "mul"}

// saved returns a real reply, or one written by hand after MediaWiki's sources.
func saved(tb testing.TB, name ...string) string {
	tb.Helper()
	data := must.Get(os.ReadFile(goldens.Shared(tb, append([]string{"data", "wikimedia", "json"}, name...)...)))(tb)
	return string(data)
}

// valuesOfItem lists the values of the first P31 in a document with encoding/json, independently of
// readItems.
func valuesOfItem(t *testing.T, text string) (all []string) {
	t.Helper()
	var e struct {
		Claims map[string][]struct {
			Mainsnak struct {
				SnakType  string
				DataValue struct{ Value json.RawMessage }
			}
		}
	}
	must.Do(t, json.Unmarshal([]byte(text), &e))
	for _, s := range e.Claims["P31"] {
		var v struct {
			Number json.Number `json:"numeric-id"`
		}
		must.Do(t, json.Unmarshal(s.Mainsnak.DataValue.Value, &v))
		all = append(all, "Q"+v.Number.String())
	}
	return all
}

// savedReplies lists, for every file of real and handwritten replies, the requested keys and the
// result: the facts as JSON, or an error. A file that holds a single entity is wrapped as the API
// does.
var savedReplies = map[string]struct {
	step  string
	keys  []string
	facts map[string]string // beginning of each fact
	err   string
	next  []string // keys of the next request, if there is one
}{
	"wdtk/error.json": {step: stepItem, keys: []string{"Q1", "Q0"},
		facts: map[string]string{"Q0": `{"id":"Q0","missing":true`}, next: []string{"Q1"}},
	"wdtk/wbgetentities-bogus.json": {step: stepItem, keys: []string{"Q1", "bogus"},
		facts: map[string]string{"bogus": `{"id":"bogus","missing":true`}, next: []string{"Q1"}},
	"wdtk/error-maxlag.json": {step: stepItem, keys: []string{"Q1"},
		err: `the API answers "maxlag": "Waiting for 10.64.16.27: 2 seconds lagged"`},
	"wdtk/error-maxlag-full.json": {step: stepItem, keys: []string{"Q1"},
		err: `the API answers "maxlag": "Waiting for all: 3.45 seconds lagged."`},
	// of formatversion 1
	"wdtk/query-Cat.jpg.json": {step: stepTitle, keys: []string{"File:Cat.jpg"}, err: `its "query"`},
	"wdtk/warnings.json":      {step: stepItem, keys: []string{"Q1"}, err: `neither "entities" nor "error"`},
	"wdtk/wbgetentities-titles.json": {step: stepItem, keys: []string{"M89"},
		err: `its id "M89" is not that of an item`},
	"wdtk/wbgetentities-Q6-Q42-P31.json": {step: stepItem, keys: []string{"Q6", "Q42"},
		facts: map[string]string{"Q6": `{"id":"Q6","missing":true}`,
			"Q42": `{"id":"Q42","revision":196015688,"revised":"2015-02-13T00:11:48Z","values":[{"qid":"Q5"`}},
	"wdtk/wbgetentities-Q1.json": {step: stepItem, keys: []string{"Q1"},
		facts: map[string]string{"Q1": `{"id":"Q1","values":[{"qid":"Q1454986","rank":"normal"`}},
	"wdtk/wbgetentities-Douglas-Adams.json": {step: stepClass, keys: []string{"Q42"},
		facts: map[string]string{"Q42": `{"label":"Douglas Adams","language":"en","links":{"id":"Q42","description":"English writer and humorist"}}`}},
	"wdtk/wbgetentites-Oliver-Kahn.json": {step: stepItem, keys: []string{"Q131261"},
		facts: map[string]string{"Q131261": `{"id":"Q131261","values":[{"qid":"Q5","rank":"normal"`}},
	// By title: the reply is about none of the requested items.
	"wdtk/wbgetentities-1234567890-missing.json": {step: stepItem, keys: []string{"Q5"}, facts: map[string]string{}},

	"pywikibot/Q60.wd": {step: stepItem, keys: []string{"Q60"},
		facts: map[string]string{"Q60": `{"id":"Q60","revision":122836617,"values":[`}},
	"pywikibot/Q60_only_sitelinks.wd": {step: stepItem, keys: []string{"Q60"}, err: `its id "" is not that of an item`},
	"pywikibot/Q60_unknown_datatype.wd": {step: stepItem, keys: []string{"Q60"},
		facts: map[string]string{"Q60": `{"id":"Q60","revision":122836617,"about":{"description":"An item with`}},
	"wikibase_Q1.json": {step: stepItem, keys: []string{"Q1"},
		facts: map[string]string{"Q1": `{"id":"Q1","values":[`}},
	"wikibase_Q183.json": {step: stepItem, keys: []string{"Q183"},
		facts: map[string]string{"Q183": `{"id":"Q183","values":[`}},
	"wikibase_Q1752.json": {step: stepItem, keys: []string{"Q1752"},
		facts: map[string]string{"Q1752": `{"id":"Q1752"`}},

	// Read by TestShapesOfCommonsAreRead.
	"shapes/commons_pageprops_fv2.json": {step: stepItem, keys: []string{"Q1"}, err: `neither "entities" nor "error"`},
	"shapes/errors_fv2.json":            {step: stepItem, keys: []string{"Q1"}, err: "want an object"},
}

func TestEverySavedReplyIsRead(t *testing.T) {
	root := goldens.Shared(t, "data", "wikimedia", "json")
	var names []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if ext := filepath.Ext(path); err == nil && (ext == ".json" || ext == ".wd") {
			name, _ := filepath.Rel(root, path) // below root
			names = append(names, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil || !slices.Equal(slices.Sorted(maps.Keys(savedReplies)), slices.Sorted(slices.Values(names))) {
		t.Fatalf("the files are %q, %v", names, err)
	}
	source := &Source{}
	for name, c := range savedReplies {
		body := saved(t, filepath.FromSlash(name))
		if alone := !strings.HasPrefix(name, "wdtk") && !strings.HasPrefix(name, "shapes") &&
			!strings.Contains(body, `"entities"`); alone {
			body = `{"entities":{"` + c.keys[0] + `":` + body + `},"success":1}`
		}
		facts, err := source.Read(c.step, c.keys, answer(body))
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v, want %q", name, err, c.err)
			}
			continue
		}
		if err != nil || len(facts) != len(c.facts) {
			t.Errorf("%s: %d facts, %v", name, len(facts), err)
		}
		for key, want := range c.facts {
			if !strings.HasPrefix(string(facts[key]), want) {
				t.Errorf("%s: %s is %.200s\nwant %s", name, key, facts[key], want)
			}
		}
		next, err := followUp([]byte(body), c.keys)
		if err != nil || next.done != (c.next == nil) || c.next != nil && !reflect.DeepEqual(next.keys, c.next) {
			t.Errorf("%s: next %+v, %v", name, next, err)
		}
	}
}

// The values of saved items are those that encoding/json finds.
func TestValuesOfSavedItems(t *testing.T) {
	for id, name := range map[string]string{"Q60": "pywikibot/Q60.wd", "Q1": "wikibase_Q1.json",
		"Q183": "wikibase_Q183.json", "Q1752": "wikibase_Q1752.json"} {
		text := saved(t, filepath.FromSlash(name))
		facts, err := readItems([]string{id}, answer(`{"entities":{"`+id+`":`+text+`},"success":1}`), english)
		if err != nil {
			t.Errorf("%s: %v", id, err)
			continue
		}
		f := decoded[itemFact](t, facts, id)
		var got []string
		for _, v := range f.Values {
			got = append(got, v.QID)
		}
		if want := valuesOfItem(t, text); f.ID != id || f.Missing || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want the values %q", id, f, want)
		}
	}
}

func TestShapesOfCommonsAreRead(t *testing.T) {
	keys := []string{"Category:Happy_Valley_Racecourse", "Category:Old name", "Category:Soft redirected",
		"Category:No item yet", "Category:Deleted one", "Category:Bad[title", "Category:Not in the reply"}
	facts := must.Get(readTitles(keys, answer(saved(t, "shapes", "commons_pageprops_fv2.json"))))(t)
	valley := titleFact{Title: "Category:Happy Valley Racecourse", ID: 510586, Item: "Q837662", Infobox: true}
	old := valley
	old.Via = []string{"Category:Happy Valley Racecourse"}
	for key, want := range map[string]titleFact{
		keys[0]: valley, keys[1]: old, keys[2]: {Title: keys[2], ID: 2, Redirect: true}, keys[3]: {Title: keys[3], ID: 3},
		keys[4]: {Title: keys[4], Missing: true},
		keys[5]: {Title: keys[5], Invalid: `The requested page title contains invalid characters: "[".`},
	} {
		if got := decoded[titleFact](t, facts, key); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v\nwant %+v", key, got, want)
		}
	}
	if facts[keys[6]] != nil {
		t.Errorf("a title that the reply leaves out: %s", facts[keys[6]])
	}
	var errors []json.RawMessage
	if err := json.Unmarshal([]byte(saved(t, "shapes", "errors_fv2.json")), &errors); err != nil || len(errors) != 6 {
		t.Fatal(len(errors), err)
	}
	for i, want := range []string{"maxlag", "ratelimited", "toomanyvalues"} {
		if _, err := readTitles(keys, answer(string(errors[i]))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %d: %v, want %s", i, err, want)
		}
	}
	merged, err := readItems([]string{"Q100"}, answer(string(errors[5])), english)
	if err != nil || decoded[itemFact](t, merged, "Q100").ID != "Q200" {
		t.Errorf("a merged item: %s, %v", merged, err)
	}
	missing, err := readItems([]string{"Q999999999"}, answer(string(errors[4])), english)
	if err != nil || !decoded[itemFact](t, missing, "Q999999999").Missing {
		t.Errorf("a missing item: %s, %v", missing, err)
	}
}
