package train

import (
	"context"
	"fmt"
	"maps"

	"hgld/train/input"
	"hgld/train/landmarks"
	"hgld/train/metric"
	"hgld/train/retrieval"
)

// Landmarks is a benchmark of landmarks, such as Revisited Oxford, that a run is measured on.
type Landmarks struct {
	Name    string             // of the ground truth, such as gnd_roxford5k
	Queries input.Dataset      // the queries
	Gallery input.Dataset      // the images to rank
	Measure *landmarks.Measure // of the rankings
	Side    int                // longer side of an image, see EmbedOptions
}

// Sets returns the queries and the images to rank, with a level that says nothing if they have none.
func (l *Landmarks) Sets() []input.Dataset {
	return []input.Dataset{labelled(l.Queries), labelled(l.Gallery)}
}

// key returns the key of a metric of a part. before is the number of parts of the benchmarks before this one.
func (l *Landmarks) key(metric string, before, part int) string {
	return fmt.Sprintf("%s_level%d", metric, before+part)
}

// landmarkKeys returns the keys of the metrics of benchmarks. Of each, the metric that judges a model comes first.
func landmarkKeys(list []Landmarks) (keys []string) {
	before := 0
	for _, l := range list {
		for _, name := range l.Measure.Metrics {
			keys = append(keys, l.key(name, before, l.Measure.Judge))
			for part := range l.Measure.Parts {
				if part != l.Measure.Judge {
					keys = append(keys, l.key(name, before, part))
				}
			}
		}
		before += len(l.Measure.Parts)
	}
	return keys
}

// Landmarks measures benchmarks of landmarks. The levels of the result are the parts of each benchmark, such as
// easy, medium and hard.
func (m *Model) Landmarks(ctx context.Context, list []Landmarks) (*retrieval.Result, error) {
	all := &retrieval.Result{Version: retrieval.ResultVersion, Ties: "score-then-row",
		Overall: map[string]retrieval.Number{}, Definitions: map[string]string{}}
	var keys []string
	var means []float64
	for _, l := range list {
		parts, err := m.rankLandmarks(ctx, &l)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", l.Name, err)
		}
		all.Queries, all.Gallery = all.Queries+l.Queries.Len(), all.Gallery+l.Gallery.Len()
		maps.Copy(all.Definitions, l.Measure.Definitions)
		before := len(all.Levels)
		for p, part := range parts {
			all.Levels = append(all.Levels, l.Name+" "+l.Measure.Parts[p])
			for i, mean := range part.Values {
				key := l.key(l.Measure.Metrics[i], before, p)
				all.Values = append(all.Values, retrieval.Value{Key: key, Mean: retrieval.Number(mean), Skipped: part.Skipped})
				keys, means = append(keys, key), append(means, mean)
			}
		}
	}
	for name, mean := range metric.Overall(keys, means) {
		all.Overall[name] = retrieval.Number(mean)
	}
	return all, nil
}

// rankLandmarks embeds and ranks a benchmark.
func (m *Model) rankLandmarks(ctx context.Context, l *Landmarks) ([]landmarks.Means, error) {
	o := embedOptions{thread: m.thread, reads: m.Config.Run.Reads, workers: m.Config.Run.Workers,
		prefetch: m.Config.Run.Prefetch, side: l.Side}
	e := retrieval.Evaluation{Threads: m.Config.Run.Threads}
	sets := l.Sets()
	var err error
	if e.Query, err = m.network.side(ctx, sets[0], o); err != nil {
		return nil, err
	}
	defer m.free(e.Query)
	if e.Gallery, err = m.network.side(ctx, sets[1], o); err != nil {
		return nil, err
	}
	defer m.free(e.Gallery)
	return l.Measure.Rank(ctx, m.network.b, m.thread, e)
}

// validateLandmarks checks that a network can embed the images of benchmarks of landmarks.
func (c *Config) validateLandmarks(list []Landmarks) error {
	watches := c.Run.Watch == watchLandmarks
	err := firstBroken([]rule{
		{watches && len(list) == 0, "run.watch is landmarks, but the data has none: name a ground truth in " +
			"landmarks.truth and the folder of its images in landmarks.images", nil},
		{!watches && len(list) > 0, "landmarks.truth names a benchmark, which is measured during training alone: set " +
			"run.watch=landmarks, or leave it out", nil},
		{len(list) > 0 && c.ofVectors(), "landmarks are images, but the run trains on vectors: leave out landmarks.truth",
			nil},
	})
	if err != nil || len(list) == 0 || list[0].Side == 0 {
		return err
	}
	if err := (&Model{Config: *c}).AnyShape(); err != nil {
		return fmt.Errorf("%v: set landmarks.side=0, which crops them as an evaluation does", err)
	}
	return nil
}

// watches reports whether the data that run.watch names are there.
func (r *Run) watches() bool {
	switch r.config.Run.Watch {
	case watchTest:
		return r.data.tested()
	case watchLandmarks:
		return true
	}
	return r.data.Validation != nil
}

// keys returns the keys of the metrics of watched evaluations, at so many levels of the data.
func (r *Run) keys(levels int) []string {
	if r.config.Run.Watch == watchLandmarks {
		return landmarkKeys(r.data.Landmarks)
	}
	return r.resolved.metrics.Keys(levels)
}
