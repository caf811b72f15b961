package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"hgld/labels"
	"hgld/scrape"
)

// The properties that hgld reads.
const (
	instanceOf  = "P31"
	mainTopic   = "P301"
	combines    = "P971"
	subclassOf  = "P279"
	locatedIn   = "P131"
	country     = "P17"
	continent   = "P30"
	countryCode = "P297"
	coordinates = "P625"
	image       = "P18"
	startTime   = "P580"
	endTime     = "P582"
	ofQualifier = "P642"
)

// itemFact is the fact of the step item.
type itemFact struct {
	ID       string    `json:"id"` // own id, or that of the item into which it was merged
	Missing  bool      `json:"missing,omitempty"`
	Revision int64     `json:"revision,omitempty"`
	Revised  time.Time `json:"revised,omitzero"`
	Values   []value   `json:"values,omitempty"`   // of "instance of", in Wikidata's order
	Topic    string    `json:"topic,omitempty"`    // best value of "category's main topic"
	Combines []string  `json:"combines,omitempty"` // values of "category combines topics"
	Error    string    `json:"error,omitempty"`    // why its claims are not used

	About *labels.About `json:"about,omitempty"`
}

// value is a statement whose value is an item.
type value struct {
	QID        string      `json:"qid"`
	Rank       string      `json:"rank"`
	Qualifiers []qualifier `json:"qualifiers,omitempty"`
}

type qualifier struct {
	Property string `json:"property"`
	QID      string `json:"qid,omitempty"`
	Text     string `json:"text,omitempty"` // value of a qualifier that is not an item
}

// classFact is the fact of the step class: the label of an item, and what it links to.
type classFact struct {
	// Label is in Options.Language, or else English or language-independent (mul); "" if there is none.
	Label    string `json:"label,omitempty"`
	Language string `json:"language,omitempty"`
	Revision int64  `json:"revision,omitempty"`
	Missing  bool   `json:"missing,omitempty"`
	Error    string `json:"error,omitempty"` // why the label is not used

	// Links is what the claims state, without the label. It is nil if the request did not ask for claims.
	Links *labels.Item `json:"links,omitempty"`
}

// snak is Wikibase's pair of a property and a value, as far as hgld needs it.
type snak struct {
	Type string `json:"snaktype"`
	Data struct {
		Type  string
		Value json.RawMessage // nil if there is none
	} `json:"datavalue"`
}

// statement is a value with its rank and its qualifiers.
type statement struct {
	Main       snak `json:"mainsnak"`
	Rank       string
	Qualifiers members[json.RawMessage] // a list of snaks of each property
	Order      []string                 `json:"qualifiers-order"`
}

// texts are texts by the code of their language.
type texts = members[struct{ Language, Value string }]

// entity is one member of "entities".
type entity struct {
	ID           string                    `json:"id"`
	Modified     string                    `json:"modified"`
	Revision     int64                     `json:"lastrevid"`
	Missing      json.RawMessage           `json:"missing"` // false or absent: it exists
	Claims       *members[json.RawMessage] `json:"claims"`  // the statements of each property; nil: the reply has none
	Labels       texts                     `json:"labels"`
	Descriptions texts                     `json:"descriptions"`

	missing  bool
	values   []value
	topic    string
	combines []string
	linked   map[string][]snak // the best values of the other properties
}

// entities calls use for every requested entity in the replies to one Ask, with the
// requested id. Ids that the API rejected are passed as missing entities.
func entities(keys []string, answers []scrape.Answer, use func(key string, e entity) error) error {
	for _, a := range answers {
		frame, err := readFrame(a.Body)
		if err != nil {
			return err
		}
		if e := frame.Error; e != nil {
			id := e.id(keys)
			if !e.refused() || id == "" {
				return e
			}
			if err := use(id, entity{ID: id, missing: true}); err != nil {
				return err
			}
			continue
		}
		if frame.Entities == nil {
			return errors.New(`the API's reply has neither "entities" nor "error"`)
		}
		for _, key := range keys {
			text, found := (*frame.Entities)[key]
			if !found {
				continue
			}
			e, err := readEntity(text)
			if err == nil {
				err = use(key, e)
			}
			if err != nil {
				return fmt.Errorf("the API's reply: entity %.40q: %w", key, err)
			}
		}
	}
	return nil
}

