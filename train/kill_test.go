package train

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"hgld/internal/testing/must"
	"hgld/train/checkpoint"
	"hgld/train/config"
	"hgld/train/device/cpu"
)

// killedRun names the run directory in the environment of a child process.
const killedRun = "HGLD_TEST_KILLED_RUN"

// killedConfig is a run with everything that a checkpoint has to hold.
func killedConfig() (config.Config, Data) {
	c, d := tiny(30)
	c.Run.Checkpoint = 1 // so that most kills meet a checkpoint in the making
	c.Run.Evaluate = 4
	c.EMA = config.Average{Decay: 0.9, WarmUp: true}
	c.Loss.Name, c.Memory.Size = "xbm-contrastive", 40
	c.Model.Standard, c.Model.Projection, c.Model.Dim = "l2", "pca", 8
	return c, Data{Train: d, Validation: d}
}

// TestKilledChild is the child of TestKilledRunEndsWithTheSameBytes: a run that
// goes on until it is killed or done.
func TestKilledChild(t *testing.T) {
	dir := os.Getenv(killedRun)
	if dir == "" {
		return
	}
	c, data := killedConfig()
	mustTrain(t, c, data, Options{Dir: dir, Backend: cpu.New(1)})
}

// TestKilledRunEndsWithTheSameBytes kills a training twice, or as often as
// HGLD_KILLS says, at random moments, and compares each run that comes to its end
// with one that was left in peace.
func TestKilledRunEndsWithTheSameBytes(t *testing.T) {
	wanted := 2
	if text := os.Getenv("HGLD_KILLS"); text != "" {
		var err error
		if wanted, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	c, data := killedConfig()
	whole := t.TempDir()
	began := time.Now()
	mustTrain(t, c, data, Options{Dir: whole, Backend: cpu.New(1)})
	took := time.Since(began) + 50*time.Millisecond // and a process to start
	want, err := checkpoint.ReadBest(whole)
	must.Do(t, err)
	random := rand.New(rand.NewPCG(uint64(wanted), 5))
	runs, kills := 0, 0
	for dir := t.TempDir(); ; {
		wait := time.Hour
		if kills < wanted {
			wait = time.Duration(random.Int64N(int64(took)))
		}
		finished := runChild(t, dir, wait)
		if !finished {
			kills++
			continue
		}
		runs++
		sameWeights(t, "a killed run", whole, dir)
		if got, err := checkpoint.ReadBest(dir); err != nil || got != want {
			t.Errorf("best is %+v, %v; want %+v", got, err, want)
		}
		if kills >= wanted || t.Failed() {
			finishedStays(t, c, data, dir)
			break
		}
		dir = t.TempDir()
	}
	t.Logf("%d kills in %d runs", kills, runs)
}

// runChild trains in a process that is killed after a while, and reports whether it
// ended before.
func runChild(t *testing.T, dir string, wait time.Duration) bool {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^TestKilledChild$")
	child.Env = append(os.Environ(), killedRun+"="+dir)
	must.Do(t, child.Start())
	stop := time.AfterFunc(wait, func() { _ = child.Process.Kill() }) // an error means that it has ended
	defer stop.Stop()
	err := child.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && !exit.Exited() {
		return false
	}
	if err != nil {
		t.Fatalf("the run ended with %v", err)
	}
	return true
}

// finishedStays checks that a finished run takes no further step.
func finishedStays(t *testing.T, c config.Config, data Data, dir string) {
	t.Helper()
	r, err := New(c, data, Options{Dir: dir, Backend: cpu.New(1)})
	must.Do(t, err)
	defer r.Close()
	for e, err := range r.Events(context.Background()) {
		if err != nil || e.Kind != Done && e.Kind != Evaluated {
			t.Errorf("a finished run has the event %+v, %v", e, err)
		}
	}
}
