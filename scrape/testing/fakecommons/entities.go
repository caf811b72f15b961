package fakecommons

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// entities answers action=wbgetentities with the ids of items.
func (s *Server) entities(r *http.Request, keys []string) object {
	props := strings.Split(r.Form.Get("props"), "|")
	all := object{}
	for _, id := range keys {
		if !entityID.MatchString(id) || len(id) > 11 {
			text := fmt.Sprintf("Could not find an entity with the ID %q.", id)
			return failed("no-such-entity", text, object{"id": id,
				"messages": []object{{"name": "wikibase-api-no-such-entity", "parameters": []string{id}, "html": text}}})
		}
		if s.API.Truncate > 0 && len(all) == s.API.Truncate {
			return object{"entities": all, "success": 1,
				"warnings": object{"result": object{"warnings": "This result was truncated because it would otherwise be " +
					"larger than the limit."}}}
		}
		e := s.entity(id, props)
		e.translate(strings.Split(r.Form.Get("languages"), "|"))
		all[id] = e
	}
	return object{"entities": all, "success": 1}
}

// entityID matches the id of an item.
var entityID = regexp.MustCompile(`^Q[1-9][0-9]*$`)

// entity returns one member of "entities".
func (s *Server) entity(id string, props []string) object {
	if text, ok := s.classes.text(id); ok {
		return s.classEntity(id, text, props)
	}
	c := s.items[id]
	if c == nil {
		return object{"id": id, "missing": ""}
	}
	e := about(id, c.Revision+1, props)
	e.labelled(strings.TrimPrefix(c.Title, "Category:"), props)
	if c.Merged != "" && id == c.Item {
		e["redirects"] = object{"from": id, "to": c.Merged}
		e["id"] = c.Merged
		id = c.Merged
	}
	e.setIf(props, "claims", s.claims(c, id))
	return e
}

// classEntity returns a class or a place. Those that were not added have no claims.
func (s *Server) classEntity(id, text string, props []string) object {
	e := about(id, 1+int64(hash(text)%1e9), props) // another label is another revision
	claims := object{}
	if i := s.graph[id]; i != nil {
		if i.Merged != "" {
			to := s.classes.id(i.Merged)
			merged := s.classEntity(to, i.Merged, props)
			merged["redirects"] = object{"from": id, "to": to}
			return merged
		}
		s.setClaims(claims, i.Claims)
	}
	e.labelled(text, props)
	e.setIf(props, "claims", claims)
	return e
}

// about returns what every entity has: type, id and, with the prop info, its page.
func about(id string, revision int64, props []string) object {
	e := object{"type": "item", "id": id}
	if slices.Contains(props, "info") {
		number, _ := strconv.Atoi(id[1:]) // of a form that entityID has seen
		e["pageid"], e["ns"], e["title"] = number, 0, id
		e["lastrevid"], e["modified"] = revision, stampOf(revision)
	}
	return e
}

// setIf sets a member if props contains its name.
func (e object) setIf(props []string, name string, value any) {
	if slices.Contains(props, name) {
		e[name] = value
	}
}

// labelled sets labels and descriptions. A text that begins with "mul " becomes a
// language-independent label. A text that looks like an id stands for no label.
func (e object) labelled(text string, props []string) {
	language := "en"
	if strings.HasPrefix(text, "mul ") {
		language = "mul"
	}
	label := object{"language": language, "value": text}
	e.setIf(props, "labels", object{language: label})
	if entityID.MatchString(text) {
		e.setIf(props, "labels", object{})
	}
	e.setIf(props, "descriptions", object{language: label})
}

// translate adds labels and descriptions in other languages: "church (de)".
func (e object) translate(languages []string) {
	for _, member := range []string{"labels", "descriptions"} {
		texts, _ := e[member].(object) // nil if they were not asked for
		english, known := texts["en"].(object)
		for _, l := range languages {
			if known && l != "" && l != "en" && l != "mul" {
				texts[l] = object{"language": l, "value": fmt.Sprintf("%s (%s)", english["value"], l)}
			}
		}
	}
}

// claims returns the statements of an item.
func (s *Server) claims(c *Category, id string) object {
	claims := object{}
	for property, list := range decoration {
		claims[property] = list
	}
	if c.Topic != "" && id == c.Item {
		claims["P31"] = []object{s.statement("P31", Value{Text: "Wikimedia category"})}
		claims["P301"] = []object{{"mainsnak": itemSnak("P301", c.Topic), "type": "statement", "id": "Q1$2",
			"rank": "normal"}}
		return claims
	}
	var list []object
	if c.Variant != NoTag {
		for _, v := range c.Values {
			if v.Text != "" {
				list = append(list, s.statement("P31", v))
			}
		}
	}
	if list != nil {
		claims["P31"] = list
	}
	s.setClaims(claims, c.Claims)
	return claims
}

