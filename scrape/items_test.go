package scrape_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/labels"
	"hgld/scrape"
	"hgld/scrape/testing/fakecommons"
	"hgld/scrape/testing/sourcetest"
)

// claims returns claims by property.
func claims(of map[string][]fakecommons.Claim, more ...map[string][]fakecommons.Claim) map[string][]fakecommons.Claim {
	for _, m := range more {
		for property, list := range m {
			of[property] = append(of[property], list...)
		}
	}
	return of
}

// linkedPlaces are three churches and a bridge: their classes have circles, several parents, merged and
// missing items, and statements of every rank.
func linkedPlaces() ([]fakecommons.Category, []fakecommons.Item) {
	values := func(texts ...string) (all []fakecommons.Value) {
		for _, t := range texts {
			all = append(all, fakecommons.Value{Text: t})
		}
		return all
	}
	claim := fakecommons.Links
	places := []fakecommons.Category{
		{Landmark: 0, Title: "Category:A", Item: "Q1000", Values: values("church", "old church"),
			Claims: claims(claim("P131", "Town"), claim("P17", "Land"), map[string][]fakecommons.Claim{
				"P625": {{Place: [2]float64{51.5, 9.9}}}, "P18": {{Text: "A \"tower\".jpg"}}})},
		{Landmark: 1, Title: "Category:B", Item: "Q1001", Values: values("bridge"), Claims: map[string][]fakecommons.Claim{
			"P131": {{Kind: "somevalue"}}, "P17": {{Item: "Old land", Ended: true}, {Item: "Land"},
				{Item: "Wrong", Rank: "deprecated"}}, "P18": nil, "P625": nil}},
		{Landmark: 2, Title: "Category:C", Item: "Q1002", Values: values("chapel"), Claims: map[string][]fakecommons.Claim{
			"P131": {{Kind: "novalue", Rank: "preferred"}, {Item: "Town"}}, "P17": {{Item: "Old land", Ended: true}},
			"P18": nil, "P625": nil}},
	}
	items := []fakecommons.Item{
		{Label: "church", Claims: claim("P279", "religious building", "building")},
		{Label: "old church", Merged: "church"},
		{Label: "chapel", Claims: map[string][]fakecommons.Claim{"P279": {{Item: "religious building", Rank: "preferred"},
			{Item: "room"}, {Item: "Q987654321", Rank: "deprecated"}}}},
		{Label: "bridge", Claims: claim("P279", "structure", "Q987654321")},
		{Label: "religious building", Claims: claim("P279", "building")},
		{Label: "building", Claims: claim("P279", "structure")},
		{Label: "structure", Claims: claim("P279", "building", "structure")}, // circles
		{Label: "Town", Claims: claims(claim("P131", "Region"), claim("P17", "Land"))},
		{Label: "Region", Claims: claims(claim("P131", "Land"), claim("P17", "Land"))},
		{Label: "Land", Claims: claims(claim("P30", "Continent"), map[string][]fakecommons.Claim{"P297": {{Text: "DE"}}})},
	}
	return places, items
}

func withItems(c *sourcetest.Crawl) { c.Options.Items = true }

// itemConfig is a crawl through the API with items.
func itemConfig(t *testing.T, s *sourcetest.Site, dir string, change ...func(*sourcetest.Crawl)) scrape.Config {
	t.Helper()
	cfg := s.Config(t, sourcetest.Sources[1], dir, append(change, withItems)...)
	cfg.Out.Items = filepath.Join(dir, "items.jsonl")
	return cfg
}

// asked counts how often each item was requested.
func asked(s *sourcetest.Site) map[string]int {
	times := map[string]int{}
	for request, n := range s.Answered() {
		if fields := strings.Fields(request); fields[0] == "wbgetentities" {
			times[fields[len(fields)-1]] += n
		}
	}
	return times
}

func readItems(t *testing.T, path string) map[string]labels.Item {
	t.Helper()
	list := must.Get(labels.OpenItems(path))(t)
	all := map[string]labels.Item{}
	for _, i := range list {
		all[i.ID] = i
	}
	return all
}

