package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"hgld/scrape"
)

// The properties that are read.
const (
	instanceOf  = "P31"
	mainTopic   = "P301"
	combines    = "P971"
	startTime   = "P580"
	endTime     = "P582"
	ofQualifier = "P642"
)

// itemFact is what Wikidata says about an item.
type itemFact struct {
	ID       string    `json:"id"` // of the item that it was merged into, else its own
	Missing  bool      `json:"missing,omitempty"`
	Revision int64     `json:"revision,omitempty"`
	Revised  time.Time `json:"revised,omitzero"`
	Values   []value   `json:"values,omitempty"`   // of "instance of", in the order of the item
	Topic    string    `json:"topic,omitempty"`    // best value of "category's main topic"
	Combines []string  `json:"combines,omitempty"` // values of "category combines topics"
}

// value is one statement.
type value struct {
	QID        string      `json:"qid"`
	Rank       string      `json:"rank"`
	Qualifiers []qualifier `json:"qualifiers,omitempty"`
}

type qualifier struct {
	Property string `json:"property"`
	QID      string `json:"qid,omitempty"`
	Text     string `json:"text,omitempty"` // where it is no item
}

// classFact is the label of an item.
type classFact struct {
	Label    string `json:"label,omitempty"` // English, or else in no language; "" if it has none
	Language string `json:"language,omitempty"`
	Revision int64  `json:"revision,omitempty"`
	Missing  bool   `json:"missing,omitempty"`
}

// statement and snak are Wikibase's JSON, as far as it is read.
type statement struct {
	Mainsnak        snak
	Rank            string
	Qualifiers      map[string][]snak
	QualifiersOrder []string `json:"qualifiers-order"`
}

type snak struct {
	SnakType  string
	Property  string
	DataValue struct {
		Type  string
		Value json.RawMessage
	}
}

// entity is one member of "entities".
type entity struct {
	id, modified string
	revision     int64
	missing      bool
	claimed      bool // it has claims, or none but a word for them
	values       []value
	topic        string
	combines     []string
	labels       []byte
}

// entities calls use for every entity of the replies to one question that was asked
// for, under the id that was asked for. Ids that the API refused are missing.
func entities(keys []string, answers []scrape.Answer, use func(key string, e entity) error) error {
	asked := make(map[string]bool, len(keys))
	for _, key := range keys {
		asked[key] = true
	}
	each := func(c *cursor) error {
		if c.list() { // none
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
			return c.decode(&e.id)
		case "modified":
			return c.decode(&e.modified)
		case "lastrevid":
			return c.decode(&e.revision)
		case "missing":
			missing, err = c.raw()
			e.missing = string(missing) != "false"
		case "claims":
			e.claimed = true
			return e.readClaims(c)
		case "labels":
			e.labels, err = c.raw()
		}
		return err
	})
	if err == nil && !e.missing && !validItem(e.id) {
		err = fmt.Errorf("its id %.40q is none of an item", e.id)
	}
	return e, err
}

// readItems makes the facts about items.
func readItems(keys []string, answers []scrape.Answer) (map[string]scrape.Fact, error) {
	found := map[string]itemFact{}
	err := entities(keys, answers, func(key string, e entity) error {
		f := itemFact{ID: e.id, Missing: e.missing, Revision: e.revision, Values: e.values, Topic: e.topic, Combines: e.combines}
		if e.modified != "" {
			at, err := time.Parse(time.RFC3339, e.modified)
			if err != nil {
				return err
			}
			f.Revised = at.UTC()
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

// readClaims reads the three properties that are wanted.
func (e *entity) readClaims(c *cursor) error {
	if c.list() { // none
		return nil
	}
	return c.object(func(c *cursor, key []byte) error {
		property := string(key)
		if property != instanceOf && property != mainTopic && property != combines {
			return nil
		}
		var list []statement
		if err := c.decode(&list); err != nil {
			return fmt.Errorf("claims of %s: %w", property, err)
		}
		values, err := valuesOf(list)
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

// valuesOf lists the statements with an item as value. "No value" and "some value"
// name no class.
func valuesOf(list []statement) ([]value, error) {
	var all []value
	for _, s := range list {
		if s.Mainsnak.SnakType != "value" {
			continue
		}
		id, err := s.Mainsnak.item()
		if err != nil {
			return nil, err
		}
		v := value{QID: id, Rank: s.Rank}
		if v.Rank != "preferred" && v.Rank != "normal" && v.Rank != "deprecated" {
			return nil, fmt.Errorf("unknown rank %.20q", s.Rank)
		}
		for _, property := range s.QualifiersOrder {
			for _, q := range s.Qualifiers[property] {
				v.Qualifiers = append(v.Qualifiers, q.qualifier(property))
			}
		}
		all = append(all, v)
	}
	return all, nil
}

// item returns the item that is a snak's value. Old data has its number alone.
func (s snak) item() (string, error) {
	var v struct {
		ID     string
		Number int64 `json:"numeric-id"`
	}
	if s.DataValue.Type != "wikibase-entityid" {
		return "", fmt.Errorf("a value of type %.40q; want an item", s.DataValue.Type)
	}
	if err := json.Unmarshal(s.DataValue.Value, &v); err != nil {
		return "", err
	}
	if v.ID == "" {
		v.ID = "Q" + strconv.FormatInt(v.Number, 10)
	}
	if !validItem(v.ID) {
		return "", fmt.Errorf("the value %.40q is no item", v.ID)
	}
	return v.ID, nil
}

// qualifier takes property and value of a qualifier apart. A value that cannot be
// read is kept as JSON.
func (s snak) qualifier(property string) qualifier {
	q := qualifier{Property: property}
	if s.SnakType != "value" {
		q.Text = s.SnakType
		return q
	}
	var v struct{ Text, Amount, Time string }
	switch s.DataValue.Type {
	case "wikibase-entityid":
		if id, err := s.item(); err == nil {
			q.QID = id
			return q
		}
	case "string":
		if json.Unmarshal(s.DataValue.Value, &q.Text) == nil {
			return q
		}
	case "time":
		if text, ok := printedTime(s.DataValue.Value); ok {
			q.Text = text
			return q
		}
	case "monolingualtext", "quantity":
		if json.Unmarshal(s.DataValue.Value, &v) == nil && v.Text+v.Amount != "" {
			q.Text = v.Text + strings.TrimPrefix(v.Amount, "+")
			return q
		}
	}
	if q.Text = string(s.DataValue.Value); len(q.Text) > 200 {
		q.Text = strings.ToValidUTF8(q.Text[:200], "") + "…"
	}
	return q
}

// readClasses makes the facts about the labels of items.
func readClasses(keys []string, answers []scrape.Answer) (map[string]scrape.Fact, error) {
	found := map[string]classFact{}
	err := entities(keys, answers, func(key string, e entity) error {
		f := classFact{Revision: e.revision, Missing: e.missing}
		if len(e.labels) > 0 && e.labels[0] != '[' {
			labels := map[string]struct{ Language, Value string }{}
			if err := json.Unmarshal(e.labels, &labels); err != nil {
				return fmt.Errorf("labels: %w", err)
			}
			for _, code := range []string{"en", "mul"} {
				if l := labels[code]; f.Label == "" && l.Value != "" {
					f.Label, f.Language = l.Value, l.Language
				}
			}
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
