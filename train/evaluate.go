package train

import (
	"context"
	"errors"
	"fmt"

	"hgld/labels"
	"hgld/train/device"
	"hgld/train/metric"
)

// Side is one side of an evaluation: vectors with the labels of their rows.
type Side struct {
	Vectors device.Array  // F32 [N,D]; absent where Stored has them
	Stored  *Stored       // vectors that stay in their file, of a device that is the host; nil: Vectors has them
	Labels  []labels.Path // of each row
	IDs     []string      // for per-query values; may be nil

	// Ignore numbers what rows have in common that should not count, such as a camera: an
	// item with the number of the query is taken out of its ranking. −1 is no number. Nil,
	// on either side: nothing is taken out.
	Ignore []int32
}

// shape returns the size of the matrix of vectors; rows is −1 if it is none.
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

// Evaluation is what Evaluate measures. The whole gallery is ranked for every
// query by dot product, whatever the metrics need: nothing is cut off.
type Evaluation struct {
	Query, Gallery Side // both on the device, or stored

	// Self is the row of each query in the gallery, which is left out of its
	// ranking by that number and not by its place; nil where the two are disjoint.
	Self []int32

	// Truth says what is positive, in place of the labels; nil: the labels do.
	Truth Truth

	Levels  []string    // names, finest first
	Metrics metric.Set  // what is measured
	Ties    metric.Ties // how equal scores are ordered
	Threads int         // that measure; 0: all processors

	// Memory bounds, in bytes, the scores held at a time; 0 means 256 MB at most. It
	// changes no result.
	Memory int

	Mean      Unit       // ByClass: a class counts once in a mean; empty: every query does
	Intervals *Intervals // of every figure; nil: none

	Gap     int    // batch size whose decomposability gap is measured; 0: none
	GapSeed uint64 // how the gallery is dealt into batches

	PerQuery bool                  // keep the value of every query
	Progress func(done, total int) // queries; may be nil
	Look     *Look                 // nil: nothing is shown
	Parts    *Parts                // what the parts take is added to it; may be nil
}

// Evaluate ranks and measures in blocks of queries: memory is O(block · gallery)
// beyond the vectors. ctx is looked at between blocks.
func Evaluate(ctx context.Context, b device.Backend, e *Evaluation) (*Result, error) {
	l := newLane(b)
	r, err := e.run(ctx, b, l)
	return r, errors.Join(err, l.close())
}

func (e *Evaluation) run(ctx context.Context, b device.Backend, l *lane) (*Result, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	keys := e.Metrics.Keys(len(e.Levels))
	columns := make([][]float64, len(keys)) // per query
	for i := range columns {
		columns[i] = make([]float64, len(e.Query.Labels))
	}
	ties := newTieColumns(len(keys), len(e.Query.Labels))
	var m *meter
	look := e.Look
	if look == nil {
		look = new(Look)
	}
	var gap *gapMeter
	if e.Gap > 0 {
		gap = newGapMeter(e, len(keys))
		look = gap.look(look)
	}
	var shown *looker
	if err := l.do(func() error { m = newMeter(b, e); shown = newLooker(m, look); return m.upload() }); err != nil {
		return nil, fmt.Errorf("train: evaluation: %w", err)
	}
	defer l.do(func() error { shown.free(); m.free(); return nil })
	total := len(e.Query.Labels)
	for lo := 0; lo < total; lo += m.block {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("train: evaluation stopped after %d of %d queries: %w", lo, total, err)
		}
		hi := min(lo+m.block, total)
		err := l.do(func() error {
			if err := m.rank(lo, hi); err != nil {
				return err
			}
			return shown.show(lo, hi)
		})
		if err != nil {
			return nil, fmt.Errorf("train: evaluation: %w", err)
		}
		m.measure(lo, hi, columns, ties, look.Curves)
		if e.Progress != nil {
			e.Progress(hi, total)
		}
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
		return fmt.Errorf("train: evaluation: queries are %v and the gallery %v, want two matrices of the same width",
			&e.Query, &e.Gallery)
	case queries != len(e.Query.Labels) || gallery != len(e.Gallery.Labels):
		return fmt.Errorf("train: evaluation: %d query and %d gallery vectors with %d and %d labels", queries, gallery,
			len(e.Query.Labels), len(e.Gallery.Labels))
	case e.Self != nil && len(e.Self) != queries:
		return fmt.Errorf("train: evaluation: %d queries, and the gallery rows of %d", queries, len(e.Self))
	case e.Query.Ignore != nil && len(e.Query.Ignore) != queries,
		e.Gallery.Ignore != nil && len(e.Gallery.Ignore) != gallery:
		return fmt.Errorf("train: evaluation: %d queries and %d gallery items, and the ignored numbers of %d and %d",
			queries, gallery, len(e.Query.Ignore), len(e.Gallery.Ignore))
	case queries == 0 || gallery == 0:
		return fmt.Errorf("train: evaluation: %d queries and %d gallery items", queries, gallery)
	}
	for i, row := range e.Self {
		if row < -1 || int(row) >= gallery {
			return fmt.Errorf("train: evaluation: query %d is row %d of a gallery of %d, want −1 to %d", i, row, gallery,
				gallery-1)
		}
	}
	if e.Gap < 0 || e.Gap == 1 {
		return fmt.Errorf("train: evaluation: batches of %d, want 2 or more", e.Gap)
	}
	if err := checkLevels(e.Levels); err != nil {
		return fmt.Errorf("train: evaluation: %w", err)
	}
	for _, m := range e.Metrics {
		if ap, is := m.(metric.HardAP); is && ap.Shared > len(e.Levels) {
			return &ConfigError{fmt.Errorf("evaluation: %s is of items that share %d levels, and there are %d", ap.Name(),
				ap.Shared, len(e.Levels))}
		}
	}
	for _, side := range []Side{e.Query, e.Gallery} {
		for i, p := range side.Labels {
			if len(p) != len(e.Levels) {
				return fmt.Errorf("train: evaluation: row %d has %d labels, want %d", i, len(p), len(e.Levels))
			}
		}
	}
	return nil
}

// MostLevels is how many levels data may have: what two items share has seven bits, of which the greatest
// number together with the bit of a tie would be device.AbsentLevel.
const MostLevels = 126

// checkLevels reports a number of levels that cannot be ranked.
func checkLevels(levels []string) error {
	if n := len(levels); n < 1 || n > MostLevels {
		return fmt.Errorf("there are %d levels, want 1 to %d: name fewer columns or folders as levels", n, MostLevels)
	}
	return nil
}
