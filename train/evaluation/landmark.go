package evaluation

import (
	"context"
	"fmt"
	"maps"

	"hgld/train/input"
	"hgld/train/landmarks"
	"hgld/train/metric"
	"hgld/train/network"
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

// LandmarkKeys returns the keys of the metrics of benchmarks. Of each, the metric that judges a model comes first.
func LandmarkKeys(list []Landmarks) (keys []string) {
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
	all := &retrieval.Result{Version: retrieval.ResultVersion, Ties: metric.ScoreThenRow.String(),
		Definitions: map[string]string{}}
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
				all.Values = append(all.Values, retrieval.Value{Key: l.key(l.Measure.Metrics[i], before, p),
					Mean: retrieval.Number(mean), Skipped: part.Skipped})
			}
		}
	}
	all.SetOverall()
	return all, nil
}

// rankLandmarks embeds and ranks a benchmark.
func (m *Model) rankLandmarks(ctx context.Context, l *Landmarks) ([]landmarks.Means, error) {
	o := network.EmbedOptions{Thread: m.thread, Reads: m.Config.Run.Reads, Workers: m.Config.Run.Workers,
		Prefetch: m.Config.Run.Prefetch, Side: l.Side}
	e := retrieval.Evaluation{Threads: m.Threads}
	sets := l.Sets()
	var err error
	if e.Query, err = m.network.Side(ctx, sets[0], o); err != nil {
		return nil, err
	}
	defer m.free(e.Query)
	if e.Gallery, err = m.network.Side(ctx, sets[1], o); err != nil {
		return nil, err
	}
	defer m.free(e.Gallery)
	return l.Measure.Rank(ctx, m.network.Backend, m.thread, e)
}
