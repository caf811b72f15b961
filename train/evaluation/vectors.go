package evaluation

import (
	"context"
	"fmt"

	"hgld/labels"
	"hgld/train/config"
	"hgld/train/device"
	"hgld/train/input"
	"hgld/train/metric"
	"hgld/train/retrieval"
)

// MeasureVectors evaluates the vectors themselves, scaled to unit length, with the metrics of c.
// It is the baseline that a head has to improve, with the values of every query. parents are extra parents of the
// classes; it may be nil.
func MeasureVectors(ctx context.Context, b device.Backend, d input.Dataset, c config.Config,
	parents []labels.ExtraParent, threads int) (*retrieval.Result, error) {
	v, ok := input.AsVectored(d)
	if !ok {
		return nil, fmt.Errorf("train: the data are images, want vectors")
	}
	metrics, err := metric.ParseSet(c.Run.Metrics)
	if err != nil {
		return nil, &config.Error{Err: fmt.Errorf("run.metrics: %w", err)}
	}
	e := &retrieval.Evaluation{Levels: d.Levels(), Metrics: metrics, Threads: threads, PerQuery: true}
	if e.Truth, err = TruthOf(parents, d, nil); err != nil {
		return nil, err
	}
	if e.Query.Vectors, err = retrieval.Upload(b, vectorRows{v}, true); err != nil {
		return nil, err
	}
	defer b.Free(e.Query.Vectors.Buf)
	for i := range d.Len() {
		e.Query.Labels, e.Query.IDs = append(e.Query.Labels, d.Labels(i)), append(e.Query.IDs, d.ID(i))
	}
	e.Gallery, e.Self = e.Query, retrieval.OwnRows(d.Len())
	return retrieval.Evaluate(ctx, b, e)
}

// vectorRows reads the vectors of a data set as if they were a file.
type vectorRows struct{ of input.Vectored }

// Rows returns the number of rows and columns.
func (r vectorRows) Rows() (rows, cols int) { return r.of.Len(), r.of.Width() }

// ReadRows fills dst with the rows from lo on.
func (r vectorRows) ReadRows(dst []float32, lo int) error {
	for w := r.of.Width(); len(dst) > 0; lo++ {
		copy(dst[:w], r.of.Vector(lo))
		dst = dst[w:]
	}
	return nil
}
