package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hgld/internal/testing/iotrace"
	"hgld/internal/testing/must"
	"hgld/scrape/testing/fakecommons"
)

// varying are the parts of paths that differ from run to run.
var varying = regexp.MustCompile(`[0-9a-f]{4,}`)

// faults are what every call meets that can.
var faults = []struct {
	name string
	err  syscall.Errno
}{{"EIO", syscall.EIO}, {"EMFILE", syscall.EMFILE}, {"EACCES", syscall.EACCES}, {"short", 0}}

// TestFailingCallLosesNothing lets one call of a command fail or be cut short: one call of
// a command of each way to keep files or, as HGLD_FAULTS says, so many of each command; "all" takes every call on
// the project's files. HGLD_FAULTS_SEED chooses them. After each fault it demands that
//
//   - every file that stood there before is as it was, or as an undisturbed run leaves
//     it; a log has every line that it had;
//   - the command that fails names the file, or its folder, with a documented exit code;
//   - the command that succeeds leaves what an undisturbed run leaves;
//   - the same command again succeeds, and leaves that too.
func TestFailingCallLosesNothing(t *testing.T) {
	most, seed := faultsAsked(t)
	var workers []*faultWorker
	for range max(1, min(2, runtime.NumCPU(), most)) {
		workers = append(workers, newFaultWorker(t, most))
	}
	t.Logf("seed %d; of each command its calls, and by fault: refused + succeeded / calls that can meet it", seed)
	head := fmt.Sprintf("%-20s %5s", "command", "calls")
	for i, f := range faults {
		head += fmt.Sprintf(" %*s", faultWidths[i], f.name)
	}
	t.Logf("%s %8s", head, "findings")
	total := faultTally{}
	for i, s := range faultStages() {
		if only := os.Getenv("HGLD_FAULTS_STAGE"); only == "" && (s.first || most > 1) || only == s.name {
			total.add(runFaults(t, workers, s, most, rand.New(rand.NewPCG(seed, uint64(i)))))
		}
	}
	t.Logf("%d faults: %d commands succeeded all the same, %d refused, %d made fewer calls; %d findings",
		total.tried, total.succeeded, total.refused, total.missed, total.findings)
}

// faultWidths are the columns of the faults in the table.
var faultWidths = []int{15, 13, 13, 13}

// faultsAsked reads HGLD_FAULTS, how many of each command, and HGLD_FAULTS_SEED.
func faultsAsked(t *testing.T) (most int, seed uint64) {
	most, seed = 1, 1
	if text := os.Getenv("HGLD_FAULTS_SEED"); text != "" {
		seed = uint64(number(t, text))
	}
	if text := os.Getenv("HGLD_FAULTS"); text == "all" {
		most = 1 << 30
	} else if text != "" {
		most = number(t, text)
	}
	return most, seed
}

func number(t *testing.T, text string) int {
	n := must.Get(strconv.Atoi(text))(t)
	return n
}

// faultTally counts what came of faults.
type faultTally struct{ calls, tried, succeeded, refused, missed, findings int }

func (f *faultTally) add(g faultTally) {
	f.calls, f.tried, f.succeeded = f.calls+g.calls, f.tried+g.tried, f.succeeded+g.succeeded
	f.refused, f.missed, f.findings = f.refused+g.refused, f.missed+g.missed, f.findings+g.findings
}

// faultWorker has a project of its own, whose stages are all done, and its own site.
type faultWorker struct {
	t    *testing.T
	dir  string
	site *fakecommons.Server
	done snapshot
}

// tried is the worker of the first test that tries one fault. The others begin with its project and ask its site.
var tried *faultWorker

// newFaultWorker makes a project where it can in memory, since a restored file need not
// reach a disk.
func newFaultWorker(t *testing.T, most int) *faultWorker {
	base := t.TempDir()
	if dir, err := os.MkdirTemp("/dev/shm", "hgld-faults-"); err == nil {
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		base = dir
	}
	w := &faultWorker{t: t, dir: filepath.Join(base, "project")}
	if tried != nil && most == 1 {
		w.site, w.done = tried.site, tried.done
		w.done.restore(t, w.dir)
		return w
	}
	site := fakecommons.New(faultyPages())
	server := httptest.NewServer(site)
	w.site = site
	snapshot(faultyInputs(t, server.URL)).restore(t, w.dir)
	for _, args := range finished {
		mustRun(t, w.dir, args...)
	}
	w.done = takeSnapshot(t, w.dir)
	if most > 1 {
		t.Cleanup(server.Close)
	} else {
		tried = w
	}
	return w
}

// undisturbed is a command without a fault: what it finds, what it leaves, and prints.
type undisturbed struct {
	stage  faultStage
	before snapshot
	after  map[string]string // comparable
	out    string
}

