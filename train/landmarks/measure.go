package landmarks

import (
	"context"

	"hgld/train/device"
	"hgld/train/metric"
	"hgld/train/retrieval"
)

// Measure is what is measured on a benchmark, part by part: the protocols of Revisited Oxford, or the public and the
// private queries of Google Landmarks v2.
type Measure struct {
	Parts       []string          // their names
	Judge       int               // the part that judges a model
	Metrics     []string          // of each part; the first one judges a model
	Definitions map[string]string // of the metrics

	// Rank ranks the gallery of e for its queries and returns the means of each part. It reads of e what [Rank] does,
	// and replaces the labels. All operations of b run on thread.
	Rank func(ctx context.Context, b device.Backend, thread *device.Thread, e retrieval.Evaluation) ([]Means, error)
}

// Means are the means of a part.
type Means struct {
	Values  []float64 // of each metric, NaN if no query counts
	Skipped int       // queries without a positive
}

// Revisited measures the protocols of Revisited Oxford and Paris. As in their papers, medium judges.
func Revisited(truths []metric.Truth) *Measure {
	m := &Measure{Judge: int(metric.Medium), Metrics: []string{"mAP", "mP@1", "mP@5", "mP@10"},
		Definitions: map[string]string{
			"mAP": "mean of average precision by the trapezoidal rule, without junk",
			"mP":  "mean of the share of positives among the first k, or up to the last positive, without junk",
		}}
	for p := metric.EasyOnly; p <= metric.HardOnly; p++ {
		m.Parts = append(m.Parts, p.String())
	}
	m.Rank = func(ctx context.Context, b device.Backend, thread *device.Thread, e retrieval.Evaluation) ([]Means, error) {
		list, err := Rank(ctx, b, thread, e, truths)
		var means []Means
		for _, p := range list {
			means = append(means, Means{append([]float64{p.AP}, p.Precision[:]...), p.Skipped})
		}
		return means, err
	}
	return m
}
