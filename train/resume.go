package train

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"hgld/internal/atomicfile"
	"hgld/internal/filelock"
	"hgld/internal/tensorfile"
	"hgld/train/checkpoint"
	"hgld/train/collective"
	"hgld/train/config"
	"hgld/train/step"
)

// Saved returns the folder of the checkpoint of the current step, and the SHA-256 of its weights.
// Both are empty if there is no such checkpoint.
func (r *Run) Saved() (folder, sum string, err error) {
	if r.o.Dir == "" || r.saved != r.state.Step {
		return "", "", nil
	}
	folder = filepath.Join(r.o.Dir, checkpoint.Name(r.saved))
	sum, err = checkpoint.WeightsSum(folder, &r.state)
	return folder, sum, err
}

// open makes and locks the run directory, and loads the newest checkpoint.
func (r *Run) open() (err error) {
	if err := atomicfile.MkdirAll(r.o.Dir, 0o755); err != nil {
		return err
	}
	if r.lock, err = filelock.Acquire(filepath.Join(r.o.Dir, checkpoint.LockFile)); err != nil {
		return fmt.Errorf("train: %w", err)
	}
	return r.resume()
}

// keepLock checks that the run directory is still the run's, before something in it is replaced. A lock that was
// lost is taken again if no other process has it or has left a checkpoint.
func (r *Run) keepLock() error {
	held, err := r.lock.Held()
	if err != nil || held {
		return err
	}
	lock, err := filelock.Acquire(filepath.Join(r.o.Dir, checkpoint.LockFile))
	if errors.As(err, new(*filelock.LockedError)) {
		return &checkpoint.TakenOverError{Dir: r.o.Dir, Err: err}
	}
	if err != nil {
		return err
	}
	old := r.lock
	r.lock = lock
	list, err := checkpoint.List(r.o.Dir)
	if n := len(list); err == nil && n > 0 && filepath.Base(list[n-1]) > filepath.Base(checkpoint.Name(r.saved)) {
		err = &checkpoint.TakenOverError{Dir: r.o.Dir, Err: fmt.Errorf("%s is not of this process", list[n-1])}
	}
	return errors.Join(err, old.Close())
}

// resume loads the newest sound checkpoint, if there is one. Newer damaged ones are moved aside,
// so that their steps are saved again. If none is sound, or one cannot be read, it changes
// nothing.
func (r *Run) resume() error {
	list, err := checkpoint.List(r.o.Dir)
	if err != nil || len(list) == 0 {
		return err
	}
	var damaged []error
	for i, path := range slices.Backward(list) {
		err := r.continueFrom(path)
		if errors.As(err, new(*checkpoint.DamagedError)) {
			damaged = append(damaged, err)
			continue
		}
		if err != nil {
			return err
		}
		for k, path := range slices.Backward(list[i+1:]) {
			aside, err := checkpoint.Quarantine(path)
			if err != nil {
				return err
			}
			r.damaged = append(r.damaged, checkpoint.QuarantinedCheckpoint{Path: aside, Err: damaged[len(list)-i-2-k]})
		}
		return r.recallBest()
	}
	return fmt.Errorf("train: %s has no sound checkpoint: %w", r.o.Dir, errors.Join(damaged...))
}

// Damaged returns the damaged checkpoints that the run has moved aside, newest first.
func (r *Run) Damaged() []checkpoint.QuarantinedCheckpoint { return r.damaged }

// continueFrom loads a checkpoint. If the error is a *DamagedError, nothing was changed.
func (r *Run) continueFrom(path string) error {
	s, err := checkpoint.ReadState(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &checkpoint.DamagedError{Path: path,
			Reason: "it has neither " + checkpoint.StateFile + " nor " + checkpoint.SumsFile}
	}
	if err != nil {
		return err
	}
	extends := extend(&s, r.config)
	diff, err := checkpoint.Differences(s, r.state)
	if err != nil {
		return err
	}
	if diff = append(diff, r.state.Criterion.Differs(s.Criterion)...); len(diff) > 0 {
		return &checkpoint.ResumeError{Checkpoint: path, Differences: diff}
	}
	if err := r.restore(path); err != nil {
		return err
	}
	r.step.Update.SetCounts(r.o.Backend, s.Steps)
	r.step.Update.Steps = s.Step
	r.state.Step, r.state.Position, r.state.Skipped, r.state.Started = s.Step, s.Position, s.Skipped, s.Started
	r.state.Judged, r.state.Ranks, r.state.Choices = s.Judged, s.Ranks, s.Choices
	r.resumed, r.saved = path, s.Step
	if extends != nil {
		r.extension, err = r.extended(*extends)
	}
	return err
}

// Extension describes how a complete run is extended.
type Extension struct {
	Unit         string  // "steps" or "epochs"
	Was, Now     int     // length of the run before and now
	Schedule     string  // name of the schedule
	Before, Rate float64 // rate of the backbone in the last step and in the next
}

// Extension returns nil unless the run was complete and now has more steps or epochs.
func (r *Run) Extension() *Extension { return r.extension }

// extend gives the state of a complete run the greater number of steps or epochs of config, and
// returns the configuration that the run had. For any other run it returns nil.
func extend(s *checkpoint.State, config config.Config) *config.Config {
	was := s.Config
	switch {
	case was.Steps > 0 && config.Steps > was.Steps && s.Step >= was.Steps:
		s.Config.Steps = config.Steps
	case was.Steps == 0 && config.Steps == 0 && config.Epochs > was.Epochs && s.Position.Epoch >= was.Epochs:
		s.Config.Epochs = config.Epochs
	default:
		return nil
	}
	return &was
}