// prepare runs a command without a fault.
func (w *faultWorker) prepare(s faultStage) *undisturbed {
	u := &undisturbed{stage: s, before: w.done.without(s.without...)}
	u.before.restore(w.t, w.dir)
	cmd, out := hgldIn(w.t, w.dir, s.args...)
	if err := cmd.Run(); cmd.ProcessState.ExitCode() != s.code {
		w.t.Fatalf("%s: %v\n%s", s.name, err, out)
	}
	u.out, u.after = out.String(), w.state()
	return u
}

// state is what the folder holds, for comparison with another run.
func (w *faultWorker) state() map[string]string {
	state := map[string]string{}
	for name, data := range takeSnapshot(w.t, w.dir).without(passing...) {
		if !temporary(name) {
			state[name] = comparable(w.t, name, data)
		}
	}
	return state
}

// differing names the files in which two states differ.
func differing(want, got map[string]string) string {
	var list []string
	for name := range want {
		if text, there := got[name]; !there {
			list = append(list, name+" is missing")
		} else if text != want[name] {
			list = append(list, name+" differs")
		}
	}
	for name := range got {
		if _, there := want[name]; !there {
			list = append(list, name+" is new")
		}
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// faultAt is one fault: an index into faults, and the call among those that can meet it.
type faultAt struct{ fault, n int }

// chooseFaults takes so many of the faults that a run can meet, at equal distances from a
// random one, and says how many there are of each kind.
func chooseFaults(calls []iotrace.Call, most int, r *rand.Rand) (chosen chan faultAt, possible []int) {
	possible = make([]int, len(faults))
	var all []faultAt
	for i, f := range faults {
		for _, c := range calls {
			if (iotrace.Fault{Err: f.err}).Applies(c) {
				possible[i]++
				all = append(all, faultAt{i, possible[i]})
			}
		}
	}
	stride := max(1, float64(len(all))/float64(most))
	chosen = make(chan faultAt, len(all))
	for at := r.Float64() * (stride - 1); int(at) < len(all); at += stride {
		chosen <- all[int(at)]
	}
	close(chosen)
	return chosen, possible
}

// runFaults tries the faults on one command and prints its rows of the table.
func runFaults(t *testing.T, workers []*faultWorker, s faultStage, most int, r *rand.Rand) faultTally {
	runs := make([]*undisturbed, len(workers))
	for i, w := range workers {
		runs[i] = w.prepare(s)
	}
	calls := workers[0].count(runs[0])
	queue, possible := chooseFaults(calls, most, r)
	tallies := make([]faultTally, len(faults))
	for i, n := range possible {
		tallies[i].calls = n
	}
	var mu sync.Mutex
	found := map[string]int{}
	var wait sync.WaitGroup
	for i, w := range workers {
		wait.Go(func() {
			for j := range queue {
				f := faults[j.fault]
				outcome, findings := w.try(runs[i], iotrace.Fault{Err: f.err, N: j.n}, f.name)
				outcome.tried, outcome.findings = 1, len(findings)
				mu.Lock()
				tallies[j.fault].add(outcome)
				for _, text := range findings {
					found[text]++
				}
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	for _, text := range slices.Sorted(maps.Keys(found)) {
		t.Errorf("%s: %d × %s", s.name, found[text], text)
	}
	total := faultTally{}
	row := fmt.Sprintf("%-20s %5d", s.name, len(calls))
	for i, n := range tallies {
		row += fmt.Sprintf(" %*s", faultWidths[i], fmt.Sprintf("%d+%d/%d", n.refused, n.succeeded, n.calls))
		total.add(n)
	}
	t.Logf("%s %8d", row, total.findings)
	return total
}

// count lists the calls of another undisturbed run, which leaves the same files.
func (w *faultWorker) count(u *undisturbed) []iotrace.Call {
	u.before.restore(w.t, w.dir)
	cmd, out := hgldIn(w.t, w.dir, u.stage.args...)
	calls, err := iotrace.Count(w.t.Context(), cmd, w.dir)
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != u.stage.code {
		w.t.Fatalf("%s, traced: %v\n%s", u.stage.name, err, out)
	}
	if after := w.state(); !maps.Equal(u.after, after) {
		w.t.Fatalf("%s: two runs leave different files: %s", u.stage.name, differing(u.after, after))
	}
	return calls
}

// documented are the exit codes of docs/exit-codes.md that a failing disk may lead to:
// nobody used the command wrongly, the project is there, and no other process has it.
var documented = []int{exitFailed, exitSomeFailed, exitIntegrity, exitTemporary, exitDiskFull}

// try runs a command with one fault, and again without, and says what is not as it
// should be.
func (w *faultWorker) try(u *undisturbed, f iotrace.Fault, name string) (outcome faultTally, findings []string) {
	u.before.restore(w.t, w.dir)
	requests := w.site.Requests()
	cmd, out := hgldIn(w.t, w.dir, u.stage.args...)
	ctx, stop := context.WithTimeout(w.t.Context(), 10*time.Minute)
	defer stop()
	hit, err := iotrace.Inject(ctx, cmd, w.dir, f)
	where := name
	if hit != nil {
		rel, relErr := filepath.Rel(w.dir, hit.Path)
		if relErr != nil {
			rel = hit.Path
		}
		where = fmt.Sprintf("%s, %s %s", name, hit.Call, varying.ReplaceAllString(rel, "#"))
	}
	find := func(format string, args ...any) {
		findings = append(findings, where+": "+fmt.Sprintf(format, args...))
	}
	if cmd.ProcessState == nil {
		find("not traced: %v", err)
		return outcome, findings
	}
	code, text := cmd.ProcessState.ExitCode(), out.String()
	after := w.state()
	same := maps.Equal(after, u.after)
	switch {
	case strings.Contains(text, "panic") || strings.Contains(text, "goroutine ") || code < 0:
		find("exit code %d, %v:\n%.2000s", code, err, text)
	case hit == nil:
		outcome.missed = 1
	case code == 0 && u.stage.code != 0:
		find("exit code 0, and %d without a fault", u.stage.code)
	case code == u.stage.code && (same || code == 0):
		outcome.succeeded = 1
		if !same {
			find("exit code %d, but %s", code, differing(u.after, after))
		}
		if u.stage.says && text != u.out {
			find("exit code %d, but it prints\n%s", code, text)
		}
	default:
		outcome.refused = 1
		if !slices.Contains(documented, code) {
			find("exit code %d:\n%s", code, text)
		}
		if !w.names(u, text, hit) {
			find("the message does not name the file:\n%s", text)
		}
	}
	for _, loss := range u.losses(w.t, after, code) {
		find("%s (exit code %d, %s)", loss, code, lastLine(text))
	}
	if code != u.stage.code || !same {
		cmd, out := hgldIn(w.t, w.dir, u.stage.args...)
		if err := cmd.Run(); cmd.ProcessState.ExitCode() != u.stage.code {
			find("exit code %d; the next run: %v:\n%s", code, err, out)
		} else if after := w.state(); !maps.Equal(after, u.after) {
			find("exit code %d; after the next run %s", code, differing(u.after, after))
		}
	}
	if now := w.site.Requests(); u.stage.quiet && !maps.Equal(now, requests) {
		find("exit code %d; pages are asked for that are there", code)
	}
	return outcome, findings
}

// grows reports whether a command adds to a file in several steps: the journal of a build, and the list of outputs.
func grows(name string) bool {
	return filepath.Base(name) == journalFile || name == filepath.Join(".hgld", "written")
}

// losses lists the files that stood there before and are neither as they were nor as
// an undisturbed run leaves them.
//
// A build that ends between two renames leaves a data set without a manifest, so that
// nobody takes old and new shards for one set; the same command finishes it.
func (u *undisturbed) losses(t *testing.T, after map[string]string, code int) (list []string) {
	for name, data := range u.before.without(passing...) {
		was := comparable(t, name, data)
		want, stays := u.after[name]
		now, there := after[name]
		switch {
		case there && (now == was || now == want) || !there && !stays:
		case !there && code != 0 && replaced(name):
		case !there:
			list = append(list, name+" is gone")
		case bytes.HasPrefix(data, []byte(`{"hgld_edits"`)) && strings.HasPrefix(now, was) && strings.HasPrefix(want, now):
		case grows(name) && strings.HasPrefix(now, was) && strings.HasPrefix(want, now):
		default:
			list = append(list, name+" is neither the old nor the new one")
		}
	}
	slices.Sort(list)
	return list
}

// replaced reports whether a file is gone while a build puts new shards in the place of old.
func replaced(name string) bool { return name == "shards/MANIFEST.json" || name == "shards/SHA256SUMS" }

// names reports whether a message names the file of a call: by its path, as that of the
// file that it is made to replace, or by its folder. A call on the project's folder is
// made on behalf of a file in it.
func (w *faultWorker) names(u *undisturbed, text string, hit *iotrace.Call) bool {
	for _, path := range []string{hit.Path, hit.To} {
		rel, err := filepath.Rel(w.dir, strings.TrimSuffix(path, " (deleted)"))
		if path == "" || err != nil {
			continue
		}
		base := filepath.Base(rel)
		if temporary(base) {
			base, _, _ = strings.Cut(base[1:], ".tmp-")
		}
		folder := filepath.Dir(rel)
		if strings.Contains(text, base) && base != "." || folder != "." && strings.Contains(text, folder) ||
			rel == "." && (strings.Contains(text, w.dir) || strings.Contains(text, " .: ") || u.mentioned(text)) {
			return true
		}
	}
	return false
}

// mentioned reports whether a text names one of the project's files.
func (u *undisturbed) mentioned(text string) bool {
	for name := range u.before {
		if strings.Contains(text, name) {
			return true
		}
	}
	return false
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
