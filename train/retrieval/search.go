package retrieval

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"hgld/labels"
	"hgld/train/device"
)

// Search finds the nearest gallery rows of each query by dot product. It is exact; equal scores
// are ordered by row.
type Search struct {
	// Query and Gallery are vectors of the same width. Their labels are not read.
	Query, Gallery Side

	// K is the number of neighbours of each query. There are fewer if the gallery is smaller.
	K int

	// Self is each query's row in the gallery, which is left out, or −1. nil: nothing is left
	// out.
	Self []int32

	Threads int // threads that select; 0: all processors
	Memory  int // as in Evaluation; it does not change the result
}

// Run calls each for the queries in order, with the rows of the neighbours and their scores,
// descending. The slices are reused. It stops at the first error of each. It never holds the
// scores of all queries × gallery at once.
func (s *Search) Run(ctx context.Context, b device.Backend,
	each func(query int, rows []int32, scores []float32) error) error {
	e, err := s.evaluation()
	if err != nil {
		return fmt.Errorf("search: %w", err)
	}
	thread := device.NewThread(b)
	err = thread.Do(func() error {
		m := newRanker(b, e)
		defer m.free()
		shown := newPresenter(m, &Observer{Places: s.K, Ranking: each})
		defer shown.free()
		return s.blocks(ctx, m, shown)
	})
	if err = errors.Join(err, thread.Close()); err != nil {
		return fmt.Errorf("search: %w", err)
	}
	return nil
}

// evaluation returns an Evaluation in which nothing is positive.
func (s *Search) evaluation() (*Evaluation, error) {
	queries, width := s.Query.shape()
	rows, galleryWidth := s.Gallery.shape()
	if queries < 0 || rows < 0 || width != galleryWidth {
		return nil, fmt.Errorf("queries are %v and the gallery %v, want two matrices of the same width", &s.Query, &s.Gallery)
	}
	if s.K < 1 {
		return nil, fmt.Errorf("%d neighbours, want 1 or more", s.K)
	}
	withoutLabels := func(of Side, rows int) Side {
		return Side{Vectors: of.Vectors, Stored: of.Stored, Labels: slices.Repeat([]labels.Path{{-1}}, rows)}
	}
	e := &Evaluation{Query: withoutLabels(s.Query, queries), Gallery: withoutLabels(s.Gallery, rows), Self: s.Self,
		Levels: []string{"none"}, Threads: s.Threads, Memory: s.Memory}
	return e, e.check()
}

func (s *Search) blocks(ctx context.Context, m *ranker, shown *presenter) error {
	if err := m.upload(); err != nil {
		return err
	}
	queries := len(m.e.Query.Labels)
	for lo := 0; lo < queries; lo += m.block {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("stopped after %d of %d queries: %w", lo, queries, err)
		}
		hi := min(lo+m.block, queries)
		if err := m.score(lo, hi); err != nil {
			return err
		}
		if err := shown.show(lo, hi); err != nil {
			return err
		}
	}
	return nil
}
