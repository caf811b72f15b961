//go:build unix

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hgld/internal/testing/must"
	"hgld/train/experiment/runs"
)

// TestTrainingContinuesAfterASignal interrupts a run once it has taken three
// steps; the same command then ends it with the bytes of a run in one go.
func TestTrainingContinuesAfterASignal(t *testing.T) {
	pictureShards(t)
	args := tinyRun("--steps", "150")
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGUSR1} {
		dir := "stopped-" + signal.String()
		stop := make(chan struct{})
		go func() {
			defer close(stop)
			for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
				text, err := os.ReadFile(filepath.Join(dir, runs.EventsFile))
				if err == nil && bytes.Count(text, []byte("\n")) >= 3 {
					if err := syscall.Kill(os.Getpid(), signal); err != nil {
						t.Error(err)
					}
					return
				}
			}
			t.Error("the run took no step")
		}()
		code, _, errs := run(t, append(args, "--out", dir)...)
		<-stop
		if code != exitInterrupted || !strings.Contains(errs, "state saved; run the same command again to resume") {
			t.Fatalf("%v: exit code %d\n%s", signal, code, errs)
		}
		code, _, errs = run(t, append(args, "--out", dir)...)
		if code != exitOK || !strings.Contains(errs, "continuing after step") {
			t.Fatalf("%v: exit code %d of the next run\n%s", signal, code, errs)
		}
	}
	succeeds(t, append(args, "--out", "whole")...)
	weights := func(dir string) []byte {
		text := must.Get(os.ReadFile(filepath.Join(dir, "checkpoints", "step-00000150", "model.safetensors")))(t)
		return text
	}
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGUSR1} {
		if !bytes.Equal(weights("stopped-"+signal.String()), weights("whole")) {
			t.Errorf("%v: the weights differ from those of a run in one go", signal)
		}
	}
}