func TestItemsOfClassesAndPlacesAreFollowed(t *testing.T) {
	t.Parallel()
	places, graph := linkedPlaces()
	s := sourcetest.NewSite(t, places, func(s *fakecommons.Server) { s.Add(graph...) })
	cfg := itemConfig(t, s, t.TempDir())
	report, data := sourcetest.Run(t, cfg)
	for key, n := range asked(s) {
		if n != 1 {
			t.Errorf("%s was asked for %d times", key, n)
		}
	}
	s.KeptRules(t)
	id := s.ID
	ids := func(labels ...string) (all []string) {
		for _, l := range labels {
			all = append(all, id(l))
		}
		return all
	}
	items := readItems(t, cfg.Out.Items)
	church := items[id("church")]
	if !slices.Equal(church.SubclassOf, ids("religious building", "building")) || church.Label != "church" ||
		!slices.Equal(church.Merged, ids("old church")) {
		t.Errorf("church %+v", church)
	}
	if c := items[id("chapel")]; !slices.Equal(c.SubclassOf, ids("religious building")) { // the preferred one alone
		t.Errorf("chapel %+v", c)
	}
	if b := items[id("bridge")]; !slices.Equal(b.SubclassOf, []string{id("structure"), "Q987654321"}) ||
		!items["Q987654321"].Missing {
		t.Errorf("bridge %+v, missing %+v", b, items["Q987654321"])
	}
	if s := items[id("structure")]; !slices.Equal(s.SubclassOf, ids("building", "structure")) {
		t.Errorf("structure %+v", s)
	}
	if _, asked := items[id("room")]; asked {
		t.Error("room was followed, although another statement is preferred")
	}
	if l := items[id("Land")]; l.ISO != "DE" || !slices.Equal(l.Continent, ids("Continent")) {
		t.Errorf("land %+v", l)
	}
	if len(items) != 12 || report.Items != 12 || report.ItemsUnasked != 0 {
		t.Errorf("%d items; the report has %d, %d not asked", len(items), report.Items, report.ItemsUnasked)
	}

	records := sourcetest.Records(t, data)
	if a := records[0].About; a == nil || !slices.Equal(a.LocatedIn, ids("Town")) ||
		!slices.Equal(a.Country, ids("Land")) ||
		!slices.Equal(a.Coordinates, []float64{51.5, 9.9}) || a.Image != "A \"tower\".jpg" || a.Description != "A" {
		t.Errorf("landmark 0: %+v", a)
	}
	// Neither an unknown place, nor a country that has ended, nor a deprecated one.
	if a := records[1].About; a == nil || a.LocatedIn != nil || !slices.Equal(a.Country, ids("Land")) {
		t.Errorf("landmark 1: %+v", a)
	}
	// A preferred "no value" says that there is none; the only country has ended, and counts.
	if a := records[2].About; a == nil || a.LocatedIn != nil || !slices.Equal(a.Country, ids("Old land")) {
		t.Errorf("landmark 2: %+v", a)
	}
	if v, err := scrape.Verify(t.Context(), cfg); err != nil || len(v.Problems) > 0 {
		t.Errorf("%+v, %v", v, err)
	}
}

// corpusWithItems serves n landmarks of the corpus with their classes and places.
func corpusWithItems(t *testing.T, n int) *sourcetest.Site {
	t.Helper()
	places := fakecommons.Corpus(n)
	return sourcetest.NewSite(t, places, func(s *fakecommons.Server) { s.Add(fakecommons.CorpusItems(places)...) })
}

// Interrupted after every request in turn, a crawl requests nothing twice and writes the same bytes.
func TestInterruptedItemsAreNotAskedForAgain(t *testing.T) {
	t.Parallel()
	const landmarks = 300
	whole := corpusWithItems(t, landmarks)
	want := itemConfig(t, whole, t.TempDir())
	sourcetest.Run(t, want)

	s := corpusWithItems(t, landmarks)
	dir, runs := t.TempDir(), 0
	for ; runs < 200; runs++ {
		ctx, stop := context.WithCancel(t.Context())
		cfg := itemConfig(t, s, dir)
		cfg.Grace = 1 << 40 // the pending request is finished
		cfg.Progress = func(p scrape.Progress) {
			if p.Asked > 0 {
				stop()
			}
		}
		_, err := scrape.Run(ctx, cfg)
		stop()
		if err == nil {
			break
		}
		if !errors.As(err, new(*scrape.IncompleteError)) {
			t.Fatal(err)
		}
	}
	for key, n := range asked(s) {
		if n != 1 {
			t.Errorf("%s was asked for %d times", key, n)
		}
	}
	if runs < 10 || len(s.Log()) > 2*len(whole.Log()) {
		t.Errorf("%d runs with %d requests; one run takes %d", runs, len(s.Log()), len(whole.Log()))
	}
	for _, name := range []string{"tags.jsonl", "items.jsonl"} {
		got := readFile(t, filepath.Join(dir, name))
		if !bytes.Equal(got, readFile(t, filepath.Join(filepath.Dir(want.Out.Tags), name))) {
			t.Errorf("%s differs from that of one run", name)
		}
	}
}

