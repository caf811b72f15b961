// Package budget bounds what a file of another program, or a list of a server, may cost to read: a megabyte can stand
// for gigabytes, and a list may have no end. It has the limits of all readers, and counts for those that hold a whole
// text, an archive or a list. docs/configuration.md tells users the limits.
package budget

import (
	"fmt"
	"time"
)

// The limits.
const (
	// Bytes is the largest text or document in bytes that is held in memory as a whole.
	Bytes = 1 << 30
	// Expansion is how many bytes the abbreviations of a text may stand for: so many for each byte of it, and Spare.
	Expansion = 64
	Spare     = 16 << 20
	// Items is the largest number of objects in a folder of a store, and of opcodes of a pickle, of which ResNet-101's has
	// 20,000. A million names take 400 MB.
	Items = 1 << 20
	// Depth is how deep brackets, folders, classes and structures may nest.
	Depth = 64
	// Time is how long a file or list may take, and a server for an answer. A text of [Bytes] takes a minute.
	Time = 10 * time.Minute
	// Row and Columns bound a row of a table, in bytes and cells. A row of GLDv2 that lists the images of a landmark has
	// 170 kB.
	Row     = 4 << 20
	Columns = 4096
	// Tensors is the largest number of arrays of a file; those of models are some thousands.
	Tensors = 100_000
	// Values is the largest number of values of a YAML file, with those that aliases repeat.
	Values = 250_000
	// Page bounds the footer and a page of a Parquet file in bytes, and an array of a small .npz. DuckDB's pages have at
	// most 100 MB, and the footer of ten million images 80 MB.
	Page = 256 << 20
)

// Error says that a file exceeds a limit.
type Error struct {
	What  string // "names with prefixes stand for"
	Limit int64  // that is exceeded
	Unit  string // "bytes"
}

// Error states the limit.
func (e *Error) Error() string {
	return fmt.Sprintf("%s more than %d %s, which no sound file needs", e.What, e.Limit, e.Unit)
}

// Budget is what is left to one file or list.
type Budget struct {
	size           int64
	expanded, have int64
	counted        int // calls
	began          time.Time
}

// Of returns the budget of a text or an archive of so many bytes, or of a list, whose size is not known: 0.
func Of(size int64) (*Budget, error) {
	if size > Bytes {
		return nil, &Error{"it has", Bytes, "bytes"}
	}
	return &Budget{size: size, began: time.Now()}, nil
}

// Expand counts n bytes that an abbreviation stands for. what begins the error: "names with prefixes stand for".
func (b *Budget) Expand(what string, n int) error {
	b.expanded += int64(n)
	if b.Left() < 0 {
		return &Error{what, b.most(), "bytes"}
	}
	return b.late()
}

// Left returns how many bytes abbreviations may still stand for.
func (b *Budget) Left() int64 { return b.most() - b.expanded }

func (b *Budget) most() int64 { return min(b.size*Expansion+Spare, Bytes) }

// Item counts an item. what begins the error: "the list has".
func (b *Budget) Item(what string) error {
	if b.have++; b.have > Items {
		return &Error{what, Items, "items"}
	}
	return b.late()
}

// late returns an error if the time is over. It looks at the clock now and then.
func (b *Budget) late() error {
	if b.counted++; b.counted%1024 == 0 && time.Since(b.began) > Time {
		return &Error{"to read it takes", int64(Time / time.Second), "seconds"}
	}
	return nil
}

// Deep returns an error for a depth that is too great. what begins it: "classes have".
func Deep(what string, depth int) error {
	if depth > Depth {
		return &Error{what, Depth, "levels"}
	}
	return nil
}
