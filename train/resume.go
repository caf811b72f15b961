package train

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hgld/internal/atomicfile"
	"hgld/internal/filelock"
	"hgld/internal/tensorfile"
)

// averageSteps is the key of the moving average among the step counts.
const averageSteps = "ema"

// lockFile is the file in a run directory that names the process using it.
const lockFile = "lock"

// open makes and locks the run directory, and loads the newest checkpoint.
func (r *Run) open() (err error) {
	if err := atomicfile.MkdirAll(r.o.Dir, 0o755); err != nil {
		return err
	}
	if r.lock, err = filelock.Acquire(filepath.Join(r.o.Dir, lockFile)); err != nil {
		return fmt.Errorf("train: %w", err)
	}
	return r.resume()
}

// Await waits while the lock of a run directory may be that of a process that has died on another machine: on a
// file system without locks, that takes until its lease ends. It returns a *filelock.LockedError if the process
// lives.
func Await(ctx context.Context, dir string) error {
	if _, err := os.Stat(dir); atomicfile.IsMissing(err) {
		return nil
	}
	l, err := filelock.AcquireOrWait(ctx, filepath.Join(dir, lockFile))
	if err != nil {
		return fmt.Errorf("train: %w", err)
	}
	return l.Close()
}

// TakenOverError says that another process may have used the run directory of a training that lost its lock: the
// lock file was removed, or its lease ended while the process was suspended.
type TakenOverError struct {
	Dir string // the run directory
	Err error  // what the other process left
}

// Error names the run directory.
func (e *TakenOverError) Error() string {
	return fmt.Sprintf("train: the lock of %s was lost, and %v", e.Dir, e.Err)
}

// Unwrap returns what the other process left.
func (e *TakenOverError) Unwrap() error { return e.Err }

// keepLock checks that the run directory is still the run's, before something in it is replaced. A lock that was
// lost is taken again if no other process has it or has left a checkpoint.
func (r *Run) keepLock() error {
	held, err := r.lock.Held()
	if err != nil || held {
		return err
	}
	lock, err := filelock.Acquire(filepath.Join(r.o.Dir, lockFile))
	if errors.As(err, new(*filelock.LockedError)) {
		return &TakenOverError{r.o.Dir, err}
	}
	if err != nil {
		return err
	}
	old := r.lock
	r.lock = lock
	list, err := checkpoints(r.o.Dir)
	if n := len(list); err == nil && n > 0 && filepath.Base(list[n-1]) > filepath.Base(checkpointName(r.saved)) {
		err = &TakenOverError{r.o.Dir, fmt.Errorf("%s is not of this process", list[n-1])}
	}
	return errors.Join(err, old.Close())
}

// resume loads the newest sound checkpoint, if there is one. Newer damaged ones are moved aside,
// so that their steps are saved again. If none is sound, or one cannot be read, it changes
// nothing.
func (r *Run) resume() error {
	list, err := checkpoints(r.o.Dir)
	if err != nil || len(list) == 0 {
		return err
	}
	var damaged []error
	for i, path := range slices.Backward(list) {
		err := r.continueFrom(path)
		if errors.As(err, new(*DamagedError)) {
			damaged = append(damaged, err)
			continue
		}
		if err != nil {
			return err
		}
		for k, path := range slices.Backward(list[i+1:]) {
			aside, err := putAside(path)
			if err != nil {
				return err
			}
			r.damaged = append(r.damaged, Aside{Path: aside, Err: damaged[len(list)-i-2-k]})
		}
		return r.recallBest()
	}
	return fmt.Errorf("train: %s has no sound checkpoint: %w", r.o.Dir, errors.Join(damaged...))
}

// Aside is a damaged checkpoint that was moved aside.
type Aside struct {
	Path string // where it is now
	Err  error  // the damage, as a *DamagedError
}

// Damaged returns the damaged checkpoints that the run has moved aside, newest first.
func (r *Run) Damaged() []Aside { return r.damaged }

// putAside renames a damaged checkpoint to a name that no run looks for, and returns that name.
func putAside(path string) (string, error) {
	for n := 1; ; n++ {
		aside := filepath.Join(filepath.Dir(path), fmt.Sprintf("damaged-%s.%d", filepath.Base(path), n))
		if _, err := os.Lstat(aside); err == nil {
			continue
		}
		if err := os.Rename(path, aside); err != nil {
			return "", fmt.Errorf("train: %s is damaged and cannot be moved aside: %w", path, err)
		}
		return aside, atomicfile.SyncDir(filepath.Dir(path))
	}
}