func TestItemsAreReadFromFailingAndTruncatingServers(t *testing.T) {
	t.Parallel()
	whole := corpusWithItems(t, 120)
	cfg := itemConfig(t, whole, t.TempDir())
	sourcetest.Run(t, cfg)
	want := readFile(t, cfg.Out.Items)
	for name, change := range map[string]func(*fakecommons.Server){
		"truncated":        func(s *fakecommons.Server) { s.API.Truncate = 7 },
		"two in five fail": func(s *fakecommons.Server) { s.Failures, s.Seed = 0.4, 3 },
	} {
		s := corpusWithItems(t, 120)
		change(s.Server)
		cfg := itemConfig(t, s, t.TempDir(), func(c *sourcetest.Crawl) {
			c.Polite.Refusals, c.Polite.Failures, c.Polite.Retries = 1000, 1000, 30
		})
		if sourcetest.Run(t, cfg); !bytes.Equal(readFile(t, cfg.Out.Items), want) {
			t.Errorf("%s: items.jsonl differs", name)
		}
	}
	// A server that fails for good leaves the state for the next run.
	s := corpusWithItems(t, 120)
	cfg = s.Config(t, sourcetest.Sources[1], t.TempDir(), withItems)
	sourcetest.Run(t, cfg)
	before := len(s.Log())
	s.Failures = 1
	cfg = itemConfig(t, s, filepath.Dir(cfg.Out.Tags))
	if report, _ := sourcetest.Run(t, cfg); report.ItemsUnasked == 0 {
		t.Error("all requests fail, and no item is missing")
	}
	s.Failures = 0
	if report, _ := sourcetest.Run(t, itemConfig(t, s, filepath.Dir(cfg.Out.Tags))); report.ItemsUnasked > 0 ||
		!bytes.Equal(readFile(t, cfg.Out.Items), want) {
		t.Errorf("after the failure: %d items unasked, %d requests", report.ItemsUnasked, len(s.Log())-before)
	}
}

// The state of a crawl without items gets them, and only the items are requested.
func TestItemsAreAddedToAnEarlierCrawl(t *testing.T) {
	t.Parallel()
	s := corpusWithItems(t, 200)
	dir := t.TempDir()
	_, before := sourcetest.Run(t, s.Config(t, sourcetest.Sources[1], dir))
	n := len(s.Log())
	cfg := itemConfig(t, s, dir)
	plan, err := scrape.NewPlan(cfg)
	if err != nil || plan.Requests == 0 {
		t.Errorf("plan %+v, %v", plan, err)
	}
	report, after := sourcetest.Run(t, cfg)
	for _, r := range s.Log()[n:] {
		if r.Action != "wbgetentities labels|descriptions|claims|info" {
			t.Errorf("asked again: %+v", r)
		}
	}
	if report.Items == 0 || !bytes.Equal(before, after) {
		t.Errorf("%d items; the tags are equal: %v", report.Items, bytes.Equal(before, after))
	}
	if plan, err = scrape.NewPlan(cfg); err != nil || plan.Requests != 0 {
		t.Errorf("plan of a finished crawl %+v, %v", plan, err)
	}
	must.Do(t, os.Remove(cfg.Out.Items))
	n = len(s.Log())
	if _, err := scrape.Reparse(t.Context(), cfg); err != nil || len(s.Log()) != n {
		t.Errorf("reparse: %v, %d requests", err, len(s.Log())-n)
	}
	if readItems(t, cfg.Out.Items); len(readFile(t, cfg.Out.Items)) == 0 {
		t.Error("reparse wrote no items")
	}
}

// Labels and descriptions come in the language that is asked for, and a state has one language.
func TestLanguageOfItems(t *testing.T) {
	t.Parallel()
	places, graph := linkedPlaces()
	s := sourcetest.NewSite(t, places, func(s *fakecommons.Server) { s.Add(graph...) })
	dir := t.TempDir()
	german := func(c *sourcetest.Crawl) { c.Options.Language = "de" }
	cfg := itemConfig(t, s, dir, german)
	cfg.Settings = map[string]string{"language": "de"}
	_, data := sourcetest.Run(t, cfg)
	if r := sourcetest.Records(t, data)[1]; r.Tag != "bridge (de)" || r.About.Description != "B (de)" {
		t.Errorf("bridge: %q, %+v", r.Tag, r.About)
	}
	if b := readItems(t, cfg.Out.Items)[s.ID("building")]; b.Label != "building (de)" || b.Language != "de" {
		t.Errorf("building: %+v", b)
	}
	cfg.Settings = map[string]string{"language": "en"}
	var mismatch *scrape.MismatchError
	if _, err := scrape.Run(t.Context(), cfg); !errors.As(err, &mismatch) || mismatch.Setting != "language" {
		t.Errorf("another language: %v", err)
	}
	// The state of an earlier version, which does not name its language, is English.
	cfg = itemConfig(t, s, t.TempDir())
	sourcetest.Run(t, cfg)
	for language, good := range map[string]bool{"en": true, "de": false} {
		cfg.Settings = map[string]string{"language": language}
		if _, err := scrape.Run(t.Context(), cfg); (err == nil) != good {
			t.Errorf("%s: %v", language, err)
		}
	}
}
