package embeddings

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"hgld/labels"
)

// KindError is the error for a file of a kind that [Open] does not read.
type KindError struct {
	Path string // of the file
	Err  error  // names the kinds that are read
}

// Error names the file.
func (e *KindError) Error() string { return fmt.Sprintf("%s: %v", e.Path, e.Err) }

// Unwrap returns the error without the path.
func (e *KindError) Unwrap() error { return e.Err }

// TwoTablesError is the error for vectors beside which there are several tables of labels.
type TwoTablesError struct {
	Tables  []string // paths
	Vectors string   // path
}

// Error names the tables and the vectors.
func (e *TwoTablesError) Error() string {
	return fmt.Sprintf("%s are both beside %s", strings.Join(e.Tables, " and "), e.Vectors)
}

// NoTreeError is the error for columns of labels that do not form a tree in any order.
type NoTreeError struct{ Err error }

// Error is the text of Err.
func (e *NoTreeError) Error() string { return e.Err.Error() }

// Unwrap returns the error of the first class with two parents.
func (e *NoTreeError) Unwrap() error { return e.Err }

// Partial reports whether a class has a parent in one row and none in another.
func (e *NoTreeError) Partial() bool {
	var two *labels.ParentsError
	return errors.As(e.Err, &two) && slices.Contains(two.Parents[:], "")
}

// ErrNoClasses is the error for a Parquet file without columns of classes.
var ErrNoClasses = errors.New("no column label_0 or level_0")

// SwappedError is the error for a table in place of vectors and vectors in place of labels.
type SwappedError struct{ Table, Vectors string }

// Error names both files.
func (e *SwappedError) Error() string {
	return fmt.Sprintf("embeddings is the table %s and labels is the vectors %s: swap them", e.Table, e.Vectors)
}

// NoLabelsError is the error for vectors without labels.
type NoLabelsError struct {
	Vectors string   // path
	Gallery bool     // they are the gallery's
	Tables  []string // tables in the folder of the vectors, which may be the labels
}

// Error names the vectors.
func (e *NoLabelsError) Error() string {
	return e.Vectors + " needs labels with a row for each vector: no .csv or .tsv of the same name exists"
}

// SeveralError says that a file has several arrays that may be the vectors.
type SeveralError struct {
	Path  string   // the file
	Names []string // of the arrays
}

// Error names the first tensors.
func (e *SeveralError) Error() string {
	return fmt.Sprintf("it has %d float tensors with rows and columns, %s, but none is called %.80q", len(e.Names),
		firstFew(e.Names), "embeddings")
}
