// Package outputs writes the reports of an evaluation that go beyond its metrics: an HTML
// page, and files for trec_eval.
package outputs

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"hgld/labels"
	"hgld/train/retrieval"
)

// Items is one side of an evaluation, queries or gallery. Both input.Dataset and Rows
// implement it.
type Items interface {
	// Len returns the number of items.
	Len() int

	// ID returns the name of an item.
	ID(i int) string

	// Labels returns the classes of an item, finest first.
	Labels(i int) labels.Path
}

// Rows are vectors read from files. The name of an item is its id, or its row number if the
// file has no ids.
type Rows struct{ *retrieval.Side }

// Len implements Items.
func (r Rows) Len() int { return len(r.Side.Labels) }

// Labels implements Items.
func (r Rows) Labels(i int) labels.Path { return r.Side.Labels[i] }

// ID implements Items.
func (r Rows) ID(i int) string {
	if r.IDs == nil {
		return strconv.Itoa(i)
	}
	return r.IDs[i]
}

// Output is a report that an evaluation writes in addition to its metrics.
type Output interface {
	// Look requests the data that the output needs.
	Look(l *retrieval.Observer)

	// Ranking receives the first rows of a query's ranking with their scores.
	Ranking(query int, rows []int32, scores []float32) error

	// Finish writes the output when the evaluation is complete.
	Finish(ctx context.Context, r *retrieval.Result) error

	// Close releases open files. If Finish has not been called, it leaves no files behind.
	Close() error
}

// Outputs combines the outputs of one evaluation, which share one Look.
type Outputs struct {
	list   []Output
	places []int
	shared retrieval.Observer
}

// Join merges the requests of all outputs into one.
func Join(list ...Output) *Outputs {
	o := &Outputs{list: list}
	for _, out := range list {
		var l retrieval.Observer
		out.Look(&l)
		o.places = append(o.places, l.Places)
		o.shared.Places = max(o.shared.Places, l.Places)
		if l.Vector != nil {
			o.shared.Queries, o.shared.Vector = l.Queries, l.Vector
		}
		if l.Curves != nil {
			o.shared.Curves = l.Curves
		}
	}
	o.shared.Ranking = func(query int, rows []int32, scores []float32) error {
		for i, out := range o.list {
			n := min(o.places[i], len(rows))
			if err := out.Ranking(query, rows[:n], scores[:n]); err != nil {
				return err
			}
		}
		return nil
	}
	return o
}

// Look returns the merged request.
func (o *Outputs) Look() *retrieval.Observer { return &o.shared }

// UnshownError says that a page was written with empty frames instead of images.
type UnshownError struct {
	Path   string // the page
	Images int    // number of missing images
	First  string // the first of them, and the reason
}

// Error names the page and the first image.
func (e *UnshownError) Error() string {
	return fmt.Sprintf("evaluation: %s was written, but %d of its images could not be shown: %s", e.Path, e.Images,
		e.First)
}

// Finish writes all outputs. If the evaluation failed with err, it writes nothing. If an output
// fails, it skips the remaining ones; an [UnshownError] does not count as a failure. It returns
// the errors.
func (o *Outputs) Finish(ctx context.Context, r *retrieval.Result, err error) error {
	for _, out := range o.list {
		if err == nil || errors.As(err, new(*UnshownError)) {
			err = errors.Join(err, out.Finish(ctx, r))
		}
		err = errors.Join(err, out.Close())
	}
	return err
}