func readEntity(text []byte) (e entity, err error) {
	if err := json.Unmarshal(text, &e); err != nil {
		return e, err
	}
	e.missing = e.Missing != nil && string(e.Missing) != "false"
	if !e.missing && !scrape.ValidItem(e.ID) {
		return e, fmt.Errorf("its id %.40q is not that of an item", e.ID)
	}
	return e, e.readClaims()
}

// readItems parses the facts of items.
func readItems(keys []string, answers []scrape.Answer, languages []string) (map[string]scrape.Fact, error) {
	return entityFacts(keys, answers, func(e entity) (any, error) {
		f := itemFact{ID: e.ID, Missing: e.missing, Revision: e.Revision, Values: e.values, Topic: e.topic,
			Combines: e.combines}
		if e.Modified != "" {
			at, err := time.Parse(time.RFC3339, e.Modified)
			if err != nil {
				return nil, err
			}
			f.Revised = at.UTC()
		}
		f.About = e.about(languages)
		if f.Error = e.tooMuch(); f.Error != "" {
			f.Values, f.Topic, f.Combines, f.About = nil, "", nil, nil
		}
		if !e.missing && e.Claims == nil {
			return nil, errors.New("it has no claims")
		}
		return f, nil
	})
}

// entityFacts makes a fact of each entity of the replies.
func entityFacts(keys []string, answers []scrape.Answer, of func(e entity) (any, error)) (
	map[string]scrape.Fact, error) {
	found := map[string]any{}
	err := entities(keys, answers, func(key string, e entity) (err error) {
		found[key], err = of(e)
		return err
	})
	if err != nil {
		return nil, err
	}
	return facts(keys, func(key string) (any, error) { return found[key], nil })
}

// tooMuch says which limit the claims exceed, or returns "".
func (e *entity) tooMuch() string {
	n := max(len(e.values), len(e.combines))
	for _, values := range e.linked {
		n = max(n, len(values))
	}
	if n > maxValues {
		return fmt.Sprintf("it has %d values of a property; want at most %d", n, maxValues)
	}
	size := 0
	for _, v := range e.values {
		for _, q := range v.Qualifiers {
			size += len(q.Property) + len(q.QID) + len(q.Text)
		}
	}
	if size > maxText {
		return fmt.Sprintf("its qualifiers have %d bytes; want at most %d", size, maxText)
	}
	return ""
}

// readClaims reads the properties that hgld needs.
func (e *entity) readClaims() error {
	if e.Claims == nil {
		return nil
	}
	for property, text := range *e.Claims {
		links := slices.Contains(linking, property)
		if !links && property != instanceOf && property != mainTopic && property != combines {
			continue
		}
		var statements []statement
		err := json.Unmarshal(text, &statements)
		var values []value
		if err == nil && !links {
			values, err = valuesOf(statements)
		}
		if err != nil {
			return fmt.Errorf("claims of %s: %w", property, err)
		}
		switch property {
		case instanceOf:
			e.values = values
		case mainTopic:
			e.topic = best(values)
		case combines:
			for _, v := range values {
				e.combines = append(e.combines, v.QID)
			}
		default:
			if e.linked == nil {
				e.linked = map[string][]snak{}
			}
			e.linked[property] = bestValues(statements)
		}
	}
	return nil
}

// best returns the first preferred value, or else the first that is not deprecated.
func best(values []value) string {
	for _, rank := range []string{"preferred", "normal"} {
		for _, v := range values {
			if v.Rank == rank {
				return v.QID
			}
		}
	}
	return ""
}

