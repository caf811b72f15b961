package train

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"hgld/train/backbone"
	"hgld/train/config"
	"hgld/train/external"
	"hgld/train/input"
	"hgld/train/loss"
	"hgld/train/network"
	"hgld/train/sample"
)

// projectionStream is the random stream of the rows that a projection is fitted to. Package input
// has the streams before it.
const projectionStream = 3

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
	err = r.network.Features(ctx, &some, network.EmbedOptions{Thread: r.thread, Reads: r.config.Run.Reads,
		Workers: r.config.Run.Workers, Prefetch: r.config.Run.Prefetch}, features.Add)
	if err != nil {
		return true, r.stopped(ctx, err)
	}
	pca, err := features.Fit(r.config.Model.Dim)
	if err != nil {
		return true, fmt.Errorf("train: model.projection: %w", err)
	}
	length := 1.0
	if r.config.Model.Standard != "l2" {
		length = features.Length()
	}
	weight, bias := pca.Linear(r.resolved.Projection.Whiten, length)
	if r.o.Dir != "" {
		if err := network.WriteProjection(filepath.Join(r.o.Dir, network.ProjectionFile), weight, bias); err != nil {
			return true, fmt.Errorf("train: model.projection: %w", err)
		}
	}
	err = r.thread.Do(func() error {
		r.network.Net.Project(r.o.Backend, weight, bias)
		if ema := r.step.Update.EMA; ema != nil {
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

// CommandError says that a configuration has an external loss, and nobody has allowed its command.
type CommandError struct{ Command []string }

// Error shows the command.
func (e *CommandError) Error() string {
	return "train: loss external runs a command of the configuration, which is not allowed yet: " +
		external.Words(e.Command)
}

// Commands returns the commands of external losses.
func (r *Run) Commands() (list [][]string) {
	for _, l := range loss.Externals(r.step.Objective.Loss) {
		list = append(list, l.Kind.Command)
	}
	return list
}

// startProcesses starts the processes of external losses, unless the run computes nothing.
func (r *Run) startProcesses() error {
	list := loss.Externals(r.step.Objective.Loss)
	if len(list) == 0 || r.o.blank {
		return nil
	}
	if n := r.network.Ranks.Count(); n > 1 {
		return &config.Error{Err: fmt.Errorf("loss external trains in one process, and these are %d: each would start a "+
			"program with a state of its own", n)}
	}
	if !r.o.AllowCommand {
		return &CommandError{list[0].Kind.Command}
	}
	if err := r.step.Objective.Start(r.o.CommandDir, r.config.Seed); err != nil {
		return fmt.Errorf("train: %w", err)
	}
	return nil
}
