package examples

import "fmt"

// RowError is the error for a row of tags.jsonl that is not one.
type RowError struct {
	Path string // of tags.jsonl
	Line int    // from 1
	Err  error  // what is wrong in the row
}

// Error names the file and the line.
func (e *RowError) Error() string { return fmt.Sprintf("%s:%d: %v", e.Path, e.Line, e.Err) }

// Unwrap returns what is wrong in the row.
func (e *RowError) Unwrap() error { return e.Err }
