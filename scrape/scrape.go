// Package scrape is stage 1 of hgld: it finds the "instance of" tag of every
// landmark category on Wikimedia Commons. It reads the category file of GLDv2
// (train_label_to_category.csv) and writes tags.jsonl, one labels.Record a
// landmark in the order of the input.
//
// What a site knows of a category comes from a Source; scrape/page is one. This
// package is the crawl around it: which titles to ask for, in which order, what
// is kept, and how a stopped crawl goes on.
//
// # State
//
// The state folder of a crawl holds
//
//	scrape.db      SQLite, WAL, synchronous FULL. meta: format, input hash, settings.
//	               page: one row a title, with its outcome and Record as JSON.
//	               answer: one row a response behind it: URL, status, time, sha256.
//	               again: titles to be asked for again though they have a finding.
//	raw/ab/abc….gz bodies of responses, gzip, named by the sha256 of the body
//	lock           held while a process works here; holds its pid
//	report.json    counts of the last finished run
//
// A title is acknowledged when its row is committed; by then its bodies are on
// disk. After a kill -9 the same command finds every acknowledged title done and
// asks for the others. tags.jsonl is made from the rows alone, times included, so
// its bytes do not depend on how often the crawl was interrupted. Parsing can be
// repeated from the bodies without a network (Reparse).
package scrape

import (
	"context"
	"time"

	"hgld/labels"
)

// Source finds out what one site says about a category.
type Source interface {
	// Name is the name in Record.Source: "page", "api".
	Name() string

	// Fetch asks for one title in canonical form ("Category:Eiffel Tower").
	//
	// It fills the Finding's Outcome and what belongs to it. A page that does not
	// exist, has no tag or cannot be read is a finding, not an error.
	//
	// An error means that nothing is known about the title yet and that it can be
	// asked for again; the Finding may then hold the redirects followed so far. An
	// error that has a method RetryAt() time.Time means that no other title can be
	// had either: the crawl stops and names that time, where it is not zero.
	Fetch(ctx context.Context, title string) (Finding, error)
}

// Batcher is a Source that answers several titles in one call.
type Batcher interface {
	Source

	// BatchSize is the largest number of titles that FetchBatch takes.
	BatchSize() int

	// FetchBatch asks for several titles. Finding i belongs to title i. With an
	// error, as of Fetch, those findings count that have an Outcome.
	FetchBatch(ctx context.Context, titles []string) ([]Finding, error)
}

// Reparser is a Source that can read kept responses again.
type Reparser interface {
	Source

	// Reparse repeats the finding about a title from the responses that Fetch
	// got, without a network. If these do not suffice, because the page is now
	// understood as a redirect that was not followed, the error is ErrMoreNeeded.
	Reparse(title string, answers []Answer) (Finding, error)
}

// Finding is what a Source knows about one title.
type Finding struct {
	// Record has all fields filled but Landmark, Split and Category, which the
	// crawl knows, and Tag, Raw and QID, which it chooses from Values.
	labels.Record

	// Answers are the responses behind the record, in the order of asking.
	Answers []Answer
}

// Answer is a response that a finding rests on.
type Answer struct {
	URL     string
	Status  int
	Type    string    // Content-Type
	Fetched time.Time // whole seconds, UTC
	Body    []byte    // as sent, but decompressed
}

// Landmark is one row of the category file.
type Landmark struct {
	ID       labels.LandmarkID
	Split    labels.Split
	Category string // URL, byte for byte
}

// Input is the category file.
type Input struct {
	Name      string // for messages
	SHA256    string // of the file, hexadecimal; a crawl goes on with the same file only
	Landmarks []Landmark
}
