// Package retrieval ranks a gallery for every query and measures the rankings. It knows nothing of
// training: vectors, labels and metrics go in, and a [Result] comes out, which is eval.json.
//
// [Evaluate] ranks by dot product on a device, [EvaluateRankings] measures the rankings of another
// program, [EvaluateIndependent] ranks at each level for itself, and [Search] returns the nearest
// rows. [Pair] compares two results query by query.
package retrieval

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"hgld/labels"
	"hgld/train/device"
	"hgld/train/metric"
)

// Side is one side of an evaluation: vectors with the labels of their rows.
type Side struct {
	Vectors device.Array  // F32 [N,D]; absent if Stored is set
	Stored  *FileVectors  // vectors that stay in their file, for a device that is the host; nil: Vectors
	Labels  []labels.Path // labels of each row
	IDs     []string      // for per-query values; may be nil

	// Ignore holds a number per row, such as a camera. A gallery item with the query's number is
	// removed from its ranking. −1 means no number. If it is nil on either side, nothing is
	// removed.
	Ignore []int32
}

// shape returns the size of the matrix of vectors. rows is −1 if it is not a matrix.
func (s *Side) shape() (rows, cols int) {
	switch {
	case s.Stored != nil:
		return s.Stored.rows, s.Stored.cols
	case s.Vectors.N != 2:
		return -1, 0
	}
	return s.Vectors.Dims[0], s.Vectors.Cols()
}

// String writes the size of the matrix.
func (s *Side) String() string {
	if s.Stored != nil {
		return fmt.Sprintf("F32[%d %d]", s.Stored.rows, s.Stored.cols)
	}
	return s.Vectors.String()
}

// Evaluation is the input of Evaluate. The whole gallery is ranked for every query by dot
// product, whatever the metrics need.
type Evaluation struct {
	Query, Gallery Side // both on the device, or stored

	// Self is each query's row in the gallery, which is left out of its ranking. It is nil if the
	// two are disjoint.
	Self []int32

	// Truth decides what is positive instead of the labels; nil: the labels decide.
	Truth Truth

	Levels  []string    // names, finest first
	Metrics metric.Set  // metrics to compute
	Ties    metric.Ties // how equal scores are ordered
	Threads int         // threads that measure; 0: all processors

	// Memory bounds the bytes of scores held at a time. 0 means at most 256 MB. It does not
	// change results.
	Memory int

	Unranked bool // EvaluateRankings: a query without a ranking has 0 in every metric; otherwise it is an error

	Mean      Unit       // ByClass: every class has the same weight; empty: every query does
	Intervals *Intervals // intervals of every figure; nil: none

	Gap     int    // batch size whose decomposability gap is measured; 0: none
	GapSeed uint64 // seed that deals the gallery into batches

	PerQuery bool                  // keep the values of every query
	Progress func(done, total int) // queries; may be nil
	Observer *Observer             // extra output; nil: none
	Ranks    Ranks                 // processes that divide the queries; nil: this one measures all
	Timing   *Timing               // times of the parts are added to it; may be nil
}

// OwnRows is Self of a gallery that is the queries: each query is the row of its number.
func OwnRows(queries int) []int32 {
	rows := make([]int32, queries)
	for i := range rows {
		rows[i] = int32(i)
	}
	return rows
}

// Evaluate ranks and measures in blocks of queries. Beyond the vectors it needs O(block ·
// gallery) memory. It checks ctx between blocks.
func Evaluate(ctx context.Context, b device.Backend, e *Evaluation) (*Result, error) {
	t := device.NewThread(b)
	r, err := EvaluateOn(ctx, b, t, e)
	return r, errors.Join(err, t.Close())
}

// EvaluateOn is Evaluate for a caller that has a thread of b.
func EvaluateOn(ctx context.Context, b device.Backend, thread *device.Thread, e *Evaluation) (*Result, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	e = e.completed()
	keys := e.Metrics.Keys(len(e.Levels))
	columns := make([][]float64, len(keys)) // per query
	for i := range columns {
		columns[i] = make([]float64, len(e.Query.Labels))
	}
	ties := newTieColumns(len(keys))
	var m *ranker
	observer := e.Observer
	if observer == nil {
		observer = new(Observer)
	}
	var gap *gapMeter
	if e.Gap > 0 {
		gap = newGapMeter(e, len(keys))
		observer = gap.observe(observer)
	}
	var shown *presenter
	err := thread.Do(func() error {
		m = newRanker(b, e)
		shown = newPresenter(m, observer)
		return m.upload()
	})
	if err != nil {
		return nil, fmt.Errorf("evaluation: %w", err)
	}
	defer thread.Do(func() error { shown.free(); m.free(); return nil })
	total, divided := len(e.Query.Labels), newDivision(e)
	for first := 0; first < total; first += divided.size * m.block {
		if err := divided.check(ctx, thread); err != nil {
			return nil, fmt.Errorf("evaluation stopped after %d of %d queries: %w", first, total, err)
		}
		lo := first + divided.index*m.block
		if lo >= total {
			break // the last blocks are those of other processes
		}
		hi := min(lo+m.block, total)
		err := thread.Do(func() error {
			if err := m.rank(lo, hi); err != nil {
				return err
			}
			return shown.show(lo, hi)
		})
		if err != nil {
			return nil, fmt.Errorf("evaluation: %w", err)
		}
		err = thread.Do(func() error { return m.measure(lo, hi, columns, ties, observer.Curves) })
		if err != nil {
			return nil, fmt.Errorf("evaluation: %w", err)
		}
		if e.Progress != nil {
			e.Progress(hi, total)
		}
	}
	figures := columns
	if gap != nil {
		figures = slices.Concat(columns, gap.columns)
	}
	if err := divided.join(thread, m.block, figures, ties); err != nil {
		return nil, fmt.Errorf("evaluation: %w", err)
	}
	r := newResult(e, keys, columns, ties)
	if gap != nil {
		r.addGap(gap)
	}
	return r, nil
}

