package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hgld/internal/testing/must"
	"hgld/train/experiment/runs"
)

// A terminalPair is the two ends of a pseudo-terminal.
type terminalPair struct{ master, slave *os.File }

func newTerminal(t *testing.T) terminalPair {
	t.Helper()
	master := must.Get(os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0))(t)
	must.Do(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	n := must.Get(unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN))(t)
	slave := must.Get(os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0))(t)
	return terminalPair{master, slave}
}

// startOn starts a command with its output on the terminal, which controls it.
func (p terminalPair) startOn(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.slave, p.slave, p.slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	must.Do(t, cmd.Start())
	must.Do(t, p.slave.Close())
	go func() { // a terminal that nobody reads fills up
		b := make([]byte, 4096)
		for {
			if _, err := unix.Read(int(p.master.Fd()), b); err != nil {
				return
			}
		}
	}()
}

// gone returns a pipe that nobody reads.
func gone(t *testing.T) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	must.Do(t, r.Close())
	return w
}

// full returns a pipe whose reader has stopped reading.
func full(t *testing.T) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	size := must.Get(unix.FcntlInt(w.Fd(), unix.F_SETPIPE_SZ, 4096))(t)
	must.Get(w.Write(make([]byte, size)))(t)
	return w
}

// hgldLink returns a path of this program by which it is the command hgld.
func hgldLink(t *testing.T) string {
	t.Helper()
	self := must.Get(os.Executable())(t)
	link := filepath.Join(t.TempDir(), "hgld")
	must.Do(t, os.Symlink(self, link))
	return link
}

// waitForEvents waits until a run has written so many events.
func waitForEvents(t *testing.T, run string, n int) {
	t.Helper()
	must.Become(t, fmt.Sprintf("%s has %d events", run, n), func() bool {
		text, err := os.ReadFile(filepath.Join(run, runs.EventsFile))
		return err == nil && bytes.Count(text, []byte("\n")) >= n
	})
}

func checkpoints(t *testing.T, run string) []string {
	t.Helper()
	list := must.Get(filepath.Glob(filepath.Join(run, "checkpoints", "step-*")))(t)
	return list
}

// endsWith waits for a command and compares its exit code, -1 for one that a signal ended.
func endsWith(t *testing.T, what string, cmd *exec.Cmd, code int) {
	t.Helper()
	err := cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Errorf("%s: exit code %d (%v), want %d", what, got, err, code)
	}
}

// TestTrainingOutlivesItsReader takes stdout and stderr away from a run.
func TestTrainingOutlivesItsReader(t *testing.T) {
	pictureShards(t)
	here := must.Get(os.Getwd())(t)
	start := func(run string, steps int, stdout, stderr *os.File) *exec.Cmd {
		cmd, _ := hgldIn(t, here, tinyRun("--out", run, "--steps", fmt.Sprint(steps))...)
		if cmd.Stdout, cmd.Stderr = stdout, stderr; stdout == nil {
			return cmd
		}
		must.Do(t, cmd.Start())
		return cmd
	}
	null := must.Get(os.OpenFile(os.DevNull, os.O_WRONLY, 0))(t)
	defer null.Close()

	endsWith(t, "2>&1 | gone", start("gone", 12, gone(t), gone(t)), exitOK)
	endsWith(t, "| gone", start("report", 12, gone(t), null), exitOK)
	for _, run := range []string{"gone", "report"} {
		if list := checkpoints(t, run); !slices.Contains(list, filepath.Join(run, "checkpoints", "step-00000012")) {
			t.Errorf("%s: the checkpoints are %v", run, list)
		}
	}

	cmd := start("interrupted", 100000, gone(t), gone(t))
	waitForEvents(t, "interrupted", 3)
	for range 3 { // as timeout(1) repeats it, at once
		must.Do(t, interrupt(cmd))
	}
	endsWith(t, "an interrupt after the reader went", cmd, exitInterrupted)

	cmd, terminal := start("hangup", 100000, nil, nil), newTerminal(t)
	terminal.startOn(t, cmd)
	waitForEvents(t, "hangup", 3)
	must.Do(t, terminal.master.Close())
	endsWith(t, "a closed terminal", cmd, exitInterrupted)
	for _, run := range []string{"interrupted", "hangup"} {
		if len(checkpoints(t, run)) == 0 {
			t.Errorf("%s: no checkpoint", run)
		}
	}

	cmd, terminal = start("disowned", 12, nil, nil), newTerminal(t)
	cmd.Args = append([]string{"sh", "-c", `trap "" HUP; exec "$0" "$@"`, hgldLink(t)}, cmd.Args[1:]...)
	cmd.Path = "/bin/sh"
	terminal.startOn(t, cmd)
	waitForEvents(t, "disowned", 1)
	must.Do(t, terminal.master.Close())
	endsWith(t, "a closed terminal whose SIGHUP is ignored", cmd, exitOK)

	stopped := full(t)
	cmd = start("stopped", 100000, stopped, stopped)
	must.Become(t, "it comes to its first message, in which it hangs", func() bool {
		_, err := os.Stat(filepath.Join("stopped", runs.SettingsFile))
		return err == nil
	})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		endsWith(t, "interrupts of a reader that has stopped", cmd, exitInterrupted)
	}()
	for { // two, unless a busy machine takes the second for the same one
		must.Do(t, interrupt(cmd))
		select {
		case <-ended:
			return
		case <-time.After(repeats + 100*time.Millisecond):
		}
	}
}

