//go:build amd64

package train

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"hgld/internal/testing/must"
	"hgld/internal/testing/powercut"
	"hgld/train/checkpoint"
	"hgld/train/config"
	"hgld/train/device/cpu"
)

// powerCutConfig is a short run with everything that a checkpoint has to hold.
func powerCutConfig() (config.Config, Data) {
	c, data := killedConfig()
	c.Steps, c.Run.Checkpoint, c.Run.Evaluate, c.Run.Keep = 4, 1, 2, 2
	return c, data
}

// TestPowerCutsLoseNoCheckpoint cuts the power at each call that a training makes below
// its run directory. The next run begins at the last checkpoint that was announced, or
// at a later one, and ends with the weights of an undisturbed one.
func TestPowerCutsLoseNoCheckpoint(t *testing.T) {
	c, data := powerCutConfig()
	if dir := os.Getenv("HGLD_POWERCUT_CHILD"); dir != "" {
		must.Do(t, trainAndTell(t, c, data, dir))
		return
	}
	whole := t.TempDir()
	mustTrain(t, c, data, Options{Dir: whole, Backend: cpu.New(1)})
	want, err := checkpoint.ReadBest(whole)
	must.Do(t, err)
	dir := t.TempDir()
	trace := powercut.Record(t, powercut.Child(t, "HGLD_POWERCUT_CHILD="+dir), dir)
	trace.Check(t, func(dir string, cut *powercut.Crash) error {
		run := filepath.Join(dir, "run")
		r, err := New(c, data, Options{Dir: run, Backend: cpu.New(1)})
		if err != nil {
			return err
		}
		damaged, step := r.Damaged(), r.Step()
		if err := r.Close(); err != nil || len(damaged) > 0 {
			return fmt.Errorf("%w; damaged: %v", err, damaged)
		}
		if saved := lastSaved(cut.Lines()); step < saved {
			return fmt.Errorf("the run begins at step %d, and checkpoint %d was announced", step, saved)
		}
		if _, err := trainAll(t, context.Background(), c, data, Options{Dir: run, Backend: cpu.New(1)}); err != nil {
			return err
		}
		sameWeights(t, "after "+cut.String(), whole, run)
		if got, err := checkpoint.ReadBest(run); err != nil || got != want {
			return fmt.Errorf("best is %+v, %v; want %+v", got, err, want)
		}
		return nil
	})
}

// lastSaved is the step of the last checkpoint that was announced, 0 without one.
func lastSaved(announced []string) (step int) {
	if n := len(announced); n > 0 {
		fmt.Sscanf(announced[n-1], "step-%d", &step)
	}
	return step
}

// trainAndTell trains in dir/run and acknowledges each checkpoint.
func trainAndTell(t *testing.T, c config.Config, data Data, dir string) error {
	r, err := New(c, data, Options{Dir: filepath.Join(dir, "run"), Backend: cpu.New(1)})
	if err != nil {
		return err
	}
	for e, err := range r.Events(context.Background()) {
		if err == nil && e.Kind == Saved {
			err = powercut.Acknowledge(dir, filepath.Base(e.Path))
		}
		if err != nil {
			return errors.Join(err, r.Close())
		}
	}
	return r.Close()
}
