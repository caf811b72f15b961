package cluster

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
)

// Lookup is an encoder that looks texts up in a table of vectors, which another program
// computed.
type Lookup struct {
	path, sum string
	rows      map[string]int
	x         Matrix
}

// MissingTextsError says that the table of a Lookup lacks texts.
type MissingTextsError struct {
	Path string // the file of the table

	Texts []string // those that it lacks

	Of int // the number of texts that were asked for
}

// Error counts the missing texts and quotes the first three.
func (e *MissingTextsError) Error() string {
	return fmt.Sprintf("%s has no vector for %d of %d texts, the first of them %.80q", e.Path, len(e.Texts), e.Of,
		e.Texts[:min(3, len(e.Texts))])
}

// NewLookup indexes vectors by text: row i of x, read from the file at path with the given
// SHA-256, belongs to texts[i], read from the file list. A text may be repeated with the
// same vector. It fails if a value is not finite, or if a text has two vectors.
func NewLookup(path, sum string, x Matrix, list string, texts []string) (*Lookup, error) {
	l := &Lookup{path: path, sum: sum, x: x, rows: make(map[string]int, len(texts))}
	for i, t := range texts {
		for at, a := range x.Row(i) {
			if math.IsNaN(float64(a)) || math.IsInf(float64(a), 0) {
				return nil, fmt.Errorf("%s: row %d has %v at %d; every value must be finite", path, i, a, at)
			}
		}
		first, twice := l.rows[t]
		if twice && !slices.Equal(x.Row(first), x.Row(i)) {
			return nil, fmt.Errorf("%s: %.80q is in rows %d and %d, with different vectors", list, t, first, i)
		}
		if !twice {
			l.rows[t] = i
		}
	}
	return l, nil
}

// Name names the file and its SHA-256.
func (l *Lookup) Name() string {
	return fmt.Sprintf("vectors(%s,sha256=%s)", filepath.Base(l.path), l.sum)
}

// Encode looks the texts up. It returns a *MissingTextsError if the table lacks any.
func (l *Lookup) Encode(_ context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	var missing []string
	for i, t := range texts {
		row, found := l.rows[t]
		if !found {
			missing = append(missing, t)
			continue
		}
		out[i] = l.x.Row(row)
	}
	if len(missing) > 0 {
		return nil, &MissingTextsError{l.path, missing, len(texts)}
	}
	return out, nil
}
