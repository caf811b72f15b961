package powercut

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hgld/internal/testing/iotrace"
	"hgld/internal/testing/must"
)

// Acknowledgements is a file in the traced folder. A program writes to it what it has
// acknowledged, which a user or another program then relies on. It is not part of the
// simulated disk. It represents a screen or a network.
const Acknowledgements = "acknowledged"

// Variable is the environment variable with the number of folders that a test examines per
// trace, or "all". By default a test draws a few.
const Variable = "HGLD_POWERCUTS"

// SeedVariable is the environment variable with the seed for drawing folders. By default the
// seed is random.
const SeedVariable = "HGLD_POWERCUT_SEED"

const few = 4

// randomOf is the number of random folders per cut, in addition to the systematic ones.
const randomOf = 4

// Trace holds the calls of a program on the files below a folder.
type Trace struct {
	dir   string
	start func() (*disk, error)
	ops   []iotrace.Op
}

// Record runs cmd and records its calls below dir. It fails the test if the program fails.
func Record(t *testing.T, cmd *exec.Cmd, dir string) *Trace {
	t.Helper()
	dir = must.Get(filepath.EvalSymlinks(dir))(t)
	before := t.TempDir() // each pass reads the initial folder from here
	must.Do(t, os.CopyFS(before, os.DirFS(dir)))
	ops, err := iotrace.Record(t.Context(), cmd, dir)
	if err != nil {
		t.Fatalf("%v\n%s%s", err, cmd.Stdout, cmd.Stderr)
	}
	return &Trace{dir: dir, ops: ops, start: func() (*disk, error) {
		d, err := newDisk(before)
		if d != nil {
			d.at = dir
		}
		return d, err
	}}
}

// crashes calls visit once for each distinct folder that a power cut may leave after one of
// the calls at selects. Every pass produces the same folders in the same order.
func (tr *Trace) crashes(seed uint64, random int, at func(call int) bool, visit func(*Crash)) (cuts int, err error) {
	d, err := tr.start()
	if err != nil {
		return 0, err
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	seen := map[uint64]bool{}
	once := func(c *Crash) bool {
		if c.key = c.sum(); !seen[c.key] {
			seen[c.key] = true
			visit(c)
		}
		return true
	}
	d.crashes(0, "the start", "", random, rng, once)
	for i, op := range tr.ops {
		if !d.do(op) || !at(i) {
			continue
		}
		cuts++
		screen, _, _ := d.find(filepath.Join(d.at, Acknowledgements))
		acknowledged := ""
		if screen != nil {
			acknowledged = string(screen.latest())
		}
		d.crashes(i+1, op.String(), acknowledged, random, rng, once)
	}
	return cuts, nil
}

// Check restores the folders that a power cut may leave and calls check for each one. check
// may change the folder. It must return an error if the program cannot continue from there, or
// if acknowledged data is lost.
//
// The environment variables Variable and SeedVariable select the folders.
func (tr *Trace) Check(t *testing.T, check func(dir string, c *Crash) error) {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv(SeedVariable); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	most, random := few, randomOf
	switch text := os.Getenv(Variable); text {
	case "":
	case "all":
		most, random = 0, 4*randomOf
	default:
		var err error
		if most, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	var keys []uint64
	at := tr.cutsAt(seed, most)
	cuts := must.Get(tr.crashes(seed, random, at, func(c *Crash) { keys = append(keys, c.key) }))(t)
	chosen := map[int]bool{}
	for _, i := range rand.New(rand.NewPCG(seed, 1)).Perm(len(keys)) {
		if most == 0 || len(chosen) < most {
			chosen[i] = true
		}
	}
	n, lost := 0, 0
	base := t.TempDir()
	_, err := tr.crashes(seed, random, at, func(c *Crash) {
		n++
		if !chosen[n-1] || lost >= 5 {
			return
		}
		dir := filepath.Join(base, fmt.Sprint(n))
		must.Do(t, os.Mkdir(dir, 0o755))
		must.Do(t, c.Restore(dir))
		if err := check(dir, c); err != nil {
			lost++
			t.Errorf("%s:\n%v\nacknowledged: %.300q\nleft: %s", c, err, c.Acknowledged, c.list())
		}
		must.Do(t, os.RemoveAll(dir))
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("cuts behind %d of %d calls leave %d different folders: %d looked at, %d lost; seed %d",
		cuts, len(tr.ops), len(keys), len(chosen), lost, seed)
}

// cutsAt selects the calls after which the power fails if only most folders are examined,
// since constructing the folders of all calls takes longer.
func (tr *Trace) cutsAt(seed uint64, most int) func(call int) bool {
	rng := rand.New(rand.NewPCG(seed, 2))
	at := make([]bool, len(tr.ops))
	for i := range at {
		at[i] = most == 0 || rng.IntN(len(at)) < 2*most
	}
	return func(call int) bool { return at[call] }
}

// list returns the files of a folder with their sizes.
func (c *Crash) list() string {
	var list []string
	c.walk(func(path string, n *node) error {
		list = append(list, fmt.Sprintf("%s %d", path, len(c.content(n))))
		return nil
	})
	return fmt.Sprint(slices.Sorted(slices.Values(list)))
}

// Child returns a command that runs the calling test as a separate program. The variables in
// its environment tell the test that it is the child.
func Child(t *testing.T, variables ...string) *exec.Cmd {
	t.Helper()
	program := must.Get(os.Executable())(t)
	cmd := exec.Command(program, "-test.run=^"+regexp.QuoteMeta(t.Name())+"$")
	cmd.Env = append(os.Environ(), variables...)
	cmd.Stdout, cmd.Stderr = new(bytes.Buffer), new(bytes.Buffer)
	return cmd
}

// Acknowledge records that somebody relies on something from now on. The traced program calls
// it. It adds a line to the file Acknowledgements of the traced folder.
func Acknowledge(dir, line string) error {
	f, err := os.OpenFile(filepath.Join(dir, Acknowledgements), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line + "\n")
	return errors.Join(err, f.Close())
}

// Lines returns the acknowledged lines.
func (c *Crash) Lines() []string {
	if c.Acknowledged == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(c.Acknowledged, "\n"), "\n")
}

// Calls returns the calls that change names or make something durable, in the form "rename a
// b" or "sync ." with paths relative to the traced folder. Tests use it to check their order.
func (tr *Trace) Calls() []string {
	var list []string
	for _, op := range tr.ops {
		switch op.Kind {
		case iotrace.Write, iotrace.Close, iotrace.Dup, iotrace.Seek, iotrace.Lock, iotrace.Map:
			continue
		case iotrace.Open:
			if !op.Created {
				continue
			}
		}
		line := string(op.Kind) + " " + tr.relative(op.Path)
		if op.Kind == iotrace.Rename {
			line += " " + tr.relative(op.To)
		}
		list = append(list, line)
	}
	return list
}

func (tr *Trace) relative(path string) string {
	rel, err := filepath.Rel(tr.dir, path)
	if err != nil {
		return path
	}
	return rel
}
