package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"hgld/internal/testing/must"
	"hgld/train/device"
	"hgld/train/device/cpu"
)

// fakeCards stand for GPUs that this machine has not: processors, of which the tests
// count which were opened and closed.
type fakeCards struct {
	found  string // what a probe finds
	absent error  // what it misses
	broken error  // why no GPU opens
	opened []int
	closed int
}

type fakeCard struct {
	device.Backend
	of *fakeCards
}

func (c *fakeCard) Close() error {
	c.of.closed++
	return nil
}

// kinds are the kinds of GPUs of this machine as f describes it.
func (f *fakeCards) kinds() []device.Kind {
	return []device.Kind{{
		Name:  "cuda",
		Probe: func() (int, string, error) { return 0, f.found, f.absent },
		Open: func(n int) (device.Backend, error) {
			if f.broken != nil {
				return nil, f.broken
			}
			if n > 1 {
				return nil, fmt.Errorf("there are 2 GPUs, and no GPU %d", n)
			}
			f.opened = append(f.opened, n)
			return &fakeCard{cpu.New(1), f}, nil
		},
	}}
}

// runWithCards runs a command line on a machine with these kinds of GPUs.
func runWithCards(t *testing.T, cards []device.Kind, args ...string) (code int, stderr string) {
	t.Helper()
	var errs strings.Builder
	code = environment{stdout: io.Discard, stderr: &errs, cards: cards}.run(append([]string{"hgld"}, args...))
	return code, errs.String()
}

// evaluate is a command that computes, in a folder with embeddings.
func evaluate(t *testing.T, cards []device.Kind, args ...string) (code int, stderr string) {
	t.Helper()
	command := []string{"eval", "run", "--embeddings", "e.npy", "--labels", "l.csv"}
	return runWithCards(t, cards, append(command, args...)...)
}

func TestDeviceFlagOverridesVariableOverridesFile(t *testing.T) {
	embeddingFiles(t)
	f := &fakeCards{found: "a made-up GPU"}
	for _, c := range []struct {
		file, variable, flag string
		opened               []int
		said                 bool // a line on stderr
	}{
		{"", "", "", []int{0}, true},
		{"auto", "", "", []int{0}, true},
		{"cpu", "", "", nil, false},
		{"cpu", "cuda:1", "", []int{1}, false},
		{"cuda", "cuda:1", "cpu", nil, false},
		{"cpu", "cpu", "cuda", []int{0}, false},
		{"cuda:1", "auto", "", []int{0}, true},
	} {
		what := fmt.Sprintf("%+v", c)
		project := "hgld: 1\n"
		if c.file != "" {
			project += "device: " + c.file + "\n"
		}
		must.Do(t, os.WriteFile(projectFile, []byte(project), 0o644))
		os.Unsetenv("HGLD_DEVICE")
		if c.variable != "" {
			t.Setenv("HGLD_DEVICE", c.variable)
		}
		var args []string
		if c.flag != "" {
			args = []string{"--device", c.flag}
		}
		f.opened, f.closed = nil, 0
		code, errs := evaluate(t, f.kinds(), args...)
		if code != exitOK || !slices.Equal(f.opened, c.opened) || f.closed != len(c.opened) {
			t.Errorf("%s: exit code %d, GPUs %v were opened, want %v, and %d closed\n%s", what, code, f.opened, c.opened,
				f.closed, errs)
		}
		if said := strings.Contains(errs, "computing on cuda:0, a made-up GPU"); said != c.said {
			t.Errorf("%s: said %v\n%s", what, said, errs)
		}
	}
}

func TestAutoFallsBackToTheCPU(t *testing.T) {
	embeddingFiles(t)
	f := &fakeCards{absent: fmt.Errorf("no libcuda.so.1: %w", device.ErrNoGPU)}
	if code, errs := evaluate(t, f.kinds()); code != exitOK || strings.Contains(errs, "cuda") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
	f.absent = errors.New("cuInit: CUDA_ERROR_SYSTEM_NOT_READY")
	if code, errs := evaluate(t, f.kinds()); code != exitOK ||
		!strings.Contains(errs, "cuda cannot be used, so the CPU computes: cuInit: CUDA_ERROR_SYSTEM_NOT_READY") {
		t.Errorf("a GPU that does not start: exit code %d\n%s", code, errs)
	}
	f.absent, f.found, f.broken = nil, "a made-up GPU", errors.New("its memory is full")
	if code, errs := evaluate(t, f.kinds()); code != exitOK ||
		!strings.Contains(errs, "so the CPU computes: its memory is full") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
}

