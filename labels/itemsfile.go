package labels

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
)

// ItemsVersion is the format version of items.jsonl.
const ItemsVersion = 1

// ItemsHeader is the first line of items.jsonl. One Item per line follows, in the order of the
// numbers of their ids.
type ItemsHeader struct {
	Version int                        `json:"hgld_items"`        // format version
	Tool    string                     `json:"tool,omitempty"`    // hgld's version
	Source  string                     `json:"source,omitempty"`  // as in tags.jsonl
	Unasked int                        `json:"unasked,omitempty"` // items that are linked to and were not fetched
	Extra   map[string]json.RawMessage `json:"-"`                 // unknown fields
}

// Item is an item of Wikidata to which the values or the places of landmarks lead: a class with
// the classes above it, or a place with the places that contain it. The lists hold ids of items,
// from the statements of the best rank in Wikidata's order. Statements that have ended count only
// if none of that rank holds today. "Some value" and "no value" are left out.
type Item struct {
	ID          string   `json:"id"`                    // "Q16970"
	Merged      []string `json:"merged,omitempty"`      // ids of items that were merged into it, and are named elsewhere
	Label       string   `json:"label,omitempty"`       // in the language of the scrape, or else in Language
	Language    string   `json:"language,omitempty"`    // of Label
	Description string   `json:"description,omitempty"` // in the language of the scrape, or else English
	SubclassOf  []string `json:"subclass_of,omitempty"` // P279
	LocatedIn   []string `json:"located_in,omitempty"`  // P131
	Country     []string `json:"country,omitempty"`     // P17
	Continent   []string `json:"continent,omitempty"`   // P30
	ISO         string   `json:"iso,omitempty"`         // P297: code of a country with two letters
	Missing     bool     `json:"missing,omitempty"`     // it does not exist

	Extra map[string]json.RawMessage `json:"-"` // unknown fields
}

// MarshalJSON writes Extra beside the fields.
func (h ItemsHeader) MarshalJSON() ([]byte, error) {
	type plain ItemsHeader
	return encodeObject((*plain)(&h), h.Extra)
}

// MarshalJSON writes Extra beside the fields.
func (i Item) MarshalJSON() ([]byte, error) {
	type plain Item
	return encodeObject((*plain)(&i), i.Extra)
}

// WriteItems writes items.jsonl.
func WriteItems(w io.Writer, h ItemsHeader, items []Item) error {
	h.Version = ItemsVersion
	b := bufio.NewWriter(w)
	data, err := h.MarshalJSON()
	if err := writeLine(b, data, err); err != nil {
		return fmt.Errorf("items.jsonl: header: %w", err)
	}
	for _, i := range items {
		data, err := i.MarshalJSON()
		if err := writeLine(b, data, err); err != nil {
			return fmt.Errorf("items.jsonl: item %s: %w", i.ID, err)
		}
	}
	return b.Flush()
}

// ReadItems reads items.jsonl. Errors begin with name and the line. It rejects an id that occurs
// twice, also as one that was merged.
func ReadItems(r io.Reader, name string) (ItemsHeader, []Item, error) {
	var header ItemsHeader
	var items []Item
	lineOf := map[string]int{}
	err := readLines(r, name, "hgld_items", ItemsVersion, &header, func(d *document) error {
		var i Item
		if err := d.decode(&i); err != nil {
			return err
		}
		for _, id := range append([]string{i.ID}, i.Merged...) {
			if first, twice := lineOf[id]; twice {
				return d.errorf(0, "item %.80q is already in line %d; want one line per item", id, first)
			}
			lineOf[id] = d.line
		}
		items = append(items, i)
		return nil
	})
	if err != nil {
		return ItemsHeader{}, nil, err
	}
	return header, items, nil
}

// Items finds the items of an items.jsonl by id.
type Items struct {
	at    map[string]int
	items []Item
}

// NewItems indexes items by their ids and by the ids that were merged into them.
func NewItems(items []Item) *Items {
	all := &Items{at: map[string]int{}, items: items}
	for n, i := range items {
		for _, id := range append([]string{i.ID}, i.Merged...) {
			all.at[id] = n
		}
	}
	return all
}

// Get returns the item with an id, or nil if it is unknown or does not exist.
func (all *Items) Get(id string) *Item {
	n, known := all.at[id]
	if !known || all.items[n].Missing {
		return nil
	}
	return &all.items[n]
}
