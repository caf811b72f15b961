package evaluation

import (
	"context"
	"fmt"
	"strings"

	"hgld/train/input"
	"hgld/train/retrieval"
)

// Benchmark is a test of one level with its own images. The queries rank the gallery or, without
// one, each other. DyML-Vehicle and -Animal have one for each level.
type Benchmark struct{ Query, Gallery input.Dataset }

// Benchmarks measures the benchmarks in order. The result has one level for each. Overall is the
// mean over them, as in DyML. Metrics over several levels are left out.
func (m *Model) Benchmarks(ctx context.Context, list []Benchmark, o retrieval.Evaluation) (*retrieval.Result, error) {
	if err := CheckBenchmarks(list); err != nil {
		return nil, fmt.Errorf("train: evaluation: %w", err)
	}
	o.PerQuery, o.Self, o.Observer = false, nil, nil // they belong to a single data set
	all := &retrieval.Result{Version: retrieval.ResultVersion, Self: true}
	for i, b := range list {
		r, err := m.Evaluate(ctx, b.Query, b.Gallery, o)
		if err != nil {
			return nil, err
		}
		all.Queries, all.Gallery, all.Ties = all.Queries+r.Queries, all.Gallery+r.Gallery, r.Ties
		all.Self, all.MeanOver, all.Intervals = all.Self && r.Self, r.MeanOver, r.Intervals
		all.LeftOut, all.Definitions = all.LeftOut+r.LeftOut, r.Definitions
		all.Batches, all.Tied = r.Batches, all.Tied+r.Tied
		all.Levels = append(all.Levels, r.Levels[0])
		for _, v := range r.Values {
			name, binary := strings.CutSuffix(v.Key, "_level0")
			if !binary {
				continue
			}
			v.Key = fmt.Sprintf("%s_level%d", name, i)
			all.Values = append(all.Values, v)
		}
	}
	all.SetOverall()
	return all, nil
}

// CheckBenchmarks checks that each benchmark has one level.
func CheckBenchmarks(list []Benchmark) error {
	for i, b := range list {
		if levels := b.Query.Levels(); len(levels) != 1 {
			return fmt.Errorf("benchmark %d has the levels %s, want one", i+1, strings.Join(levels, ", "))
		}
	}
	return nil
}
