package scrape

import (
	"context"
	"encoding/json"
	"time"

	"hgld/labels"
)

// Source finds out what one site says about a category. It does so in steps: the
// page API asks for a title, the Wikidata API for the item that the title leads to,
// and so on. What an answer says about one title or item is a Fact; a title's record
// is a function of facts, so that it can be made again without a network.
type Source interface {
	// Name is the name in Record.Source: "page", "api".
	Name() string

	// Steps lists the kinds of question, each before those that its answers open.
	Steps() []string

	// BatchSize is how many keys one request of a step takes at present.
	BatchSize(step string) int

	// Ask sends the request of a step for some keys, at most BatchSize, and where the
	// site demands it the ones that complete it. It returns the answers in order.
	//
	// An error means that nothing is known about the keys yet and that they can be
	// asked for again. An error that has a method RetryAt() time.Time means that
	// nothing else can be had either: the crawl stops and names that time, where it
	// is not zero.
	Ask(ctx context.Context, step string, keys []string) ([]Answer, error)

	// Read takes from the answers of one Ask what they say about each key. A key
	// without a fact is asked for again. An error means that the answers say nothing.
	Read(step string, keys []string, answers []Answer) (map[string]Fact, error)

	// Finding makes the record of a title, in canonical form ("Category:Eiffel
	// Tower"), of facts. All fields are filled but Landmark, Split and Category, which
	// the crawl knows, and Tag, Raw and QID, which it chooses from Values. A page that
	// does not exist, has no tag or cannot be read is a finding. Where facts are
	// lacking it returns the tasks that bring them.
	Finding(title string, facts Facts) (labels.Record, []Task)
}

// Task is one question: a key, such as a title or an item, of a step.
type Task struct{ Step, Key string }

// Fact is what the answers to a task say about its key: JSON of the source's own.
type Fact = json.RawMessage

// Facts looks up the fact that a task has brought, if it has.
type Facts func(Task) (Fact, bool)

// Answer is a response of the site.
type Answer struct {
	Method  string // "GET" or "POST"
	URL     string
	Form    string // body of a POST
	Status  int
	Type    string    // Content-Type
	Fetched time.Time // whole seconds, UTC
	Body    []byte    // as sent, but decompressed
}

// Landmark is one row of a category file.
type Landmark struct {
	ID       labels.LandmarkID
	Split    labels.Split
	Category string // URL, byte for byte
}

// Input is what the category files list.
type Input struct {
	Name      string // for messages
	SHA256    string // of the files, hexadecimal
	Landmarks []Landmark
}
