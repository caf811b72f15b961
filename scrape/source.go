package scrape

import (
	"context"
	"encoding/json"
	"time"

	"hgld/labels"
)

// Source finds out what one site says about a category, in steps. For example, scrape/api
// first looks up a title on Commons and then, on Wikidata, the item that the title leads to.
// What an answer says about one title or item is a Fact. A title's record is a function of
// facts, so it can be rebuilt without a network.
type Source interface {
	// Name returns the name in Record.Source: "page" or "api".
	Name() string

	// Steps lists the kinds of request. Each comes before those that depend on its answers.
	Steps() []string

	// BatchSize returns the number of keys that one request of a step takes. It may change
	// from call to call.
	BatchSize(step string) int

	// Ask sends the request of a step for at most BatchSize keys, and further requests if
	// the site splits its answer. It returns the answers in order.
	//
	// After an error, the same keys can be requested again. An error with a method
	// RetryAt() time.Time means that no other request can succeed either: the crawl stops
	// and names that time, unless it is zero.
	Ask(ctx context.Context, step string, keys []string) ([]Answer, error)

	// Read parses the answers of one Ask into a fact for each key. Keys without a fact are
	// requested again. An error means that the answers are unusable.
	Read(step string, keys []string, answers []Answer) (map[string]Fact, error)

	// Finding builds the record of a title from facts. The title is in canonical form:
	// "Category:Eiffel Tower". Finding sets all fields except Landmark, Split and
	// Category, which the crawl knows, and Tag, Raw and QID, which it chooses from Values.
	// A page that does not exist, has no tag or cannot be read is a finding too. If facts
	// are missing, Finding returns the tasks that fetch them.
	Finding(title string, facts Facts) (labels.Record, []Task)
}

// Task is one thing to look up.
type Task struct {
	Step string // one of Source.Steps
	Key  string // a title or an item
}

// Fact is what the answers to a task say about its key, as JSON in the source's own format.
type Fact = json.RawMessage

// Facts looks up the fact of a task, and returns false if it is unknown.
type Facts func(Task) (Fact, bool)

// Answer is an HTTP response.
type Answer struct {
	Method  string    // "GET" or "POST"
	URL     string    // that was requested
	Form    string    // body of a POST
	Status  int       // HTTP status
	Type    string    // Content-Type
	Fetched time.Time // whole seconds, UTC
	Body    []byte    // as sent, but decompressed
}

// Landmark is one row of a category file.
type Landmark struct {
	ID       labels.LandmarkID // within Split
	Split    labels.Split      // id space of ID
	Category string            // URL, byte for byte
}

// Input is the content of the category files.
type Input struct {
	Name      string     // for messages
	SHA256    string     // of the files, hexadecimal
	Landmarks []Landmark // in the order of the files
}
