package train

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"hgld/train/device/cpu"
)

// killedRun names the run directory in the environment of a child process.
const killedRun = "HGLD_TEST_KILLED_RUN"

func killedConfig() (Config, *places) {
	c, d := tiny(30)
	c.Run.Checkpoint = 1 // so that most kills meet a checkpoint in the making
	return c, d
}

// TestKilledChild is the child of TestKilledRunEndsWithTheSameBytes: a run that
// goes on until it is killed or done.
func TestKilledChild(t *testing.T) {
	dir := os.Getenv(killedRun)
	if dir == "" {
		return
	}
	c, d := killedConfig()
	mustTrain(t, c, Data{Train: d}, Options{Dir: dir, Backend: cpu.New(1)})
}

func TestKilledRunEndsWithTheSameBytes(t *testing.T) {
	c, d := killedConfig()
	whole, killed := t.TempDir(), t.TempDir()
	mustTrain(t, c, Data{Train: d}, Options{Dir: whole})
	kills := 0
	for wait := 150 * time.Millisecond; ; wait += 60 * time.Millisecond {
		child := exec.Command(os.Args[0], "-test.run=^TestKilledChild$")
		child.Env = append(os.Environ(), killedRun+"="+killed)
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- child.Wait() }()
		select {
		case err := <-ended:
			if err != nil {
				t.Fatalf("after %d kills the run ended with %v", kills, err)
			}
		case <-time.After(wait):
			if err := child.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			<-ended
			kills++
			continue
		}
		break
	}
	t.Logf("%d kills", kills)
	if kills == 0 {
		t.Error("the run was never killed")
	}
	sameWeights(t, "killed run", whole, killed)
	r, err := New(c, Data{Train: d}, Options{Dir: killed, Backend: cpu.New(1)})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for e, err := range r.Events(context.Background()) {
		if err != nil || e.Kind != Done {
			t.Errorf("a finished run has the event %+v, %v", e, err)
		}
	}
}