// itemSnak returns a property with an item as value.
func itemSnak(property, id string) object {
	n, _ := strconv.Atoi(id[1:]) // of our own making
	return object{"snaktype": "value", "property": property, "hash": "0123456789abcdef", "datatype": "wikibase-item",
		"datavalue": object{"value": object{"entity-type": "item", "numeric-id": n, "id": id}, "type": "wikibase-entityid"}}
}

// years matches qualifiers that stand for a start time and an end time: "1172–1954".
var years = regexp.MustCompile(`^(\d{1,4})?–(\d{1,4})?$`)

// timeSnak returns a property with a year as value.
func timeSnak(property, year string) object {
	return object{"snaktype": "value", "property": property, "hash": "0123456789abcdef", "datatype": "time",
		"datavalue": object{"type": "time", "value": object{"time": fmt.Sprintf("+%04s-00-00T00:00:00Z", year), "timezone": 0,
			"before": 0, "after": 0, "precision": 9, "calendarmodel": "http://www.wikidata.org/entity/Q1985727"}}}
}

// statement returns a value with its rank and qualifiers.
func (s *Server) statement(property string, v Value) object {
	rank := v.Rank
	if rank == "" {
		rank = "normal"
	}
	st := object{"mainsnak": itemSnak(property, s.classes.id(v.Text)), "type": "statement", "id": "Q1$1", "rank": rank}
	qualifiers, order := map[string][]object{}, []string{}
	add := func(property string, snak object) {
		if qualifiers[property] == nil {
			order = append(order, property)
		}
		qualifiers[property] = append(qualifiers[property], snak)
	}
	for _, q := range v.Qualifiers {
		m := years.FindStringSubmatch(q)
		if m == nil {
			add("P642", itemSnak("P642", s.classes.id(q)))
			continue
		}
		for i, property := range []string{"P580", "P582"} {
			if m[i+1] != "" {
				add(property, timeSnak(property, m[i+1]))
			}
		}
	}
	if len(order) > 0 {
		st["qualifiers"], st["qualifiers-order"] = qualifiers, order
	}
	return st
}

// valueSnak returns a property with a value of any type.
func valueSnak(property, datatype, kind string, value any) object {
	return object{"snaktype": "value", "property": property, "hash": "0123456789abcdef", "datatype": datatype,
		"datavalue": object{"type": kind, "value": value}}
}

// decoration are further statements of every item, one of each datatype. The first also has
// a qualifier and a reference of each datatype, and a file name with characters that a
// careless JSON parser trips over.
var decoration = func() map[string]json.RawMessage {
	snaks := []object{
		valueSnak("P18", "commonsMedia", "string", "A \"photo\" [1] {2}.jpg\\"), itemSnak("P17", "Q148"),
		timeSnak("P571", "1846"),
		valueSnak("P1705", "monolingualtext", "monolingualtext", object{"text": "跑馬地馬場", "language": "zh"}),
		valueSnak("P1082", "quantity", "quantity", object{"amount": "+1.5", "unit": "1", "upperBound": "+2",
			"lowerBound": "+1"}),
		valueSnak("P625", "globe-coordinate", "globecoordinate", object{"latitude": 22.2728, "longitude": 114.182,
			"altitude":  nil,
			"precision": 0.0001, "globe": "http://www.wikidata.org/entity/Q2"}),
	}
	all := map[string]json.RawMessage{}
	qualifiers, order := map[string][]object{}, []string{}
	for _, snak := range snaks {
		property := snak["property"].(string)
		qualifiers[property], order = []object{snak}, append(order, property)
	}
	for i, snak := range snaks {
		st := object{"mainsnak": snak, "type": "statement", "id": fmt.Sprintf("Q1$%d", 10+i), "rank": "normal"}
		if i == 0 {
			st["qualifiers"], st["qualifiers-order"] = qualifiers, order
			st["references"] = []object{{"hash": "0123456789abcdef", "snaks": qualifiers, "snaks-order": order}}
		}
		text, err := json.Marshal([]object{st}) // here, for every item has it
		if err != nil {
			panic(err) // maps of strings and numbers
		}
		all[snak["property"].(string)] = text
	}
	return all
}()