// continueFrom loads a checkpoint. If the error is a *DamagedError, nothing was changed.
func (r *Run) continueFrom(path string) error {
	s, err := readState(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &DamagedError{path, "it has neither " + stateFile + " nor " + sumsFile}
	}
	if err != nil {
		return err
	}
	extends := extend(&s, r.config)
	diff, err := differences(s, r.state)
	if err != nil {
		return err
	}
	if diff = append(diff, r.state.Criterion.differs(s.Criterion)...); len(diff) > 0 {
		return &ResumeError{Checkpoint: path, Differences: diff}
	}
	if err := r.restore(path); err != nil {
		return err
	}
	r.step.update.setCounts(r.o.Backend, s.Steps)
	r.step.update.steps = s.Step
	r.state.Step, r.state.Position, r.state.Skipped, r.state.Started = s.Step, s.Position, s.Skipped, s.Started
	r.state.Judged, r.state.Ranks = s.Judged, s.Ranks
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
func extend(s *state, config Config) *Config {
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
func (r *Run) extended(was Config) (*Extension, error) {
	before, err := was.resolve()
	if err != nil {
		return nil, err
	}
	e := &Extension{Unit: "steps", Was: was.Steps, Now: r.config.Steps, Schedule: r.config.Schedule.Name}
	if was.Steps == 0 {
		e.Unit, e.Was, e.Now = "epochs", was.Epochs, r.config.Epochs
	}
	freeze := freezeOf(&r.config)
	e.Before = before.schedule.Rate(was.Optim.Rate, freeze.At(e.Was))
	e.Rate = r.resolved.schedule.Rate(r.config.Optim.Rate, freeze.At(e.Was+1))
	return e, nil
}

// restore fills the store and the averages from a checkpoint.
func (r *Run) restore(path string) error {
	read := func(names ...string) (list []tensorfile.Tensor, err error) {
		for _, name := range names {
			part, err := readTensors(path, name)
			if err != nil {
				return nil, err
			}
			list = append(list, part...)
		}
		return list, nil
	}
	tensors, err := read(modelFile, optimizerFile)
	if err != nil {
		return err
	}
	var states [][]byte
	for i := range r.step.objective.processes {
		state, err := readChecked(path, processFile(i))
		if err != nil {
			return err
		}
		states = append(states, state)
	}
	if ema := r.step.update.ema; ema != nil {
		average, err := read(averageFile)
		if err != nil {
			return err
		}
		// The averages have the shapes of the weights, so they are imported into the store and
		// copied from there.
		if err := r.network.store.Import(r.o.Backend, over(tensors, average), ""); err != nil {
			return fmt.Errorf("train: %s: %w", path, err)
		}
		ema.Restart(r.o.Backend)
	}
	if err := r.network.store.Import(r.o.Backend, tensors, ""); err != nil {
		return fmt.Errorf("train: %s: %w", path, err)
	}
	for i, p := range r.step.objective.processes {
		if err := p.Restore(states[i]); err != nil {
			return fmt.Errorf("train: %s: %w", filepath.Join(path, processFile(i)), err)
		}
	}
	return nil
}

// over returns tensors, replacing those whose names occur in with.
func over(tensors, with []tensorfile.Tensor) []tensorfile.Tensor {
	byName := map[string]tensorfile.Tensor{}
	for _, t := range with {
		byName[t.Name] = t
	}
	list := make([]tensorfile.Tensor, len(tensors))
	for i, t := range tensors {
		list[i] = t
		if other, both := byName[t.Name]; both {
			list[i] = other
		}
	}
	return list
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
	if r.saved == r.state.Step || r.o.Dir == "" && r.network.ranks == nil {
		return "", nil
	}
	var tensors, average []tensorfile.Tensor
	var states [][]byte
	err := r.thread.Do(func() (err error) {
		if tensors, err = r.network.store.Export(r.o.Backend); err != nil {
			return err
		}
		if average, err = r.step.update.exportAverage(r.network); err != nil {
			return err
		}
		if states, err = r.step.objective.states(); err != nil {
			return err
		}
		if r.state.Steps, err = r.step.update.readCounts(r.o.Backend); err != nil {
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
	path, err := writeCheckpoint(r.o.Dir, r.state, tensors, average, states...)
	if err != nil {
		return "", fmt.Errorf("train: checkpoint of step %d: %w", r.state.Step, err)
	}
	r.saved = r.state.Step
	return path, tidy(r.o.Dir, r.config.Run.Keep, r.best.Checkpoint)
}

// exportAverage returns the averaged weights under the names of the weights, or nil without an
// average.
func (u *update) exportAverage(n *network) ([]tensorfile.Tensor, error) {
	if u.ema == nil {
		return nil, nil
	}
	u.swap(n.b)
	tensors, err := n.store.Export(n.b)
	u.swap(n.b)
	if err != nil {
		return nil, err
	}
	return ofNetwork(tensors), n.b.Sync()
}

// ofNetwork drops the tensors that belong to the loss or only to training.
func ofNetwork(tensors []tensorfile.Tensor) []tensorfile.Tensor {
	own := tensors[:0:0]
	for _, t := range tensors {
		if !forTraining(t) && !strings.HasPrefix(t.Name, lossPrefix) {
			own = append(own, t)
		}
	}
	return own
}

// load fills the network from a file of tensors.
func (n *network) load(tensors []tensorfile.Tensor) error {
	return n.store.Import(n.b, ofNetwork(tensors), "")
}