// interrupt sends a command a ctrl-C, which may have ended meanwhile.
func interrupt(cmd *exec.Cmd) error {
	if err := cmd.Process.Signal(os.Interrupt); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// TestPrintingStopsQuietlyWithoutAReader closes stdout of commands that only print.
func TestPrintingStopsQuietlyWithoutAReader(t *testing.T) {
	pictureShards(t)
	here := must.Get(os.Getwd())(t)
	for _, line := range []string{"--help", "train run --help", "version --json", "status", "config", "train losses",
		"shards show", "shards cat --split train", "completion bash"} {
		cmd, errs := hgldIn(t, here, strings.Fields(line)...)
		cmd.Stdout = gone(t)
		if err := cmd.Run(); err != nil || errs.Len() > 0 {
			t.Errorf("hgld %s | gone: %v\n%s", line, err, errs)
		}
	}
}

func TestOutputKnowsThatItsReaderHasGone(t *testing.T) {
	out := &output{to: stubborn{syscall.EPIPE}}
	j := &job{stdout: out}
	if j.unread() {
		t.Error("unread before the first write")
	}
	j.print("a row\n")
	if !j.unread() {
		t.Error("the reader has gone, and the job would go on")
	}
}

// pipeReaders are what people read a command's output with, all of which end by ctrl-C, or earlier.
var pipeReaders = []string{"tee log", "grep -v waiting", "head -2", "cat", `awk "{print}"`}

// TestFailingReaderLosesNothing presses ctrl-C on pipelines, which ends the reader and asks the
// command to stop, and closes terminals, each at a random moment. The command ends with a documented
// code, and the same command again leaves what an undisturbed run leaves. Each command and reader is
// tried once for HGLD_FAULTS and once more for every 40 of it, with at most 3 trials; by default one
// command and reader is tried.
func TestFailingReaderLosesNothing(t *testing.T) {
	most, seed := faultsAsked(t)
	draw := rand.New(rand.NewPCG(seed, 7))
	w := newFaultWorker(t, most)
	stages := []string{"shards build", "scrape run", "embed", "train run", "run"}
	readers := append([]string{"closed terminal"}, pipeReaders...)
	if most == 1 {
		stages, readers = stages[:1], pipeReaders[:1]
	}
	for _, s := range faultStages() {
		if !slices.Contains(stages, s.name) {
			continue
		}
		u := w.prepare(s)
		began := time.Now()
		u.before.restore(t, w.dir)
		mustRun(t, w.dir, s.args...)
		lasts := time.Since(began)
		for _, reader := range readers {
			for range min(1+most/40, 3) {
				w.tryReader(u, reader, time.Duration(draw.Float64()*float64(lasts)))
			}
		}
	}
}

// tryReader runs a command whose reader goes away after a time, and then again.
func (w *faultWorker) tryReader(u *undisturbed, reader string, after time.Duration) {
	t := w.t
	u.before.restore(t, w.dir)
	begun := w.state()
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Minute)
	defer stop()
	one, _ := hgldIn(t, w.dir, u.stage.args...)
	code, where := 0, fmt.Sprintf("hgld %s | %s, after %v", strings.Join(u.stage.args, " "), reader, after)
	if reader == "closed terminal" {
		terminal := newTerminal(t)
		terminal.startOn(t, one)
		time.Sleep(after)
		terminal.master.Close()
		_ = one.Wait()
		code = one.ProcessState.ExitCode()
	} else {
		status := filepath.Join(t.TempDir(), "status")
		script := `trap : INT; echo; "$@" 2>&1 | ` + strings.ReplaceAll(reader, "tee log", "tee "+status+".log") +
			`; echo ${PIPESTATUS[0]} >` + status
		cmd := exec.CommandContext(ctx, "bash", append([]string{"-c", script, "bash", hgldLink(t)}, u.stage.args...)...)
		cmd.Dir, cmd.Env, cmd.SysProcAttr = one.Dir, one.Env, &syscall.SysProcAttr{Setpgid: true}
		ready := must.Get(cmd.StdoutPipe())(t)
		must.Do(t, cmd.Start())
		if _, err := ready.Read(make([]byte, 1)); err != nil { // the shell has set its trap
			t.Fatal(err)
		}
		go io.Copy(io.Discard, ready)
		time.Sleep(after)
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGINT)
		_ = cmd.Wait()
		text, err := os.ReadFile(status)
		if err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		code = number(t, strings.TrimSpace(string(text)))
	}
	// Before it has asked for the signals, they end the process as they end any other. It has done nothing by then.
	early := code == 128+int(syscall.SIGINT) || code == -1 && maps.Equal(w.state(), begun)
	if code != u.stage.code && code != exitInterrupted && !early {
		t.Errorf("%s: exit code %d", where, code)
	}
	cmd, out := hgldIn(t, w.dir, u.stage.args...)
	if err := cmd.Run(); cmd.ProcessState.ExitCode() != u.stage.code {
		t.Errorf("%s: exit code %d; the next run: %v\n%s", where, code, err, out)
	} else if left, want := results(w.state()), results(u.after); !maps.Equal(left, want) {
		t.Errorf("%s: exit code %d; after the next run %s", where, code, differing(want, left))
	}
}

// results is a state without what shows that a training was stopped on its way: the checkpoint at
// that step, and the stamps, which list all checkpoints.
func results(state map[string]string) map[string]string {
	left := maps.Clone(state)
	maps.DeleteFunc(left, func(name, _ string) bool {
		return strings.HasPrefix(name, ".hgld/") || strings.Contains(name, "/checkpoints/step-") &&
			!strings.Contains(name, lastCheckpoint)
	})
	return left
}

// lastCheckpoint is the folder of the last checkpoint of the project's training.
const lastCheckpoint = "/step-00000002/"
