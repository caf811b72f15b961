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
	snakType  string
	valueType string
	value     []byte // JSON; nil if there is none
}

// entity is one member of "entities".
type entity struct {
	id, modified string
	revision     int64
	missing      bool
	claimed      bool // it has the member "claims", even if that is empty
	values       []value
	topic        string
	combines     []string
	labels       []byte
	descriptions []byte
	linked       map[string][]snak // the best values of the other properties
}

// entities calls use for every requested entity in the replies to one Ask, with the
// requested id. Ids that the API rejected are passed as missing entities.
func entities(keys []string, answers []scrape.Answer, use func(key string, e entity) error) error {
	asked := make(map[string]bool, len(keys))
	for _, key := range keys {
		asked[key] = true
	}
	each := func(c *cursor) error {
		if c.list() { // empty
			return nil
		}
		return c.object(func(c *cursor, key []byte) error {
			if !asked[string(key)] {
				return nil
			}
			e, err := readEntity(c)
			if err == nil {
				err = use(string(key), e)
			}
			if err != nil {
				err = fmt.Errorf("entity %.40q: %w", key, err)
			}
			return err
		})
	}
	for _, a := range answers {
		frame, err := readFrame(a.Body, each)
		if err != nil {
			return err
		}
		if e := frame.Error; e != nil {
			id := e.id(keys)
			if !e.refused() || id == "" {
				return e
			}
			if err := use(id, entity{id: id, missing: true}); err != nil {
				return err
			}
		} else if !frame.entities {
			return errors.New(`the API's reply has neither "entities" nor "error"`)
		}
	}
	return nil
}

func readEntity(c *cursor) (entity, error) {
	var e entity
	err := c.object(func(c *cursor, key []byte) (err error) {
		var missing []byte
		switch string(key) {
		case "id":
			e.id, err = c.text()
		case "modified":
			e.modified, err = c.text()
		case "lastrevid":
			e.revision, err = c.number()
		case "missing":
			missing, err = c.raw()
			e.missing = string(missing) != "false"
		case "claims":
			e.claimed = true
			return e.readClaims(c)
		case "labels":
			e.labels, err = c.raw()
		case "descriptions":
			e.descriptions, err = c.raw()
		}
		return err
	})
	if err == nil && !e.missing && !validItem(e.id) {
		err = fmt.Errorf("its id %.40q is not that of an item", e.id)
	}
	return e, err
}

