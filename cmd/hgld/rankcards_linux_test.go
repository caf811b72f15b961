package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hgld/internal/testing/must"
)

// childrenOf returns the processes that a process has started.
func childrenOf(t *testing.T, pid int) (list []int) {
	t.Helper()
	files := must.Get(filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)))(t)
	for _, path := range files {
		text, _ := os.ReadFile(path) // a thread may end
		for field := range strings.FieldsSeq(string(text)) {
			n := must.Get(strconv.Atoi(field))(t)
			list = append(list, n)
		}
	}
	return list
}

// A process of a GPU that is killed is named, and one that is told to stop stops all.
func TestProcessOfACardThatEndsIsHeeded(t *testing.T) {
	embeddingFiles(t)
	for i, c := range []struct {
		signal syscall.Signal
		code   int
		want   []string
	}{
		{syscall.SIGKILL, exitTemporary, []string{") has ended: signal: killed", ") is gone"}},
		{syscall.SIGTERM, exitInterrupted, []string{"hgld: stopped, state saved; run the same command again to resume"}},
	} {
		run := fmt.Sprint("run", i)
		cmd := onEmulatedCards(t, 2, "train", "run", "--embeddings", "e.npy", "--labels", "l.csv", "--hold-out", "0",
			"-o", "model.dim=4", "-o", "model.standard=none", "-o", "sampler.batch=12", "-o", "sampler.m=4",
			"-o", "steps=1000000", "-o", "run.checkpoint=1000000", "--quiet", "--out", run, "--device", "cuda:0-1")
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &said, &said
		must.Do(t, cmd.Start())
		for steps := 0; steps < 2; time.Sleep(20 * time.Millisecond) {
			events, _ := os.ReadFile(run + "/events.jsonl")
			steps = bytes.Count(events, []byte(`"event":"step"`))
		}
		for _, child := range childrenOf(t, cmd.Process.Pid) {
			if err := syscall.Kill(child, c.signal); err != nil {
				t.Error(err)
			}
		}
		cmd.Wait()
		for _, want := range c.want {
			if strings.Count(said.String(), want) != 1 {
				t.Errorf("%v: not once %q", c.signal, want)
			}
		}
		if code := cmd.ProcessState.ExitCode(); code != c.code || t.Failed() {
			t.Errorf("%v: exit code %d, want %d\n%s", c.signal, code, c.code, said.String())
		}
	}
}
