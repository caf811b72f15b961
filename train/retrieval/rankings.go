package retrieval

import (
	"context"
	"errors"
	"fmt"

	"hgld/train/device"
	"hgld/train/metric"
)

// Ranking holds the first places of one query, as found by another program.
type Ranking struct {
	// Rows are rows of the gallery, best first.
	Rows []int32

	// Scores are the scores of Rows, descending. nil: they are unknown, and no items are tied.
	Scores []float64
}

// RankingTooShortError says that a ranking ends before a place that a metric reads.
type RankingTooShortError struct {
	Metric string // name of the metric
	Query  int    // number of the query
	ID     string // its id, or ""
	Wants  int    // places that the metric reads
	Has    int    // places of the ranking, without the query itself and junk
}

// Error names the places that the metric reads and the ranking has.
func (e *RankingTooShortError) Error() string {
	query := fmt.Sprintf("query %d", e.Query)
	if e.ID != "" {
		query = fmt.Sprintf("query %.80q", e.ID)
	}
	if e.Has == 0 {
		return query + " has no ranking"
	}
	return fmt.Sprintf("%s reads %d places, but the ranking of %s has %d", e.Metric, e.Wants, query, e.Has)
}

// EvaluateRankings measures rankings made by another program, one for each query. It does not
// read the vectors of e. A query without a ranking is an error, or with e.Unranked 0 in every
// metric. Metrics are exact as far as the rankings reach; a metric that reads further is a
// *RankingTooShortError. It fails if a row is ranked twice or is not in the gallery. Observer and
// Gap are not supported.
func EvaluateRankings(ctx context.Context, e *Evaluation, list []Ranking) (*Result, error) {
	if err := e.checkRankings(list); err != nil {
		return nil, fmt.Errorf("evaluation: %w", err)
	}
	if err := e.checkMetrics(); err != nil {
		return nil, err
	}
	e = e.completed()
	keys := e.Metrics.Keys(len(e.Levels))
	columns := make([][]float64, len(keys))
	for k := range columns {
		columns[k] = make([]float64, len(list))
	}
	ties := newTieColumns(len(keys))
	var views []*measuredView
	for _, v := range e.views() {
		views = append(views, newMeasuredView(e, v, ties))
	}
	for q := range list {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("evaluation stopped after %d of %d queries: %w", q, len(list), err)
		}
		for _, v := range views {
			if err := v.measure(e, q, &list[q], columns); err != nil {
				return nil, err
			}
		}
		if e.Progress != nil {
			e.Progress(q+1, len(list))
		}
	}
	return newResult(e, keys, columns, ties), nil
}

// measuredView measures given rankings in a view.
type measuredView struct {
	view
	bounds        *tieReader
	values        []float64
	list          *metric.List
	shared, bytes []byte
	items         []metric.Item
}

func newMeasuredView(e *Evaluation, v view, ties *tieColumns) *measuredView {
	if v.truth == nil {
		v.truth = newLabelsBut(e)
	}
	return &measuredView{view: v, bounds: ties.reader(v.levels, v.columns), values: make([]float64, len(v.columns)),
		list: metric.NewList(v.levels, e.Ties), shared: make([]byte, len(e.Gallery.Labels))}
}

// measure measures the ranking of query q.
func (v *measuredView) measure(e *Evaluation, q int, r *Ranking, columns [][]float64) (err error) {
	v.truth.Shared(v.shared, q)
	if e.Self != nil && e.Self[q] >= 0 {
		v.shared[e.Self[q]] = device.AbsentLevel
	}
	reach, n := 0, 0
	if v.bytes, reach, err = r.bytes(v.bytes[:0], v.shared); err != nil {
		return fmt.Errorf("evaluation: query %d: %w", q, err)
	}
	v.items, n = metric.Items(v.items[:0], v.bytes)
	v.list.ResetItems(v.items, n)
	missing := e.Unranked && reach == 0
	for _, m := range v.metrics {
		if wants := metric.Reach(m, v.list); wants > reach && !missing {
			short := &RankingTooShortError{Metric: m.Name(), Query: q, Wants: wants, Has: reach}
			if e.Query.IDs != nil {
				short.ID = e.Query.IDs[q]
			}
			return short
		}
	}
	v.set.Measure(v.values, v.list)
	for i, value := range v.values {
		if missing && value == value { // a metric that is defined
			value = 0
		}
		columns[v.columns[i]][q] = value
	}
	v.bounds.read(q, v.list)
	return nil
}

func (e *Evaluation) checkRankings(list []Ranking) error {
	switch {
	case e.Observer != nil || e.Gap != 0:
		return errors.New("rankings support neither an Observer nor Gap")
	case len(list) != len(e.Query.Labels):
		return fmt.Errorf("%d rankings for %d queries, want one for each", len(list), len(e.Query.Labels))
	case len(list) == 0 || len(e.Gallery.Labels) == 0:
		return fmt.Errorf("%d queries and %d gallery items, want at least one of each", len(list), len(e.Gallery.Labels))
	}
	return CheckLevels(e.Levels)
}

// bytes appends what metric.List reads: first the reach ranked items, then all others. It
// overwrites shared.
func (r *Ranking) bytes(dst, shared []byte) (all []byte, reach int, err error) {
	const seen = device.AbsentLevel - 1 // more levels than data may have
	last := -1                          // index in Rows of the previous item
	for i, row := range r.Rows {
		if row < 0 || int(row) >= len(shared) {
			return nil, 0, fmt.Errorf("place %d has row %d, want 0 to %d as in the gallery", i+1, row, len(shared)-1)
		}
		switch shared[row] {
		case seen:
			return nil, 0, fmt.Errorf("row %d is ranked twice", row)
		case device.AbsentLevel:
			continue
		}
		b := shared[row]
		if last >= 0 && r.Scores != nil && r.Scores[last] == r.Scores[i] {
			b |= metric.Tied
		}
		dst, last, shared[row] = append(dst, b), i, seen
	}
	reach = len(dst)
	for _, b := range shared {
		if b != seen && b != device.AbsentLevel {
			dst = append(dst, b)
		}
	}
	return dst, reach, nil
}
