package train

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"hgld/internal/filelock"
	"hgld/internal/tensorfile"
)

// averageSteps is the place of the moving average among the counts of steps.
const averageSteps = "ema"

// lockFile, in a run directory, says who works there.
const lockFile = "lock"

// open makes the run directory, keeps others out of it and loads the newest
// checkpoint.
func (r *Run) open() (err error) {
	if err := os.MkdirAll(r.o.Dir, 0o755); err != nil {
		return err
	}
	if r.lock, err = filelock.Acquire(filepath.Join(r.o.Dir, lockFile)); err != nil {
		return fmt.Errorf("train: %w", err)
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
	if err := r.restore(path); err != nil {
		return err
	}
	r.step.update.setCounts(r.o.Backend, s.Steps)
	r.step.update.taken = s.Step
	r.state.Step, r.state.Position, r.state.Skipped, r.state.Started = s.Step, s.Position, s.Skipped, s.Started
	r.resumed, r.saved = path, s.Step
	return r.recallBest()
}

// restore fills the store, and the averages, from a checkpoint.
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
	if ema := r.step.update.ema; ema != nil {
		average, err := read(averageFile)
		if err != nil {
			return err
		}
		// The averages have the shape of the weights, so they go the same way: into
		// the store, and from there to their own place.
		if err := r.network.store.Import(r.o.Backend, over(tensors, average), ""); err != nil {
			return fmt.Errorf("train: %s: %w", path, err)
		}
		ema.Restart(r.o.Backend)
	}
	if err := r.network.store.Import(r.o.Backend, tensors, ""); err != nil {
		return fmt.Errorf("train: %s: %w", path, err)
	}
	return nil
}

// over returns tensors with those of the same name in place of its own.
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

// checkpoint saves and tells of it.
func (r *Run) checkpoint(yield func(Event, error) bool) (proceed bool, err error) {
	path, err := r.save()
	if err != nil {
		return true, err
	}
	return path == "" || yield(r.event(Event{Kind: Saved, Path: path}), nil), nil
}

// save writes a checkpoint unless there is one of this step, or the run keeps
// none; it returns "" then.
func (r *Run) save() (string, error) {
	if r.saved == r.state.Step || r.o.Dir == "" {
		return "", nil
	}
	var tensors, average []tensorfile.Tensor
	err := r.lane.do(func() (err error) {
		if tensors, err = r.network.store.Export(r.o.Backend); err != nil {
			return err
		}
		if average, err = r.step.update.exportAverage(r.network); err != nil {
			return err
		}
		r.state.Steps, err = r.step.update.readCounts(r.o.Backend)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("train: checkpoint: %w", err)
	}
	path, err := writeCheckpoint(r.o.Dir, r.state, tensors, average)
	if err != nil {
		return "", fmt.Errorf("train: checkpoint of step %d: %w", r.state.Step, err)
	}
	r.saved = r.state.Step
	return path, tidy(r.o.Dir, r.config.Run.Keep, r.best.Checkpoint)
}

// exportAverage returns the averaged weights under the names of the weights; none
// where there is no average.
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

// ofNetwork leaves out what belongs to the loss and to the training.
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
