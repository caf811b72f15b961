package landmarks

import (
	"context"
	"slices"

	"hgld/labels"
	"hgld/train/device"
	"hgld/train/metric"
	"hgld/train/retrieval"
)

// Rank ranks the gallery of e for its queries, whose truths are those of a benchmark, and returns the means of the
// three protocols. Rows of the gallery that no truth names are negatives. Of e it reads the vectors of both sides, the
// numbers of their labels, which it replaces, and the number of threads. All operations of b run on thread.
func Rank(ctx context.Context, b device.Backend, thread *device.Thread, e retrieval.Evaluation,
	truths []metric.Truth) ([]metric.RevisitedMeans, error) {
	label := func(s *retrieval.Side, class int32) {
		s.Labels = slices.Repeat([]labels.Path{{class}}, len(s.Labels))
	}
	label(&e.Query, 0)
	label(&e.Gallery, -1)
	measured := metric.NewRevisited(truths)
	e.Levels = []string{"query"}
	e.Observer = &retrieval.Observer{Places: len(e.Gallery.Labels), Ranking: func(q int, rows []int32, _ []float32) error {
		measured.Add(q, rows)
		return nil
	}}
	if _, err := retrieval.EvaluateOn(ctx, b, thread, &e); err != nil {
		return nil, err
	}
	return measured.Means(), nil
}
