package labels_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/labels"
)

// world is a part of the Earth: two towns called Springfield, a city that is its own region, places in a
// circle, and countries without a code, a continent or both.
var world = []labels.Item{
	{ID: "Q1", Label: "Springfield", LocatedIn: []string{"Q10"}, Country: []string{"Q30"}},
	{ID: "Q2", Label: "Springfield", LocatedIn: []string{"Q11"}}, // whose country the county states
	{ID: "Q3", Label: "Berlin", LocatedIn: []string{"Q183"}, Country: []string{"Q183"}, Merged: []string{"Q4"}},
	{ID: "Q5", Label: "Round", LocatedIn: []string{"Q6"}}, {ID: "Q6", Label: "About", LocatedIn: []string{"Q5"}},
	{ID: "Q7", Label: "Lost", LocatedIn: []string{"Q8"}, Country: []string{"Q200"}}, {ID: "Q8", Missing: true},
	{ID: "Q9", Label: "Capital", LocatedIn: []string{"Q8", "Q12"}, Country: []string{"Q201"}},
	{ID: "Q10", Label: "Illinois", LocatedIn: []string{"Q30"}, Country: []string{"Q30"}},
	{ID: "Q11", Label: "Lane County", LocatedIn: []string{"Q13"}, Country: []string{"Q30"}},
	{ID: "Q12", Label: "Old Land", Country: []string{"Q201"}},
	{ID: "Q13", Label: "Oregon", LocatedIn: []string{"Q30"}},
	{ID: "Q30", Label: "United States", Country: []string{"Q30"}, ISO: "US", Continent: []string{"Q49"}},
	{ID: "Q183", Label: "Deutschland", ISO: "DE"},
	{ID: "Q46", Label: "Europa"},
	{ID: "Q200", Label: "Nowhere", ISO: "ZZ"},
	{ID: "Q201", Label: "Atlantis", Continent: []string{"Q300"}}, {ID: "Q300", Label: "Atlantic"},
}

func TestPlacesOfLandmarks(t *testing.T) {
	t.Parallel()
	at := func(ids ...string) *labels.About { return &labels.About{LocatedIn: ids} }
	cases := []struct {
		about   *labels.About
		outcome labels.Outcome
		want    string // names, or the detail of a landmark without a label
	}{
		{at("Q1"), labels.OK, "Springfield (Q1), Illinois, United States, North America"},
		{at("Q2", "Q1"), labels.NoTag, "Springfield (Q2), Oregon, United States, North America"},
		{at("Q4"), labels.OK, "Berlin, Berlin, Deutschland, Europa"}, // by a merged item; the label of the continent's item
		{at("Q9"), labels.OK, "Capital, Old Land, Atlantis, Atlantic"},
		{at("Q5"), labels.OK, "country: neither the town nor a place around it states one (P17)"},
		{at("Q7"), labels.OK, "continent: the country has neither a code (P297) nor a continent (P30)"},
		{at("Q8"), labels.OK, "town: its item was not fetched, or does not exist"},
		{at("Q77"), labels.OK, "town: its item was not fetched, or does not exist"},
		{at(), labels.OK, "town: Wikidata states no place (P131)"},
		{nil, labels.NoTag, "town: Wikidata states no place (P131)"},
		{at("Q183"), labels.OK, "country: neither the town nor a place around it states one (P17)"},
		{at("Q30"), labels.OK, "town: Wikidata states a country as the place"},
		{nil, labels.Missing, ""},
	}
	var records []labels.Record
	for i, c := range cases {
		rec := labels.Record{Landmark: labels.LandmarkID(i), Split: labels.Train, Outcome: c.outcome, About: c.about}
		if c.outcome == labels.OK {
			rec.Tag = "church"
		}
		records = append(records, rec)
	}
	made := must.Get(labels.BuildPlaces(func(use func(*labels.Record)) error {
		for i := range records {
			use(&records[i])
		}
		return nil
	}, labels.NewItems(world)))(t)
	var text bytes.Buffer
	must.Do(t, labels.WriteTable(&text, made))
	table := must.Get(labels.Read(&text, "places.json", labels.ReadOptions{}))(t)
	for i, c := range cases {
		l := table.Rows[i]
		got := l.Detail
		if l.Labelled() {
			got = strings.Join(l.Names[1:], ", ")
		}
		if got != c.want || !l.Labelled() && l.Reason != labels.PlaceUnknown && i != len(cases)-1 {
			t.Errorf("%v: %q (%s), want %q", c.about, got, l.Reason, c.want)
		}
	}
	if l := table.Rows[len(cases)-1]; l.Reason != labels.Reason(labels.Missing) {
		t.Errorf("a missing category has the reason %s", l.Reason)
	}
	if err := table.Hierarchy.Check(); err != nil {
		t.Error(err)
	}
}

// Every code belongs to one continent.
func TestContinentsAreDisjoint(t *testing.T) {
	t.Parallel()
	var all []string
	for _, c := range labels.Continents {
		all = append(all, strings.Fields(c.Codes)...)
	}
	slices.Sort(all)
	if n := len(slices.Compact(slices.Clone(all))); n != len(all) || n != 250 {
		t.Errorf("%d codes, %d of them distinct; want the 249 of ISO 3166 with Kosovo and none twice", len(all), n)
	}
	for _, code := range all {
		if len(code) != 2 || strings.ToUpper(code) != code {
			t.Errorf("%q is not a code", code)
		}
	}
}
