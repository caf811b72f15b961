package train

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"hgld/internal/atomicfile"
	"hgld/internal/registry"
	"hgld/internal/tensorfile"
	"hgld/train/backbone"
	"hgld/train/device"
	"hgld/train/grad"
	"hgld/train/input"
	"hgld/train/sample"
	"hgld/train/tensor"
)

// projectionStream is the random stream of the rows that a projection is fitted to. Package input
// has the streams before it.
const projectionStream = 3

// projectionFile is the file in a run directory that holds the projection fitted to the data:
// "weight" [Dim,C] and "bias" [Dim].
const projectionFile = "projection.safetensors"

// projection selects how principal components become a projection.
type projection struct{ Whiten bool }

// projections lists the initial projections other than the random one.
var projections = registry.Table[projection]{
	{Name: "pca", About: "principal components of the training images' features", Value: projection{}},
	{Name: "pca-whitening", About: "pca, each component divided by its deviation", Value: projection{Whiten: true}},
}

// startProjection fits the projection to the principal components of the features of the training
// images, with the crop of an evaluation. It runs once in a run, before the first step, on all
// images or on Model.FitOn images chosen by the seed.
func (r *Run) startProjection(ctx context.Context, yield func(Event, error) bool) (proceed bool, err error) {
	if r.config.Model.Projection == "" || r.state.Started || r.state.Step > 0 {
		return true, nil
	}
	began := time.Now()
	some := input.Subset{Of: r.data.Train, Rows: fitRows(r.data.Train.Len(), r.config.Model.FitOn, r.config.Seed)}
	features := new(backbone.Features)
	err = r.network.features(ctx, &some, embedOptions{thread: r.thread, reads: r.config.Run.Reads,
		workers: r.config.Run.Workers, prefetch: r.config.Run.Prefetch}, features.Add)
	if err != nil {
		return true, r.stopped(ctx, err)
	}
	pca, err := features.Fit(r.config.Model.Dim)
	if err != nil {
		return true, fmt.Errorf("train: model.projection: %w", err)
	}
	weight, bias := pca.Linear(r.resolved.projection.Whiten)
	if r.o.Dir != "" {
		if err := writeProjection(filepath.Join(r.o.Dir, projectionFile), weight, bias); err != nil {
			return true, fmt.Errorf("train: model.projection: %w", err)
		}
	}
	err = r.thread.Do(func() error {
		r.network.net.Project(r.o.Backend, weight, bias)
		if ema := r.step.update.ema; ema != nil {
			ema.Restart(r.o.Backend)
		}
		return r.o.Backend.Sync()
	})
	if err != nil {
		return true, fmt.Errorf("train: model.projection: %w", err)
	}
	r.state.Started = true
	return yield(r.event(Event{Kind: Projected, Images: some.Len(), Seconds: time.Since(began).Seconds()}), nil), nil
}

// fitRows returns n distinct row numbers below total, ascending, or all of them if n is 0.
func fitRows(total, n int, seed uint64) []int {
	if n == 0 {
		n = total
	}
	rows := sample.NewRandom(seed, projectionStream).Choose(total, min(n, total))
	slices.Sort(rows)
	return rows
}

// features calls add with the projection's input [n,C] for a data set, on the host, one batch at
// a time.
func (n *network) features(ctx context.Context, d input.Dataset, o embedOptions, add func(*tensor.Tensor) error) error {
	record := func(t *grad.Tape, in *input.Arrays) *grad.Var { return n.normalised(t, in, n.net.Features) }
	return n.through(ctx, d, record, o, func(_ int, rows device.Array) error {
		block, err := tensor.FromDevice(n.b, rows)
		if err != nil {
			return err
		}
		return add(block)
	})
}

func writeProjection(path string, weight, bias *tensor.Tensor) error {
	list := []tensorfile.Tensor{weight.File("weight"), bias.File("bias")}
	return atomicfile.Write(path, func(w io.Writer) error { return tensorfile.WriteSafetensors(w, list, nil) })
}

// startProjection gives an untrained network the initial projection of its run.
func (m *Model) startProjection() error {
	if m.Config.Model.Projection == "" {
		return m.network.b.Sync()
	}
	path := filepath.Join(m.Path, "..", "..", projectionFile)
	weight, err := tensor.Read(path, "weight")
	if err != nil {
		return fmt.Errorf("train: %w", err)
	}
	bias, err := tensor.Read(path, "bias")
	if err != nil {
		return fmt.Errorf("train: %w", err)
	}
	dim, channels := m.Config.Model.Dim, m.network.net.Backbone.Channels()
	if !slices.Equal(weight.Dims, []int{dim, channels}) || !slices.Equal(bias.Dims, []int{dim}) {
		return &DamagedError{path, fmt.Sprintf("weight is %v and bias %v, want %d components of %d features", weight.Dims,
			bias.Dims, dim, channels)}
	}
	m.network.net.Project(m.network.b, weight, bias)
	return m.network.b.Sync()
}
