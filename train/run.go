package train

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"time"

	"hgld/internal/img"
	"hgld/internal/tensorfile"
	"hgld/labels"
	"hgld/train/device"
)

// Data is what a run reads. Query without Gallery is evaluated against itself,
// each item left out of its own ranking; without Query nothing is evaluated.
type Data struct {
	Train          Dataset
	Query, Gallery Dataset
}

// Options are the parts that a run is put together from.
type Options struct {
	Backend device.Backend
	Decoder *img.Decoder      // nil: with default limits
	Dir     string            // run directory
	Origin  map[string]string // tool version, command: kept in every checkpoint
	Limit   int               // stop after this many steps, for a trial; 0: none
}

// Run is a training, begun or resumed.
type Run struct {
	config Config
	parts  parts
	data   Data
	o      Options

	lane    *lane
	network *network
	step    *step
	loader  *loader
	paths   []labels.Path // of the training items, classes numbered from 0

	perEpoch int // batches, by the first epoch

	state   state
	resumed string // checkpoint, "" for a new run
	saved   int    // step of the newest checkpoint
}

// maxSkipped is how many steps in a row may be skipped for a value that is not
// finite. One is a bad batch; ten are a run that has diverged.
const maxSkipped = 10

// New prepares a run. If the directory holds a checkpoint, the run continues
// from the newest one; if that was made with other settings or other data, the
// error is a *ResumeError. Close ends the use of the backend.
func New(config Config, data Data, o Options) (*Run, error) {
	p, err := config.resolve()
	if err != nil {
		return nil, err
	}
	r := &Run{config: config, parts: p, data: data, o: o, lane: newLane(o.Backend), saved: -1}
	if err := r.lane.do(r.prepare); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// prepare reads the labels, builds the network and the loss, and loads the newest
// checkpoint.
func (r *Run) prepare() error {
	list, err := paths(r.data.Train)
	if err != nil {
		return err
	}
	if err := checkTree(r.data.Train, list); err != nil {
		return err
	}
	dense, counts := renumber(list)
	r.paths = dense
	first, err := r.parts.sampler.Epoch(dense, r.config.Seed, 0)
	if err != nil {
		return &ConfigError{err}
	}
	r.perEpoch = len(first)
	r.network = newNetwork(r.o.Backend, &r.config, &r.parts, r.o.Decoder)
	if r.step, err = newStep(r.network, &r.config, &r.parts, counts); err != nil {
		return err
	}
	if r.config.Model.Weights != "" {
		if err := r.network.pretrained(r.parts.backbone, r.config.Model.Weights); err != nil {
			return err
		}
	}
	r.loader = &loader{
		data: r.data.Train, labels: dense, size: r.parts.sampler.Size(), in: r.config.Input, filter: r.parts.filter,
		decoder: r.network.decoder, training: true, seed: r.config.Seed,
		workers: workersOr(r.config.Run.Workers), prefetch: max(r.config.Run.Prefetch, 1),
	}
	r.state = state{Config: r.config, Data: fingerprint(r.data.Train, list), Origin: r.o.Origin}
	if err := os.MkdirAll(r.o.Dir, 0o755); err != nil {
		return err
	}
	return r.resume()
}

// resume loads the newest checkpoint, if there is one.
func (r *Run) resume() error {
	list, err := checkpoints(r.o.Dir)
	if err != nil || len(list) == 0 {
		return err
	}
	path := list[len(list)-1]
	s, err := readState(path)
	if err != nil {
		return err
	}
	diff, err := differences(s, r.config, r.state.Data)
	if err != nil {
		return err
	}
	if len(diff) > 0 {
		return &ResumeError{Checkpoint: path, Differences: diff}
	}
	var tensors []tensorfile.Tensor
	for _, name := range []string{modelFile, optimizerFile} {
		part, err := readTensors(path, name)
		if err != nil {
			return err
		}
		tensors = append(tensors, part...)
	}
	if err := r.network.store.Import(r.o.Backend, tensors, ""); err != nil {
		return fmt.Errorf("train: %s: %w", path, err)
	}
	for _, g := range r.step.groups() {
		g.Steps = s.Steps[g.Name]
	}
	r.state.Step, r.state.Position, r.state.Skipped = s.Step, s.Position, s.Skipped
	r.resumed, r.saved = path, s.Step
	return nil
}

// Close ends the goroutine from which the backend is used.
func (r *Run) Close() error { return r.lane.close() }

// Resumed returns the checkpoint that the run continues from, "" if it is new.
func (r *Run) Resumed() string { return r.resumed }

// Step returns the steps taken so far.
func (r *Run) Step() int { return r.state.Step }

// Parameters returns the number of trained values.
func (r *Run) Parameters() int { return r.network.store.Size() }

// Total returns the number of steps of the whole run, or the limit of a trial.
func (r *Run) Total() int {
	total := r.config.Steps
	if total == 0 {
		total = r.perEpoch * r.config.Epochs
	}
	if r.o.Limit > 0 {
		total = min(total, r.o.Limit)
	}
	return total
}

// complete reports whether the last step has been taken.
func (r *Run) complete() bool {
	return r.o.Limit > 0 && r.state.Step >= r.o.Limit ||
		r.config.Steps > 0 && r.state.Step >= r.config.Steps ||
		r.config.Epochs > 0 && r.state.Position.Epoch >= r.config.Epochs
}

// Events runs the training and yields what happens. When ctx is cancelled the
// step under way is finished, a checkpoint is saved, and the last pair carries an
// error that wraps ctx.Err(); a later Run on the same directory goes on from
// there and ends with the same bytes as one that was never stopped. If the caller
// stops listening, nothing is saved.
func (r *Run) Events(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		proceed, err := r.steps(ctx, yield)
		if !proceed {
			return
		}
		if err == nil {
			err = r.finish(ctx, yield)
		}
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			path, failed := r.save()
			if failed != nil {
				err = errors.Join(err, failed)
			} else if path != "" && !yield(r.event(Event{Kind: Saved, Path: path}), nil) {
				return
			}
		}
		yield(Event{}, err)
	}
}

