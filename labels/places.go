package labels

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// PlaceLevels are the levels of the tree by place, finest first.
var PlaceLevels = []string{LandmarkLevel, "town", "region", "country", "continent"}

// PlaceUnknown is the Reason of a landmark without a label by place; Detail says what is missing.
const PlaceUnknown Reason = "place_unknown"

// BuildPlaces gives every landmark its label by place. The town is the first place that Wikidata states
// for the landmark (P131), whatever its size. All else follows from the town, so that the result is a
// tree: its country is the first that it or a place around it states (P17), its region the place just
// below the country on the shortest way up, or the town itself. The continent is that of the country's
// code in the table Continents, or else the first that the country states (P30).
//
// A landmark needs no tag. One that lacks a level has no label, and the Reason PlaceUnknown. Places of a
// level that share their label get their item in parentheses.
//
// As with [BuildFrom], a function passes the records, and the table keeps neither them nor Rows.
func BuildPlaces(records func(use func(*Record)) error, items *Items) (*Table, error) {
	tree := &placeTree{items: items, known: map[string]int32{}}
	c := &compact{t: &Table{Version: TableVersion, Levels: PlaceLevels}, source: "wikidata", label: tree.label}
	c.above = func(town int32) []string { return tree.places[town].names[:] }
	return c.table(func(use func(*Record)) error {
		defer tree.name()
		return records(use)
	})
}

// label returns the number of a landmark's town in places.
func (t *placeTree) label(l *LandmarkLabel, rec *Record) int32 {
	town, missing := t.of(rec)
	switch {
	case rec.About == nil && rec.Outcome != OK && rec.Outcome != NoTag:
		l.Reason, l.Detail = Reason(rec.Outcome), rec.Error
	case missing != "":
		l.Reason, l.Detail = PlaceUnknown, missing
	default:
		return town
	}
	return -1
}

// placed are the items of a town, its region, its country and its continent; missing says which there is
// none of, "" if there are all.
type placed struct {
	ids, names [4]string
	missing    string
}

// placeTree finds the places above towns, each town once.
type placeTree struct {
	items  *Items
	known  map[string]int32 // by the item of the town: its number in places
	places []placed
}

// of returns the number of a landmark's town in places, or what is missing.
func (t *placeTree) of(rec *Record) (n int32, missing string) {
	if rec.About == nil || len(rec.About.LocatedIn) == 0 {
		return 0, "town: Wikidata states no place (P131)"
	}
	town := t.items.Get(rec.About.LocatedIn[0])
	if town == nil {
		return 0, "town: its item was not fetched, or does not exist"
	}
	n, known := t.known[town.ID]
	if !known {
		n = int32(len(t.places))
		t.known[town.ID], t.places = n, append(t.places, t.above(town))
	}
	return n, t.places[n].missing
}

// above returns the places of a town.
func (t *placeTree) above(town *Item) placed {
	way := t.upwards(town)
	var country *Item
	for _, s := range way {
		if len(s.place.Country) > 0 {
			country = t.items.Get(s.place.Country[0])
		}
		if country != nil {
			break
		}
	}
	switch {
	case country == nil:
		return placed{missing: "country: neither the town nor a place around it states one (P17)"}
	case country == town:
		return placed{missing: "town: Wikidata states a country as the place"}
	}
	region := way[len(way)-1]
	if at := slices.IndexFunc(way, func(s step) bool { return s.place == country }); at > 0 {
		region = way[way[at].from]
	}
	continent := t.continent(country)
	if continent == "" {
		return placed{missing: "continent: the country has neither a code (P297) nor a continent (P30)"}
	}
	return placed{ids: [4]string{town.ID, region.place.ID, country.ID, continent}}
}

// step is a place on the way up from a town.
type step struct {
	place *Item
	from  int // the step below, −1 for the town
}

