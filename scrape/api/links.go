package api

import (
	"encoding/json"
	"errors"
	"math"

	"hgld/labels"
	"hgld/scrape"
)

// linking are the properties of labels.About and labels.Item.
var linking = []string{subclassOf, locatedIn, country, continent, countryCode, coordinates, image}

// earth is the globe of coordinates on Earth.
const earth = "http://www.wikidata.org/entity/Q2"

// bestValues returns the values of the best rank of a property: the preferred ones, or else the normal ones. Those with
// an end time count only if all have one. "Some value" and "no value" take part in the ranks, but are no values: a
// preferred "no value" means that there is none.
func bestValues(statements []statement) []snak {
	for _, rank := range []string{"preferred", "normal"} {
		var today, ended []snak
		found := false
		for _, s := range statements {
			switch {
			case s.Rank != rank:
				continue
			case s.Main.Type == "value" && s.Qualifiers[endTime] != nil:
				ended = append(ended, s.Main)
			case s.Main.Type == "value":
				today = append(today, s.Main)
			}
			found = true
		}
		switch {
		case len(today) > 0:
			return today
		case found:
			return ended
		}
	}
	return nil
}

// items returns the values of a property that are items, each once. Others are left out: a
// landmark is not malformed because its country is.
func (e *entity) items(property string) (ids []string) {
	seen := map[string]bool{}
	for _, s := range e.linked[property] {
		if id, err := s.item(); err == nil && !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return ids
}

// text returns the first value of a property that is a text of at most maxName bytes, or "".
func (e *entity) text(property string) string {
	for _, s := range e.linked[property] {
		var text string
		if s.Data.Type == "string" && json.Unmarshal(s.Data.Value, &text) == nil && len(text) <= maxName {
			return text
		}
	}
	return ""
}

// place returns the latitude and the longitude of the first coordinates on Earth, or nil.
func (e *entity) place() []float64 {
	for _, s := range e.linked[coordinates] {
		var v struct {
			Latitude, Longitude *float64
			Globe               string
		}
		if s.Data.Type == "globecoordinate" && json.Unmarshal(s.Data.Value, &v) == nil && v.Globe == earth &&
			v.Latitude != nil && v.Longitude != nil && math.Abs(*v.Latitude) <= 90 && math.Abs(*v.Longitude) <= 360 {
			return []float64{*v.Latitude, *v.Longitude}
		}
	}
	return nil
}

// description returns the description in the first of some languages, or "" if it is longer than
// maxName bytes.
func (e *entity) description(languages []string) string {
	text, _ := inLanguage(e.Descriptions, languages)
	if len(text) > maxName {
		return ""
	}
	return text
}

// about returns what the entity states about a landmark, or nil if that is nothing.
func (e *entity) about(languages []string) *labels.About {
	a := &labels.About{Description: e.description(languages), LocatedIn: e.items(locatedIn), Country: e.items(country),
		Coordinates: e.place(), Image: e.text(image)}
	if a.Description+a.Image == "" && a.LocatedIn == nil && a.Country == nil && a.Coordinates == nil {
		return nil
	}
	return a
}

// links returns what the entity states as a class or a place.
func (e *entity) links(languages []string) *labels.Item {
	i := &labels.Item{ID: e.ID, Description: e.description(languages),
		SubclassOf: e.items(subclassOf), LocatedIn: e.items(locatedIn),
		Country: e.items(country), Continent: e.items(continent), ISO: e.text(countryCode)}
	for _, list := range []*[]string{&i.SubclassOf, &i.LocatedIn, &i.Country, &i.Continent} {
		if len(*list) > maxValues {
			*list = (*list)[:maxValues]
		}
	}
	return i
}

// Roots returns the tasks for the classes and places of a record.
func (s *Source) Roots(rec labels.Record) []scrape.Task {
	var ids []string
	for _, v := range rec.Values {
		if v.QID != "" && v.Rank != "deprecated" {
			ids = append(ids, v.QID)
		}
	}
	if rec.About != nil {
		ids = append(append(ids, rec.About.LocatedIn...), rec.About.Country...)
	}
	return tasks(ids)
}

func tasks(ids []string) []scrape.Task {
	all := make([]scrape.Task, len(ids))
	for i, id := range ids {
		all[i] = scrape.Task{Step: stepClass, Key: id}
	}
	return all
}

// errNoLinks means that a fact was stored before hgld asked what items link to.
var errNoLinks = errors.New("the item was requested without its claims")

// Item returns the item of a fact, and the tasks for the items that it links to.
func (s *Source) Item(t scrape.Task, fact scrape.Fact) (labels.Item, []scrape.Task, error) {
	var f classFact
	if err := json.Unmarshal(fact, &f); err != nil {
		return labels.Item{}, nil, err
	}
	if f.Missing {
		return labels.Item{ID: t.Key, Missing: true}, nil, nil
	}
	if f.Links == nil {
		return labels.Item{}, nil, errNoLinks
	}
	i := *f.Links
	i.Label, i.Language = f.Label, f.Language
	if i.ID != t.Key {
		i.Merged = []string{t.Key}
	}
	var next []string
	for _, list := range [][]string{i.SubclassOf, i.LocatedIn, i.Country, i.Continent} {
		next = append(next, list...)
	}
	return i, tasks(next), nil
}

// LinkStep returns the step whose facts have links.
func (s *Source) LinkStep() string { return stepClass }