// extended describes how the schedule of an extended run continues.
func (r *Run) extended(was config.Config) (*Extension, error) {
	before, err := was.Resolve()
	if err != nil {
		return nil, err
	}
	e := &Extension{Unit: "steps", Was: was.Steps, Now: r.config.Steps, Schedule: r.config.Schedule.Name}
	if was.Steps == 0 {
		e.Unit, e.Was, e.Now = "epochs", was.Epochs, r.config.Epochs
	}
	freeze := step.FreezeOf(&r.config)
	e.Before = before.Schedule.Rate(was.Optim.Rate, freeze.At(e.Was))
	e.Rate = r.resolved.Schedule.Rate(r.config.Optim.Rate, freeze.At(e.Was+1))
	return e, nil
}

// restore fills the store and the averages from a checkpoint.
func (r *Run) restore(path string) error {
	read := func(names ...string) (list []tensorfile.Tensor, err error) {
		for _, name := range names {
			part, err := checkpoint.ReadTensors(path, name)
			if err != nil {
				return nil, err
			}
			list = append(list, part...)
		}
		return list, nil
	}
	tensors, err := read(checkpoint.ModelFile, checkpoint.OptimizerFile)
	if err != nil {
		return err
	}
	var states [][]byte
	for i := range r.step.Objective.Processes {
		state, err := checkpoint.ReadFile(path, checkpoint.ProcessFile(i))
		if err != nil {
			return err
		}
		states = append(states, state)
	}
	if ema := r.step.Update.EMA; ema != nil {
		average, err := read(checkpoint.AverageFile)
		if err != nil {
			return err
		}
		// The averages have the shapes of the weights, so they are imported into the store and
		// copied from there.
		if err := r.network.Store.Import(r.o.Backend, checkpoint.Overlay(tensors, average), ""); err != nil {
			return fmt.Errorf("train: %s: %w", path, err)
		}
		ema.Restart(r.o.Backend)
	}
	if err := r.network.Store.Import(r.o.Backend, tensors, ""); err != nil {
		return fmt.Errorf("train: %s: %w", path, err)
	}
	for i, p := range r.step.Objective.Processes {
		if err := p.Restore(states[i]); err != nil {
			return fmt.Errorf("train: %s: %w", filepath.Join(path, checkpoint.ProcessFile(i)), err)
		}
	}
	return nil
}

// checkpoint saves a checkpoint and yields the event.
func (r *Run) checkpoint(yield func(Event, error) bool) (proceed bool, err error) {
	path, err := r.save()
	if err != nil {
		return true, err
	}
	return path == "" || yield(r.event(Event{Kind: Saved, Path: path}), nil), nil
}

// save writes a checkpoint and returns its folder. It returns "" if this step already has one, or
// the run keeps none. Values that are not finite are an error, so that the newest checkpoint can
// always be used. A step skips a gradient that is not finite, but a rate times a finite gradient
// can overflow too.
func (r *Run) save() (string, error) {
	if r.saved == r.state.Step || r.o.Dir == "" && r.network.Ranks == nil {
		return "", nil
	}
	var tensors, average []tensorfile.Tensor
	var states [][]byte
	err := r.thread.Do(func() (err error) {
		if tensors, err = r.network.Store.Export(r.o.Backend); err != nil {
			return err
		}
		if average, err = r.step.Update.ExportAverage(r.network); err != nil {
			return err
		}
		if states, err = r.step.Objective.States(); err != nil {
			return err
		}
		if r.state.Steps, err = r.step.Update.ReadCounts(r.o.Backend); err != nil {
			return err
		}
		if r.state.Choices, err = r.choices(); err != nil {
			return err
		}
		return r.compare(slices.Concat(tensors, average))
	})
	if err != nil {
		return "", fmt.Errorf("train: checkpoint: %w", err)
	}
	for _, t := range slices.Concat(tensors, average) {
		if i := t.NotFinite(); i >= 0 {
			return "", fmt.Errorf("train: step %d: %w: element %d of %s; no checkpoint is written, and a lower optim.lr "+
				"may help", r.state.Step, ErrNotFinite, i, t.Name)
		}
	}
	if r.o.Dir == "" {
		r.saved = r.state.Step
		return "", nil // rank 0 writes it
	}
	if err := r.keepLock(); err != nil {
		return "", err
	}
	path, err := checkpoint.Write(r.o.Dir, r.state, tensors, average, states...)
	if err != nil {
		return "", fmt.Errorf("train: checkpoint of step %d: %w", r.state.Step, err)
	}
	r.saved = r.state.Step
	return path, checkpoint.Prune(r.o.Dir, r.config.Run.Keep, r.best.Checkpoint)
}

// stopped returns the error of a run that was cancelled.
func (r *Run) stopped(ctx context.Context, err error) error {
	if r.stops(ctx, err) {
		if r.network.Ranks == nil {
			err = ctx.Err()
		}
		return fmt.Errorf("train: stopped after step %d: %w", r.state.Step, err)
	}
	return err
}

// stops reports whether a run that ends with err has been told to stop. Processes that train together stop
// together; any other failure of one is its own.
func (r *Run) stops(ctx context.Context, err error) bool {
	if r.network.Ranks != nil {
		return errors.As(err, new(*collective.StopError))
	}
	return ctx.Err() != nil
}

// interrupted returns an error if the run was told to stop before the step that ended last.
func (r *Run) interrupted(ctx context.Context) error {
	switch {
	case r.stop != nil:
		return r.stopped(ctx, r.stop)
	case r.network.Ranks == nil && ctx.Err() != nil:
		return r.stopped(ctx, ctx.Err())
	}
	return nil
}
