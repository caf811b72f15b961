package landmarks

import (
	"context"
	"fmt"
	"slices"

	"hgld/labels"
	"hgld/train/device"
	"hgld/train/input"
	"hgld/train/metric"
	"hgld/train/qrels"
	"hgld/train/retrieval"
)

// solutionMetric is the metric of Google Landmarks v2 retrieval.
const solutionMetric = "mAP@100"

// Solution is the published solution of Google Landmarks v2 retrieval, for queries and a gallery. Its public queries
// judge a model: they are the validation of the benchmark, and the private ones its test.
type Solution struct {
	Queries *input.Subset // those that it judges: public ones, then private ones
	Notes   []string      // what it does not judge, and what the gallery lacks

	levels []string
	truths []*qrels.Truth // of the public and of the private queries
}

// solutionParts are the parts of a solution that are measured.
var solutionParts = []string{"public", "private"}

// ReadSolution reads a solution. It fails if no query of a part has a positive in the gallery.
func ReadSolution(file string, queries, gallery input.Dataset) (*Solution, error) {
	s := &Solution{Queries: &input.Subset{Of: queries}}
	items := ids(gallery)
	whole := qrels.Truth{Unjudged: queries.Len()}
	for _, part := range solutionParts {
		q, err := qrels.Read(file, part)
		if err != nil {
			return nil, err
		}
		names := []string{}
		for row := range queries.Len() {
			if id := queries.ID(row); q.Judges(id) {
				names = append(names, id)
				s.Queries.Rows = append(s.Queries.Rows, row)
			}
		}
		truth, err := q.Bind(names, items)
		if err != nil {
			return nil, fmt.Errorf("%s, %s queries: %w", file, part, err)
		}
		s.levels, s.truths = q.Levels(), append(s.truths, truth)
		whole.Unjudged, whole.Missing = whole.Unjudged-len(names), whole.Missing+truth.Missing
	}
	s.Notes = whole.Notes(file, queries.Len())
	return s, nil
}

// ids returns the ids of a data set.
func ids(d input.Dataset) []string {
	list := make([]string, d.Len())
	for i := range list {
		list[i] = d.ID(i)
	}
	return list
}

// Measure measures the public and the private queries.
func (s *Solution) Measure() *Measure {
	return &Measure{Parts: solutionParts, Metrics: []string{solutionMetric}, Rank: s.rank,
		Definitions: map[string]string{solutionMetric: metric.Definition(solutionMetric)}}
}

// rank implements Measure.Rank.
func (s *Solution) rank(ctx context.Context, b device.Backend, thread *device.Thread,
	e retrieval.Evaluation) (means []Means, err error) {
	if e.Metrics, err = metric.ParseSet([]string{solutionMetric}); err != nil {
		return nil, err
	}
	e.Levels = s.levels
	unknown := slices.Repeat(labels.Path{-1}, len(s.levels))
	e.Gallery.Labels = slices.Repeat([]labels.Path{unknown}, len(e.Gallery.Labels))
	vectors, from := e.Query.Vectors, 0
	for _, truth := range s.truths {
		to := from + truth.Len()
		e.Query = retrieval.Side{Vectors: vectors.RowRange(from, to), Labels: slices.Repeat([]labels.Path{unknown}, to-from)}
		e.Truth, from = truth, to
		r, err := retrieval.EvaluateOn(ctx, b, thread, &e)
		if err != nil {
			return nil, err
		}
		means = append(means, Means{[]float64{float64(r.Values[0].Mean)}, r.Values[0].Skipped})
	}
	return means, nil
}