func (e *Evaluation) check() error {
	queries, width := e.Query.shape()
	gallery, galleryWidth := e.Gallery.shape()
	switch {
	case queries < 0 || gallery < 0 || width != galleryWidth:
		return fmt.Errorf("evaluation: queries are %v and the gallery %v, want two matrices of the same width",
			&e.Query, &e.Gallery)
	case queries != len(e.Query.Labels) || gallery != len(e.Gallery.Labels):
		return fmt.Errorf("evaluation: %d query and %d gallery vectors have %d and %d labels", queries, gallery,
			len(e.Query.Labels), len(e.Gallery.Labels))
	case e.Self != nil && len(e.Self) != queries:
		return fmt.Errorf("evaluation: %d queries, but Self has %d rows", queries, len(e.Self))
	case e.Query.Ignore != nil && len(e.Query.Ignore) != queries,
		e.Gallery.Ignore != nil && len(e.Gallery.Ignore) != gallery:
		return fmt.Errorf("evaluation: %d queries and %d gallery items have %d and %d numbers to ignore",
			queries, gallery, len(e.Query.Ignore), len(e.Gallery.Ignore))
	case queries == 0 || gallery == 0:
		return fmt.Errorf("evaluation: %d queries and %d gallery items, want at least one of each", queries, gallery)
	}
	for i, row := range e.Self {
		if row < -1 || int(row) >= gallery {
			return fmt.Errorf("evaluation: query %d is row %d of a gallery of %d, want −1 to %d", i, row, gallery,
				gallery-1)
		}
	}
	if e.Gap < 0 || e.Gap == 1 {
		return fmt.Errorf("evaluation: gap of batches of %d, want 2 or more items", e.Gap)
	}
	if err := CheckLevels(e.Levels); err != nil {
		return fmt.Errorf("evaluation: %w", err)
	}
	if err := e.checkMetrics(); err != nil {
		return err
	}
	for _, side := range []Side{e.Query, e.Gallery} {
		for i, p := range side.Labels {
			if len(p) != len(e.Levels) {
				return fmt.Errorf("evaluation: row %d has %d labels, want %d", i, len(p), len(e.Levels))
			}
		}
	}
	return nil
}

// checkMetrics returns a LevelsError for a metric that does not fit the levels.
func (e *Evaluation) checkMetrics() error {
	for _, m := range e.Metrics {
		if ap, is := m.(metric.HardAP); is && ap.Shared > len(e.Levels) {
			return &LevelsError{Metric: ap.Name(), Needs: ap.Shared, Levels: len(e.Levels)}
		}
		if n := metric.Weights(m); n > 0 && n != len(e.Levels) {
			return &LevelsError{Metric: m.Name(), Needs: n, Levels: len(e.Levels), Weights: true}
		}
	}
	return nil
}

// LevelsError is returned for a metric that needs another number of levels than the data have.
type LevelsError struct {
	Metric string // its name
	Needs  int    // levels that it needs
	Levels int    // levels of the data
	// Weights says that the metric has a weight for each level, so that it needs exactly Needs.
	Weights bool
}

// Error names the metric and both numbers.
func (e *LevelsError) Error() string {
	if e.Weights {
		return fmt.Sprintf("evaluation: %s has weights of %d levels, but the data have %d", e.Metric, e.Needs,
			e.Levels)
	}
	return fmt.Sprintf("evaluation: %s needs items that share %d levels, but the data have %d", e.Metric, e.Needs,
		e.Levels)
}

// MostLevels is the greatest number of levels that data may have. Seven bits hold the number of
// shared levels, and 127 together with the bit of a tie would be device.AbsentLevel.
const MostLevels = 126

// CheckLevels returns an error for a number of levels that cannot be ranked.
func CheckLevels(levels []string) error {
	if n := len(levels); n < 1 || n > MostLevels {
		return fmt.Errorf("the data have %d levels, want 1 to %d: name fewer columns or folders as levels", n, MostLevels)
	}
	return nil
}