func TestNamedDeviceThatIsNotUsableIsAnError(t *testing.T) {
	embeddingFiles(t)
	absent := &fakeCards{absent: errors.New("no libcuda.so.1 in /usr/lib")}
	present := &fakeCards{}
	for _, c := range []struct {
		cards []device.Kind
		name  string
		code  int
		want  string
	}{
		{nil, "cuda", exitNoGPU, "device cuda: this build of hgld does not support it"},
		{absent.kinds(), "cuda", exitNoGPU, "device cuda: no libcuda.so.1 in /usr/lib"},
		{present.kinds(), "cuda:7", exitNoGPU, "device cuda:7: there are 2 GPUs, and no GPU 7"},
		{present.kinds(), "cudda", exitUsage, `--device: unknown device "cudda": did you mean "cuda"?`},
		{present.kinds(), "cpu:1", exitUsage, `--device: device "cpu:1": want one of auto, cpu, cuda`},
		{present.kinds(), "cuda:x", exitUsage, "such as cuda:1"},
	} {
		code, errs := evaluate(t, c.cards, "--device", c.name)
		if code != c.code || !strings.Contains(errs, c.want) {
			t.Errorf("--device %s: exit code %d, want %d with %q\n%s", c.name, code, c.code, c.want, errs)
		}
		if code == exitNoGPU && !strings.Contains(errs,
			"hgld doctor lists the devices of this machine; --device cpu uses the CPU") {
			t.Errorf("--device %s: no next step\n%s", c.name, errs)
		}
	}
}

// The demo does not find out at its sixth stage.
func TestDemoChecksItsDeviceFirst(t *testing.T) {
	f := &fakeCards{absent: errors.New("no libcuda.so.1")}
	out := filepath.Join(t.TempDir(), "demo")
	if code, errs := runWithCards(t, f.kinds(), "demo", "--out", out, "--device", "cuda"); code != exitNoGPU ||
		!strings.Contains(errs, "no libcuda.so.1") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
	if _, err := os.Stat(out); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the demo began all the same: %v", err)
	}
}

// A misspelt device is found before anything is read, also by commands that do not
// compute.
func TestMisspeltDeviceInTheProjectIsAnError(t *testing.T) {
	t.Chdir(t.TempDir())
	for text, want := range map[string]string{
		"hgld: 1\ndevice: gpu\n":    `hgld.yaml:2: unknown device "gpu"`,
		"hgld: 1\ndevice: [cuda]\n": "hgld.yaml:2: device: ",
		"threads: 5000\n":           "hgld.yaml:1: threads is 5000, want a whole number from 0 to 1024",
	} {
		must.Do(t, os.WriteFile(projectFile, []byte(text), 0o644))
		says(t, exitUsage, want, "config", "check")
	}
	must.Do(t, os.WriteFile(projectFile, []byte("device:\n"), 0o644))
	if code, out, errs := run(t, "config", "show", "--origin"); code != exitOK ||
		!strings.Contains(out, "device: auto # default") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
}

// Every command that computes has the flag.
func TestComputingCommandsHaveADeviceFlag(t *testing.T) {
	all := commands()
	for _, name := range []string{
		"train run", "train resume", "train bench", "embed-images",
		"eval run", "eval landmarks", "embed", "labels propagate", "figure", "cluster run",
		"cluster sweep", "run", "demo",
	} {
		commands, c := all, (*cli.Command)(nil)
		for _, word := range strings.Fields(name) {
			at := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.Name == word })
			if at < 0 {
				t.Fatalf("no command %s", name)
			}
			c, commands = commands[at], commands[at].Subcommands
		}
		if !slices.ContainsFunc(c.Flags, func(f cli.Flag) bool { return f.Names()[0] == deviceKey }) {
			t.Errorf("hgld %s has no --device", name)
		}
	}
}

// Two files call cpu.New: device.go, and the one that asks an encoder for its name.
func TestOnlyDeviceGoOpensTheCPUBackend(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		text := must.Get(os.ReadFile(file))(t)
		if strings.HasSuffix(file, "_test.go") || file == "device.go" || file == "cluster_stale.go" {
			continue
		}
		if strings.Contains(string(text), "cpu.New(") {
			t.Errorf("%s opens the CPU backend itself", file)
		}
	}
}

// fallenCard is a GPU that computes nothing.
type fallenCard struct {
	*fakeCard
	err error
}

func (b fallenCard) Sync() error              { return b.err }
func (b fallenCard) Wait(device.Ticket) error { return b.err }
func (b fallenCard) Close() error             { return b.err }

// The error of a device comes from an operation and from closing it, and is printed once.
func TestErrorOfADeviceIsPrintedOnce(t *testing.T) {
	embeddingFiles(t)
	f := &fakeCards{found: "a made-up GPU"}
	kinds := f.kinds()
	open := kinds[0].Open
	kinds[0].Open = func(n int) (device.Backend, error) {
		b, err := open(n)
		return fallenCard{b.(*fakeCard), errors.New("cuda: Fill: the GPU has fallen off the bus")}, err
	}
	code, errs := evaluate(t, kinds, "--device", "cuda")
	if code != exitFailed || strings.Count(errs, "fallen off the bus") != 1 {
		t.Errorf("exit code %d\n%s", code, errs)
	}
}