// upwards lists a town and the places around it, the nearest first. Circles end where they close.
func (t *placeTree) upwards(town *Item) []step {
	way, seen := []step{{town, -1}}, map[*Item]bool{town: true}
	for at := 0; at < len(way); at++ {
		for _, id := range way[at].place.LocatedIn {
			if place := t.items.Get(id); place != nil && !seen[place] {
				seen[place] = true
				way = append(way, step{place, at})
			}
		}
	}
	return way
}

// continent returns the item of a country's continent, "" if it is unknown.
func (t *placeTree) continent(country *Item) string {
	for _, c := range Continents {
		if slices.Contains(strings.Fields(c.Codes), country.ISO) {
			return c.Item
		}
	}
	if len(country.Continent) > 0 {
		if c := t.items.Get(country.Continent[0]); c != nil {
			return c.ID
		}
	}
	return ""
}

// name gives the places their names: the labels of their items. Every town that lacks nothing has a landmark.
func (t *placeTree) name() {
	for level := range len(PlaceLevels) - 1 {
		items := map[string]map[string]bool{} // with each label
		for _, p := range t.places {
			if p.missing == "" {
				label := t.labelOf(p.ids[level])
				if items[label] == nil {
					items[label] = map[string]bool{}
				}
				items[label][p.ids[level]] = true
			}
		}
		for i := range t.places {
			p := &t.places[i]
			if p.names[level] = t.labelOf(p.ids[level]); len(items[p.names[level]]) > 1 {
				p.names[level] = fmt.Sprintf("%s (%s)", p.names[level], p.ids[level])
			}
		}
	}
}

// labelOf returns the label of an item, or its id if it has none.
func (t *placeTree) labelOf(id string) string {
	if i := t.items.Get(id); i != nil {
		return cmp.Or(i.Label, id)
	}
	for _, c := range Continents {
		if c.Item == id {
			return c.Name
		}
	}
	return id
}

// Continent is a continent with its item of Wikidata and the ISO 3166 codes of its countries.
type Continent struct {
	Name  string // English
	Item  string // of Wikidata
	Codes string // separated by spaces
}

// Continents follow the United Nations' standard M49, with North America (and the Caribbean) apart from
// South America. Countries on two continents belong to one: Russia to Europe, Turkey and Cyprus
// to Asia, as there. Taiwan and Kosovo, which M49 does not list, belong to Asia and Europe.
var Continents = []Continent{
	{"Africa", "Q15", "AO BF BI BJ BW CD CF CG CI CM CV DJ DZ EG EH ER ET GA GH GM GN GQ GW IO KE KM LR LS LY MA MG " +
		"ML MR MU MW MZ NA NE NG RE RW SC SD SH SL SN SO SS ST SZ TD TF TG TN TZ UG YT ZA ZM ZW"},
	{"Antarctica", "Q51", "AQ"},
	{"Asia", "Q48", "AE AF AM AZ BD BH BN BT CN CY GE HK ID IL IN IQ IR JO JP KG KH KP KR KW KZ LA LB LK MM MN MO MV " +
		"MY NP OM PH PK PS QA SA SG SY TH TJ TL TM TR TW UZ VN YE"},
	{"Europe", "Q46", "AD AL AT AX BA BE BG BY CH CZ DE DK EE ES FI FO FR GB GG GI GR HR HU IE IM IS IT JE LI LT LU LV " +
		"MC MD ME MK MT NL NO PL PT RO RS RU SE SI SJ SK SM UA VA XK"},
	{"North America", "Q49", "AG AI AW BB BL BM BQ BS BZ CA CR CU CW DM DO GD GL GP GT HN HT JM KN KY LC MF MQ MS MX NI " +
		"PA PM PR SV SX TC TT US VC VG VI"},
	{"Oceania", "Q55643", "AS AU CC CK CX FJ FM GU HM KI MH MP NC NF NR NU NZ PF PG PN PW SB TK TO TV UM VU WF WS"},
	{"South America", "Q18", "AR BO BR BV CL CO EC FK GF GS GY PE PY SR UY VE"},
}