// valuesOf returns the statements that have an item as value. It skips "no value" and "some value", which name no
// class.
func valuesOf(statements []statement) (all []value, err error) {
	for i := range statements {
		s := &statements[i]
		if s.Main.Type != "value" {
			continue
		}
		v := value{Rank: s.Rank}
		if v.QID, err = s.Main.item(); err != nil {
			return nil, err
		}
		if v.Rank != "preferred" && v.Rank != "normal" && v.Rank != "deprecated" {
			return nil, fmt.Errorf("unknown rank %.20q", v.Rank)
		}
		for _, property := range s.Order {
			text, found := s.Qualifiers[property]
			if !found {
				continue
			}
			var list []snak
			if err := json.Unmarshal(text, &list); err != nil {
				return nil, fmt.Errorf("qualifiers %.20q: %w", property, err)
			}
			for _, q := range list {
				v.Qualifiers = append(v.Qualifiers, q.qualifier(property))
			}
			delete(s.Qualifiers, property) // a property named twice would repeat them
		}
		all = append(all, v)
	}
	return all, nil
}

// item returns the item that is the snak's value. Old data contains only its number.
func (s snak) item() (id string, err error) {
	if s.Data.Type != "wikibase-entityid" {
		return "", fmt.Errorf("a value of type %.40q; want an item", s.Data.Type)
	}
	var v struct {
		ID     string
		Number int64 `json:"numeric-id"`
	}
	if err := json.Unmarshal(s.Data.Value, &v); err != nil {
		return "", err
	}
	if id = v.ID; id == "" {
		id = "Q" + strconv.FormatInt(v.Number, 10)
	}
	if !scrape.ValidItem(id) {
		return "", fmt.Errorf("the value %.40q is not an item", id)
	}
	return id, nil
}

// qualifier converts a snak to a qualifier. Values of unknown types are kept as JSON.
func (s snak) qualifier(property string) qualifier {
	q := qualifier{Property: property}
	if s.Type != "value" {
		q.Text = s.Type
		return q
	}
	var v struct{ Text, Amount, Time string }
	switch s.Data.Type {
	case "wikibase-entityid":
		if id, err := s.item(); err == nil {
			q.QID = id
			return q
		}
	case "string":
		if json.Unmarshal(s.Data.Value, &q.Text) == nil {
			return q
		}
	case "time":
		if text, ok := printedTime(s.Data.Value); ok {
			q.Text = text
			return q
		}
	case "monolingualtext", "quantity":
		if json.Unmarshal(s.Data.Value, &v) == nil && v.Text+v.Amount != "" {
			q.Text = v.Text + strings.TrimPrefix(v.Amount, "+")
			return q
		}
	}
	if q.Text = string(s.Data.Value); len(q.Text) > 200 {
		q.Text = strings.ToValidUTF8(q.Text[:200], "") + "…"
	}
	return q
}

// readClasses parses the labels of items, and what they link to if the replies have claims.
func readClasses(keys []string, answers []scrape.Answer, languages []string) (map[string]scrape.Fact, error) {
	return entityFacts(keys, answers, func(e entity) (any, error) {
		f := classFact{Revision: e.Revision, Missing: e.missing}
		f.Label, f.Language = inLanguage(e.Labels, languages)
		if n := max(len(f.Label), len(f.Language)); n > maxName {
			f.Label, f.Language = "", ""
			f.Error = fmt.Sprintf("its label has %d bytes; want at most %d", n, maxName)
		}
		if e.Claims != nil && !e.missing {
			f.Links = e.links(languages)
		}
		return f, nil
	})
}

// inLanguage returns the text in the first of some languages that has one, from the labels or the descriptions of an
// entity, and its language.
func inLanguage(all texts, languages []string) (text, language string) {
	for _, code := range languages {
		if t := all[code]; t.Value != "" {
			return t.Value, t.Language
		}
	}
	return "", ""
}
