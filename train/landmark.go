package train

import (
	"context"
	"fmt"
	"strings"

	"hgld/train/input"
	"hgld/train/landmarks"
	"hgld/train/metric"
	"hgld/train/retrieval"
)

// Landmarks is a benchmark of landmarks, such as Revisited Oxford, that a run is measured on.
type Landmarks struct {
	Name   string            // of the ground truth, such as gnd_roxford5k
	Images *landmarks.Images // to rank, and of the queries
	Truths []metric.Truth    // of the queries
	Side   int               // longer side of an image, see EmbedOptions
}

// Sets returns the queries and the images to rank, with a level that says nothing if they have none.
func (l *Landmarks) Sets() []input.Dataset {
	return []input.Dataset{labelled(l.Images.Queries), labelled(l.Images.Gallery)}
}

// landmarkMetrics are the means of a protocol of Revisited Oxford and Paris.
var landmarkMetrics = []string{"mAP", "mP@1", "mP@5", "mP@10"}

// mediumOfFirst ends the keys of the protocol that judges a run: medium, of the first benchmark.
var mediumOfFirst = fmt.Sprintf("_level%d", metric.Medium)

// landmarkKeys returns the keys of the metrics of n benchmarks, each of three protocols.
func landmarkKeys(n int) (keys []string) {
	for _, name := range landmarkMetrics {
		for level := range n * (int(metric.HardOnly) + 1) {
			keys = append(keys, fmt.Sprintf("%s_level%d", name, level))
		}
	}
	return keys
}

// Landmarks measures benchmarks of landmarks. The levels of the result are the protocols of each benchmark: easy,
// medium and hard.
func (m *Model) Landmarks(ctx context.Context, list []Landmarks) (*retrieval.Result, error) {
	all := &retrieval.Result{Version: retrieval.ResultVersion, Ties: "score-then-row",
		Overall: map[string]retrieval.Number{}, Definitions: map[string]string{
			"mAP": "mean of average precision by the trapezoidal rule, without junk",
			"mP":  "mean of the share of positives among the first k, or up to the last positive, without junk",
		}}
	var keys []string
	var means []float64
	for _, l := range list {
		protocols, err := m.rankLandmarks(ctx, &l)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", l.Name, err)
		}
		all.Queries, all.Gallery = all.Queries+l.Images.Queries.Len(), all.Gallery+l.Images.Gallery.Len()
		for _, p := range protocols {
			level := len(all.Levels)
			all.Levels = append(all.Levels, l.Name+" "+p.Protocol.String())
			for i, mean := range append([]float64{p.AP}, p.Precision[:]...) {
				key := fmt.Sprintf("%s_level%d", landmarkMetrics[i], level)
				all.Values = append(all.Values, retrieval.Value{Key: key, Mean: retrieval.Number(mean), Skipped: p.Skipped})
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
func (m *Model) rankLandmarks(ctx context.Context, l *Landmarks) ([]metric.RevisitedMeans, error) {
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
	return landmarks.Rank(ctx, m.network.b, m.thread, e, l.Truths)
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
		return landmarkKeys(len(r.data.Landmarks))
	}
	return r.resolved.metrics.Keys(levels)
}

// levelOf returns the metric of a key at the level that judges a run.
func (c *Config) levelOf(name string) string {
	if c.Run.Watch == watchLandmarks && !strings.Contains(name, "_level") {
		return name + mediumOfFirst
	}
	return name + "_level0"
}