// readItems parses the facts of items.
func readItems(keys []string, answers []scrape.Answer, languages []string) (map[string]scrape.Fact, error) {
	found := map[string]itemFact{}
	err := entities(keys, answers, func(key string, e entity) error {
		f := itemFact{ID: e.id, Missing: e.missing, Revision: e.revision, Values: e.values, Topic: e.topic,
			Combines: e.combines}
		if e.modified != "" {
			at, err := time.Parse(time.RFC3339, e.modified)
			if err != nil {
				return err
			}
			f.Revised = at.UTC()
		}
		var err error
		if f.About, err = e.about(languages); err != nil {
			return err
		}
		if f.Error = e.tooMuch(); f.Error != "" {
			f.Values, f.Topic, f.Combines, f.About = nil, "", nil, nil
		}
		if !e.missing && !e.claimed {
			return errors.New("it has no claims")
		}
		found[key] = f
		return nil
	})
	if err != nil {
		return nil, err
	}
	return facts(keys, func(key string) (any, error) {
		if f, ok := found[key]; ok {
			return f, nil
		}
		return nil, nil
	})
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
func (e *entity) readClaims(c *cursor) error {
	if c.list() { // none
		return nil
	}
	return c.object(func(c *cursor, key []byte) error {
		property := string(key)
		if slices.Contains(linking, property) {
			return e.readLinks(c, property)
		}
		if property != instanceOf && property != mainTopic && property != combines {
			return nil
		}
		values, err := readStatements(c)
		if err != nil {
			return fmt.Errorf("claims of %s: %w", property, err)
		}
		switch property {
		case instanceOf:
			e.values = values
		case mainTopic:
			e.topic = best(values)
		case combines:
			e.combines = nil // if a member occurs twice, the last one counts
			for _, v := range values {
				e.combines = append(e.combines, v.QID)
			}
		}
		return nil
	})
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

// readStatements reads the statements that have an item as value. It skips "no value" and
// "some value", which name no class.
func readStatements(c *cursor) (all []value, err error) {
	err = c.array(func(c *cursor) error {
		v, item, err := readStatement(c)
		if err == nil && item {
			all = append(all, v)
		}
		return err
	})
	return all, err
}

// readStatement reads one statement and reports whether it has a value.
func readStatement(c *cursor) (v value, item bool, err error) {
	var main snak
	var order []string
	qualifiers := map[string][]snak(nil)
	err = c.object(func(c *cursor, key []byte) (err error) {
		switch string(key) {
		case "mainsnak":
			main, err = readSnak(c)
		case "rank":
			v.Rank, err = c.text()
		case "qualifiers":
			qualifiers, err = readQualifiers(c)
		case "qualifiers-order":
			order = nil
			err = c.array(func(c *cursor) error {
				property, err := c.text()
				order = append(order, property)
				return err
			})
		}
		return err
	})
	if err != nil || main.snakType != "value" {
		return v, false, err
	}
	if v.QID, err = main.item(); err != nil {
		return v, false, err
	}
	if v.Rank != "preferred" && v.Rank != "normal" && v.Rank != "deprecated" {
		return v, false, fmt.Errorf("unknown rank %.20q", v.Rank)
	}
	for _, property := range order {
		for _, q := range qualifiers[property] {
			v.Qualifiers = append(v.Qualifiers, q.qualifier(property))
		}
		delete(qualifiers, property) // a property named twice would repeat them
	}
	return v, true, nil
}

// readQualifiers reads the snaks of each property.
func readQualifiers(c *cursor) (map[string][]snak, error) {
	if c.list() { // none
		return nil, nil
	}
	all := map[string][]snak{}
	return all, c.object(func(c *cursor, key []byte) error {
		var list []snak
		err := c.array(func(c *cursor) error {
			s, err := readSnak(c)
			list = append(list, s)
			return err
		})
		all[string(key)] = list
		return err
	})
}

// readSnak reads a snak. The value aliases the reply.
func readSnak(c *cursor) (s snak, err error) {
	err = c.object(func(c *cursor, key []byte) (err error) {
		switch string(key) {
		case "snaktype":
			s.snakType, err = c.text()
		case "datavalue":
			err = c.object(func(c *cursor, key []byte) (err error) {
				switch string(key) {
				case "type":
					s.valueType, err = c.text()
				case "value":
					s.value, err = c.raw()
				}
				return err
			})
		}
		return err
	})
	return s, err
}

// item returns the item that is the snak's value. Old data contains only its number.
func (s snak) item() (id string, err error) {
	if s.valueType != "wikibase-entityid" {
		return "", fmt.Errorf("a value of type %.40q; want an item", s.valueType)
	}
	var number int64
	err = document(s.value, func(c *cursor, key []byte) (err error) {
		switch string(key) {
		case "id":
			id, err = c.text()
		case "numeric-id":
			number, err = c.number()
		}
		return err
	})
	if err != nil {
		return "", err
	}
	if id == "" {
		id = "Q" + strconv.FormatInt(number, 10)
	}
	if !validItem(id) {
		return "", fmt.Errorf("the value %.40q is not an item", id)
	}
	return id, nil
}

// qualifier converts a snak to a qualifier. Values of unknown types are kept as JSON.
func (s snak) qualifier(property string) qualifier {
	q := qualifier{Property: property}
	if s.snakType != "value" {
		q.Text = s.snakType
		return q
	}
	var v struct{ Text, Amount, Time string }
	switch s.valueType {
	case "wikibase-entityid":
		if id, err := s.item(); err == nil {
			q.QID = id
			return q
		}
	case "string":
		if json.Unmarshal(s.value, &q.Text) == nil {
			return q
		}
	case "time":
		if text, ok := printedTime(s.value); ok {
			q.Text = text
			return q
		}
	case "monolingualtext", "quantity":
		if json.Unmarshal(s.value, &v) == nil && v.Text+v.Amount != "" {
			q.Text = v.Text + strings.TrimPrefix(v.Amount, "+")
			return q
		}
	}
	if q.Text = string(s.value); len(q.Text) > 200 {
		q.Text = strings.ToValidUTF8(q.Text[:200], "") + "…"
	}
	return q
}

// readClasses parses the labels of items, and what they link to if the replies have claims.
func readClasses(keys []string, answers []scrape.Answer, languages []string) (map[string]scrape.Fact, error) {
	found := map[string]classFact{}
	err := entities(keys, answers, func(key string, e entity) (err error) {
		f := classFact{Revision: e.revision, Missing: e.missing}
		if f.Label, f.Language, err = inLanguage(e.labels, languages); err != nil {
			return fmt.Errorf("labels: %w", err)
		}
		if n := max(len(f.Label), len(f.Language)); n > maxName {
			f.Label, f.Language = "", ""
			f.Error = fmt.Sprintf("its label has %d bytes; want at most %d", n, maxName)
		}
		if e.claimed && !e.missing {
			f.Links, err = e.links(languages)
		}
		found[key] = f
		return err
	})
	if err != nil {
		return nil, err
	}
	return facts(keys, func(key string) (any, error) {
		if f, ok := found[key]; ok {
			return f, nil
		}
		return nil, nil
	})
}

// inLanguage returns the text in the first of some languages that has one, from the labels or the
// descriptions of an entity, and its language.
func inLanguage(data []byte, languages []string) (text, language string, err error) {
	if len(data) == 0 || data[0] == '[' { // PHP encodes empty objects as lists
		return "", "", nil
	}
	texts := map[string]struct{ Language, Value string }{}
	if err := json.Unmarshal(data, &texts); err != nil {
		return "", "", err
	}
	for _, code := range languages {
		if t := texts[code]; t.Value != "" {
			return t.Value, t.Language, nil
		}
	}
	return "", "", nil
}