func (r *Run) event(e Event) Event {
	e.Step, e.Epoch = r.state.Step, r.state.Position.Epoch
	return e
}

// steps takes the steps that are left. proceed is false if the caller has stopped
// listening.
func (r *Run) steps(ctx context.Context, yield func(Event, error) bool) (proceed bool, err error) {
	if r.complete() {
		return true, nil
	}
	plan := epochs(r.parts.sampler, r.paths, r.config.Seed, r.state.Position)
	asked := time.Now()
	for b, err := range r.loader.batches(ctx, plan) {
		if err != nil {
			return true, r.stopped(ctx, err)
		}
		waited := time.Since(asked)
		e, err := r.take(b)
		if err != nil {
			return true, err
		}
		e.Seconds, e.Waited = time.Since(asked).Seconds(), waited.Seconds()
		if !yield(r.event(e), nil) {
			return false, nil
		}
		if r.state.Skipped >= maxSkipped {
			return true, fmt.Errorf("train: step %d: values were not finite in %d steps in a row; a lower optim.lr may help", r.state.Step, maxSkipped)
		}
		if r.complete() {
			return true, nil
		}
		if proceed, err := r.due(ctx, b.last, yield); err != nil || !proceed {
			return proceed, err
		}
		if ctx.Err() != nil {
			return true, r.stopped(ctx, ctx.Err())
		}
		asked = time.Now()
	}
	return true, nil
}

// stopped words the end of a run that was cancelled.
func (r *Run) stopped(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return fmt.Errorf("train: stopped after step %d: %w", r.state.Step, ctx.Err())
}

// take makes one step and moves the position on.
func (r *Run) take(b *batch) (Event, error) {
	at := r.state.Step
	if r.config.Steps == 0 {
		at = b.epoch
	}
	var out outcome
	err := r.lane.do(func() (err error) {
		out, err = r.step.take(b, at)
		return err
	})
	if err != nil {
		return Event{}, fmt.Errorf("train: step %d: %w", r.state.Step+1, err)
	}
	r.state.Step++
	r.state.Position = position{Epoch: b.epoch, Batch: b.index + 1}
	if b.last {
		r.state.Position = position{Epoch: b.epoch + 1}
	}
	e := Event{Kind: Stepped, Loss: out.loss, Rate: out.rate, Images: len(b.rows)}
	if out.finite {
		r.state.Skipped = 0
		return e, nil
	}
	r.state.Skipped++
	e = Event{Kind: Skipped, Images: len(b.rows)}
	for _, row := range b.rows {
		e.IDs = append(e.IDs, r.data.Train.ID(row))
	}
	return e, nil
}

// due saves and evaluates where it is time to.
func (r *Run) due(ctx context.Context, endOfEpoch bool, yield func(Event, error) bool) (proceed bool, err error) {
	every := r.config.Run.Checkpoint
	if every > 0 && r.state.Step%every == 0 {
		path, err := r.save()
		if err != nil {
			return true, err
		}
		if !yield(r.event(Event{Kind: Saved, Path: path}), nil) {
			return false, nil
		}
	}
	every = r.config.Run.Evaluate
	if every == 0 || r.data.Query == nil {
		return true, nil
	}
	now := r.config.Steps > 0 && r.state.Step%every == 0 ||
		r.config.Steps == 0 && endOfEpoch && r.state.Position.Epoch%every == 0
	if !now {
		return true, nil
	}
	return r.evaluate(ctx, yield)
}

// finish saves the last checkpoint, so that an evaluation that fails costs no
// step, and evaluates.
func (r *Run) finish(ctx context.Context, yield func(Event, error) bool) error {
	path, err := r.save()
	if err != nil {
		return err
	}
	if path != "" && !yield(r.event(Event{Kind: Saved, Path: path}), nil) {
		return nil
	}
	if r.data.Query != nil {
		if proceed, err := r.evaluate(ctx, yield); err != nil || !proceed {
			return err
		}
	}
	yield(r.event(Event{Kind: Done}), nil)
	return nil
}

func (r *Run) evaluate(ctx context.Context, yield func(Event, error) bool) (proceed bool, err error) {
	began := time.Now()
	m := &Model{Config: r.config, Step: r.state.Step, network: r.network, lane: r.lane}
	result, err := m.Evaluate(ctx, r.data.Query, r.data.Gallery, EvalOptions{Metrics: r.parts.metrics})
	if err != nil {
		return true, r.stopped(ctx, err)
	}
	return yield(r.event(Event{Kind: Evaluated, Result: result, Seconds: time.Since(began).Seconds()}), nil), nil
}

// save writes a checkpoint unless there is one of this step; it returns "" then.
func (r *Run) save() (string, error) {
	if r.saved == r.state.Step {
		return "", nil
	}
	var tensors []tensorfile.Tensor
	err := r.lane.do(func() (err error) {
		tensors, err = r.network.store.Export(r.o.Backend)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("train: checkpoint: %w", err)
	}
	r.state.Steps = map[string]int{}
	for _, g := range r.step.groups() {
		r.state.Steps[g.Name] = g.Steps
	}
	path, err := writeCheckpoint(r.o.Dir, r.state, tensors)
	if err != nil {
		return "", fmt.Errorf("train: checkpoint of step %d: %w", r.state.Step, err)
	}
	r.saved = r.state.Step
	return path, tidy(r.o.Dir, r.config.Run.Keep)
}
