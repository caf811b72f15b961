package labels

import (
	"encoding/json"
	"time"
)

// Outcome is how the search for a landmark's tag ended.
type Outcome string

// The outcomes of stage 1. Only OK has a tag; every other one is the reason why a
// landmark has none, and `hgld labels show` lists it.
const (
	OK             Outcome = "ok"
	NoInfobox      Outcome = "no_infobox"      // the page has no Wikidata infobox
	NoTag          Outcome = "no_tag"          // an infobox or item without "instance of"
	NoItem         Outcome = "no_item"         // no Wikidata item belongs to the page
	Missing        Outcome = "missing"         // the category does not exist (any more)
	Deleted        Outcome = "deleted"         // it does not exist, and the log says that it was deleted
	RedirectLoop   Outcome = "redirect_loop"   // soft redirects form a loop or a chain that is too long
	Disambiguation Outcome = "disambiguation"  // the page is a disambiguation page
	CategoryItem   Outcome = "category_item"   // the item describes a category without a main topic
	Several        Outcome = "several"         // several different values, and the policy keeps none
	Malformed      Outcome = "malformed"       // the answer could not be read; Error says why
	Retryable      Outcome = "error_retryable" // a later run tries again
	Failed         Outcome = "error_final"     // given up; Error says why
)

// TagValue is one value of "instance of" as the source states it.
type TagValue struct {
	Raw        string   `json:"raw"`                  // as printed, byte for byte
	Text       string   `json:"text"`                 // Raw with runs of white space made one space, trimmed, NFC
	QID        string   `json:"qid,omitempty"`        // class item; HTML pages do not carry it
	Rank       string   `json:"rank,omitempty"`       // preferred, normal or deprecated; empty if unknown
	Qualifiers []string `json:"qualifiers,omitempty"` // texts in parentheses behind the value
	Link       string   `json:"link,omitempty"`       // target of the value's link on the page

	// Details are the qualifiers one by one, as Wikidata has them. Pages print only
	// texts.
	Details []Qualifier `json:"details,omitempty"`

	Extra map[string]json.RawMessage `json:"-"` // unknown fields
}

// Qualifier qualifies a value: since when it holds, or of what.
type Qualifier struct {
	Property string `json:"property"`      // "P580"
	QID      string `json:"qid,omitempty"` // of a value that is an item
	Text     string `json:"text"`          // the value: a label, a time, a number
}

// About is what Wikidata states about a landmark besides its classes, by the rules of Item. The source page has what
// the infobox prints: names of places, and no items.
type About struct {
	Description string    `json:"description,omitempty"` // in the language of the scrape, or else English
	LocatedIn   []string  `json:"located_in,omitempty"`  // items of P131, "located in the administrative entity"
	Country     []string  `json:"country,omitempty"`     // items of P17
	Place       []string  `json:"place,omitempty"`       // source page: names of the places around it, smallest first
	Coordinates []float64 `json:"coordinates,omitempty"` // P625: latitude and longitude in degrees, on Earth
	Image       string    `json:"image,omitempty"`       // P18: name of a file on Commons
}

// Outcomes lists every outcome.
var Outcomes = []Outcome{OK, NoInfobox, NoTag, NoItem, Missing, Deleted, RedirectLoop, Disambiguation, CategoryItem,
	Several, Malformed, Retryable, Failed}

// Record is one line of tags.jsonl: everything that stage 1 found out about one
// landmark. Fields that a source does not provide are empty.
type Record struct {
	Landmark  LandmarkID `json:"landmark_id"`         // id within its split
	Split     Split      `json:"split"`               // of the landmark
	Category  string     `json:"category"`            // URL as in the GLDv2 file, byte for byte
	Title     string     `json:"title,omitempty"`     // page title asked for, canonical: "Category:Eiffel Tower"
	Outcome   Outcome    `json:"outcome"`             // why there is a tag, or none
	Tag       string     `json:"tag,omitempty"`       // the chosen value's Text
	Raw       string     `json:"raw,omitempty"`       // the chosen value's Raw
	QID       string     `json:"qid,omitempty"`       // the chosen value's class item
	Values    []TagValue `json:"values,omitempty"`    // all values in the order of the source
	Item      string     `json:"item,omitempty"`      // the Wikidata item of the category's page
	Topic     string     `json:"topic,omitempty"`     // the item that has the values, if it is another one: the main topic
	Combines  []string   `json:"combines,omitempty"`  // items of a category that combines topics
	About     *About     `json:"about,omitempty"`     // what else the item states
	Infobox   *bool      `json:"infobox,omitempty"`   // whether the page shows a Wikidata infobox, where that is known
	Redirects []string   `json:"redirects,omitempty"` // titles followed, in order
	PageID    int64      `json:"page_id,omitempty"`   // of the category page
	Revision  int64      `json:"revision,omitempty"`  // of the page that was read
	Revised   time.Time  `json:"revised,omitzero"`    // when that revision was made

	// The same for the item that has the values.
	ItemRevision int64     `json:"item_revision,omitempty"`
	ItemRevised  time.Time `json:"item_revised,omitzero"` // when that revision was made

	Source string `json:"source,omitempty"`      // "page", "api" or the name of an import
	Status int    `json:"http_status,omitempty"` // HTTP status of the last answer
	Error  string `json:"error,omitempty"`       // what went wrong, "" if nothing did

	Extra map[string]json.RawMessage `json:"-"` // unknown fields, kept on rewriting; so in TagValue
}
