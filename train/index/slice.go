package index

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"hgld/internal/atomicfile"
	"hgld/internal/terminal"
	"hgld/train/evaluation"
	"hgld/train/input"
)

// Slice is the outcome of WriteSlice.
type Slice struct {
	Parts  int       // of the slice
	Kept   int       // parts that were there already
	Items  int       // in the parts, failures included
	Failed []Failure // items without a vector
}

// MissingPartsError reports parts that no slice has left.
type MissingPartsError struct {
	Parts []int // their numbers, from 0
	Of    int   // number of parts
}

// Error counts them.
func (e *MissingPartsError) Error() string {
	return fmt.Sprintf("index: %d of %d parts %s missing", len(e.Parts), e.Of, terminal.Are(len(e.Parts)))
}

// Slices returns the slices out of a number that have not left all their parts, counted from 1.
func (e *MissingPartsError) Slices(of int) []int {
	var list []int
	for _, k := range e.Parts {
		list = append(list, k%of+1)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// WriteSlice embeds slice n of of: the parts n, n+of, n+2·of …, counted from 1. Several processes, on several machines
// with one folder, can embed a data set together. A Write afterwards finds the parts and writes the files: it embeds
// what is missing or, with Finish, refuses. If the files are there already, WriteSlice embeds nothing.
func (w *Writer) WriteSlice(ctx context.Context, m *evaluation.Model, d input.Dataset, n, of int) (*Slice, error) {
	if n < 1 || n > of || w.Finish {
		return nil, errors.New("index: want a slice from 1 to the number of slices, and nothing to finish")
	}
	info, folder, err := w.begin(m, d)
	if err != nil {
		return nil, err
	}
	old, err := w.complete(ctx, info)
	if err != nil {
		return nil, err
	}
	if old == nil {
		if err := atomicfile.MkdirAll(folder, 0o755); err != nil {
			return nil, err
		}
	}
	own := *w
	own.slice = true
	s := &Slice{}
	for k := n - 1; k < w.count(d); k += of {
		s.Parts++
		s.Items += min(w.partRows(), d.Len()-k*w.partRows())
		if old != nil {
			s.Kept++
			continue
		}
		p, kept, err := own.part(ctx, m, d, folder, k)
		if err != nil {
			return nil, err
		}
		s.Failed = append(s.Failed, p.Failed...)
		if kept {
			s.Kept++
		}
	}
	return s, nil
}
