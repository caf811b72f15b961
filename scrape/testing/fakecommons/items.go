package fakecommons

import (
	"fmt"
)

// Item is a class or a place: an item of Wikidata that is not a category's.
type Item struct {
	Label  string             // its id is that of a Value with this text
	Merged string             // label of the item into which it was merged
	Claims map[string][]Claim // by property
}

// Claim is a statement. One of Item, Text, Place and Kind is set.
type Claim struct {
	Item  string     // label of an item, or the id of one that does not exist
	Text  string     // a text
	Place [2]float64 // latitude and longitude
	Kind  string     // "somevalue" or "novalue"
	Rank  string     // "preferred", "deprecated", "" for normal
	Ended bool       // with an end time
}

// Links returns claims that name items by their labels.
func Links(property string, labels ...string) map[string][]Claim {
	claims := map[string][]Claim{}
	for _, l := range labels {
		claims[property] = append(claims[property], Claim{Item: l})
	}
	return claims
}

// Add adds items. Call it before the first request.
func (s *Server) Add(items ...Item) {
	if s.graph == nil {
		s.graph = map[string]*Item{}
	}
	for _, i := range items {
		s.graph[s.classes.id(i.Label)] = &i
		s.name(i.Claims)
	}
}

// name gives ids to the items that claims name, so that they do not depend on the order of requests.
func (s *Server) name(claims map[string][]Claim) {
	for _, list := range claims {
		for _, c := range list {
			if c.Item != "" && !entityID.MatchString(c.Item) {
				s.classes.id(c.Item)
			}
		}
	}
}

// ID returns the id of the item with a label.
func (s *Server) ID(label string) string { return s.classes.id(label) }

// setClaims replaces the statements of some properties.
func (s *Server) setClaims(all object, claims map[string][]Claim) {
	for property, list := range claims {
		var statements []object
		for i, c := range list {
			st := object{"mainsnak": s.snak(property, c), "type": "statement", "id": fmt.Sprintf("Q1$2%d", i),
				"rank": "normal"}
			if c.Rank != "" {
				st["rank"] = c.Rank
			}
			if c.Ended {
				st["qualifiers"] = map[string][]object{"P582": {timeSnak("P582", "1991")}}
				st["qualifiers-order"] = []string{"P582"}
			}
			statements = append(statements, st)
		}
		if all[property] = statements; statements == nil {
			delete(all, property)
		}
	}
}

func (s *Server) snak(property string, c Claim) object {
	switch {
	case c.Kind != "":
		return object{"snaktype": c.Kind, "property": property, "hash": "0123456789abcdef", "datatype": "wikibase-item"}
	case entityID.MatchString(c.Item):
		return itemSnak(property, c.Item)
	case c.Item != "":
		return itemSnak(property, s.classes.id(c.Item))
	case c.Text != "":
		return valueSnak(property, "string", "string", c.Text)
	}
	return valueSnak(property, "globe-coordinate", "globecoordinate", object{"latitude": c.Place[0],
		"longitude": c.Place[1], "altitude": nil, "precision": 0.0001, "globe": "http://www.wikidata.org/entity/Q2"})
}

// The numbers of places in Corpus. Every country has as many regions, every region as many towns.
const (
	corpusContinents = 5
	corpusCountries  = 40
	corpusRegions    = 400
	corpusTowns      = 4000
)

// CorpusItems returns the classes and places of Corpus(n): every class is a subclass of one of 78
// groups, and these of six kinds, which are all an "entity". Every tenth group is a subclass of another
// group too, and two groups are subclasses of one another. Towns lie in regions, regions in countries,
// and countries have a continent.
func CorpusItems(categories []Category) []Item {
	var all []Item
	groups := map[string]string{} // of the classes that are not there yet
	for n := range corpusClasses {
		groups[corpusClass(n)] = corpusGroups[n%len(corpusGroups)]
	}
	for _, c := range categories {
		for _, v := range c.Values {
			if group := groups[v.Text]; group != "" {
				all = append(all, Item{Label: v.Text, Claims: Links("P279", group)})
				delete(groups, v.Text)
			}
		}
	}
	for g, group := range corpusGroups {
		above := []string{corpusKinds[g%len(corpusKinds)]}
		if g%10 == 0 {
			above = append(above, corpusGroups[(g+1)%len(corpusGroups)])
		}
		if g == 1 {
			above = append(above, corpusGroups[0]) // which is a subclass of group 1
		}
		all = append(all, Item{Label: group, Claims: Links("P279", above...)})
	}
	for _, kind := range corpusKinds {
		all = append(all, Item{Label: kind, Claims: Links("P279", "entity")})
	}
	for t := range corpusTowns {
		claims := Links("P131", fmt.Sprintf("region %d", t%corpusRegions))
		claims["P17"] = []Claim{{Item: fmt.Sprintf("country %d", t%corpusCountries)}}
		all = append(all, Item{Label: fmt.Sprintf("town %d", t), Claims: claims})
	}
	for r := range corpusRegions {
		claims := Links("P131", fmt.Sprintf("country %d", r%corpusCountries))
		claims["P17"] = claims["P131"]
		all = append(all, Item{Label: fmt.Sprintf("region %d", r), Claims: claims})
	}
	for c := range corpusCountries {
		claims := Links("P30", fmt.Sprintf("continent %d", c%corpusContinents))
		claims["P17"] = []Claim{{Item: fmt.Sprintf("country %d", c)}}
		all = append(all, Item{Label: fmt.Sprintf("country %d", c), Claims: claims})
	}
	return all
}

// corpusPlace returns where landmark i of Corpus is. One in twenty has no place, and one in forty
// only a country.
func corpusPlace(i int) map[string][]Claim {
	town := (i * 31) % corpusTowns
	claims := map[string][]Claim{"P17": {{Item: fmt.Sprintf("country %d", town%corpusCountries)}},
		"P131": {{Item: fmt.Sprintf("town %d", town)}},
		"P625": {{Place: [2]float64{float64(i%170) - 85, float64(i%350) - 175}}},
		"P18":  {{Text: fmt.Sprintf("Place %d.jpg", i)}}}
	switch {
	case i%20 == 19:
		claims["P17"], claims["P131"] = nil, nil
	case i%40 == 18:
		claims["P131"] = nil
	}
	return claims
}
