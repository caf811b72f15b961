package train

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"hgld/internal/tensorfile"
	"hgld/internal/testing/must"
	"hgld/train/checkpoint"
	"hgld/train/config"
	"hgld/train/device"
	"hgld/train/device/cpu"
	"hgld/train/external"
	"hgld/train/grad"
	"hgld/train/loss"
)

// lossMode says in the environment of a child process that it is the process of an external loss, and what goes
// wrong in it: "kind step", or "well".
const lossMode = "HGLD_TEST_LOSS_PROCESS"

// TestLossProcess is the process of an external loss. Its value is Smooth-AP and, if it trains, the distance to a
// vector of its own, which it changes after each step.
func TestLossProcess(t *testing.T) {
	mode := os.Getenv(lossMode)
	if mode == "" {
		return
	}
	kind, text, _ := strings.Cut(mode, " ")
	at, _ := strconv.Atoi(text)
	p := &lossProcess{kind: kind, at: uint32(at)}
	for {
		if err := p.answer(os.Stdin, os.Stdout); err != nil {
			os.Exit(0)
		}
	}
}

type lossProcess struct {
	kind string
	at   uint32
	own  []float32 // a vector that the process trains; nil: none
	dim  int
}

// answer answers one frame.
func (p *lossProcess) answer(r io.Reader, w io.Writer) error {
	var head [8]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	body := make([]byte, binary.LittleEndian.Uint64(head[:]))
	if _, err := io.ReadFull(r, body); err != nil {
		return err
	}
	f, err := tensorfile.ReadSafetensors(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		return err
	}
	var out []tensorfile.Tensor
	switch f.Metadata["message"] {
	case "start":
		p.dim, _ = strconv.Atoi(f.Metadata["dim"])
		p.own = make([]float32, p.dim)
	case "restore":
		if p.own, err = f.Float32("own"); err != nil {
			return err
		}
	case "state":
		out = append(out, tensorfile.NewF32("own", []int{p.dim}, p.own))
	case "step":
		out = p.step(f)
	}
	var frame bytes.Buffer
	frame.Write(make([]byte, 8))
	if err := tensorfile.WriteSafetensors(&frame, out, map[string]string{"message": "answer"}); err != nil {
		return err
	}
	binary.LittleEndian.PutUint64(frame.Bytes(), uint64(frame.Len()-8))
	_, err = w.Write(frame.Bytes())
	return err
}

func (p *lossProcess) step(f *tensorfile.File) []tensorfile.Tensor {
	_, shape, _ := f.Shape("query")
	value, gradient := smoothAP(f)
	if step, _ := strconv.Atoi(f.Metadata["step"]); uint32(step) == p.at {
		switch p.kind {
		case "dies":
			fmt.Fprintln(os.Stderr, "my loss has a mistake\non line 7")
			os.Exit(3)
		case "hangs":
			time.Sleep(time.Hour)
		case "nan":
			gradient[3] = float32(math.NaN())
		case "shape":
			shape, gradient = shape[:1], gradient[:shape[0]]
		case "prints":
			fmt.Println("hello, I print")
		}
	}
	if p.kind == "trains" || p.kind == "dies" {
		rows, _ := f.Float32("query")
		n := float32(shape[0])
		sum := make([]float32, p.dim)
		for i, x := range rows {
			d := x - p.own[i%p.dim]
			value += d * d / n
			gradient[i] += 2 * d / n
			sum[i%p.dim] += d / n
		}
		for i := range sum {
			p.own[i] += 0.1 * sum[i]
		}
	}
	return []tensorfile.Tensor{tensorfile.NewF32("value", nil, []float32{value}),
		tensorfile.NewF32("query_gradient", shape, gradient)}
}

// smoothAP computes hgld's own loss of a frame.
func smoothAP(f *tensorfile.File) (float32, []float32) {
	b := cpu.New(1)
	put := func(name string, kind device.DType) device.Array {
		t, err := f.Tensor(name)
		if err != nil {
			return device.Array{}
		}
		a := device.New(b, kind, t.Shape...)
		b.Upload(a, t.Data)
		return a
	}
	l, err := loss.SmoothAP{Tau: 0.01}.New(loss.Facts{Classes: []int{9, 9}})
	if err != nil {
		panic(err)
	}
	tape := grad.NewTape(b, device.NewArena(b))
	query, labels := put("query", device.F32), put("query_labels", device.I32)
	gradient := device.New(b, device.F32, query.Shape()...)
	q := tape.Leaf(query, gradient)
	in := &loss.Batch{Query: q, Gallery: q, QueryLabels: labels, GalleryLabels: labels, Self: put("self", device.I32)}
	if f.Has("memory") {
		in.Memory = &loss.Memory{Rows: tape.Leaf(put("memory", device.F32), device.Array{}),
			Labels: put("memory_labels", device.I32), Self: put("memory_self", device.I32)}
	}
	v := tape.Keep(l.Forward(tape, in))
	tape.Backward(v, device.Array{})
	return b.Floats(v.Value)[0], slices.Clone(b.Floats(gradient))
}

// outside returns a configuration whose loss is the process of this test.
func outside(steps int) (config.Config, Data, Options) {
	c, d := tiny(steps)
	c.Loss.Name = "external"
	c.Loss.Settings = map[string]any{"command": []any{os.Args[0], "-test.run=^TestLossProcess$"}, "timeout": 60}
	return c, Data{Train: d}, Options{Backend: cpu.New(1), AllowCommand: true}
}

// A process that computes Smooth-AP gives the bytes of Smooth-AP: alone, with a memory, in two passes, and where the
// device records programs. As a term its gradient is added in another order, and the values are those but for rounding.
func TestExternalLossHasTheBytesOfTheLossItself(t *testing.T) {
	t.Setenv(lossMode, "well")
	term := func(name string, settings map[string]any) map[string]any {
		return map[string]any{"name": name, "weight": 0.5, "settings": settings}
	}
	for name, change := range map[string]func(*config.Config){
		"alone":  func(*config.Config) {},
		"memory": func(c *config.Config) { c.Memory = config.CrossBatch{Size: 40, Start: 3} },
		"chunks": func(c *config.Config) { c.Model.FreezeNorm, c.Passes.Chunk = true, 5 },
		"terms": func(c *config.Config) {
			own := c.Loss.Settings
			c.Loss.Settings = map[string]any{"terms": []any{term(c.Loss.Name, own), term("calibration", nil)}}
			c.Loss.Name = "sum"
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, data, o := outside(5)
			want := c
			want.Loss = config.Loss{Named: config.Named{Name: "smooth-ap"}, Preset: "paper"}
			change(&c)
			change(&want)
			dirs := [2]string{t.TempDir(), t.TempDir()}
			recorded := newRecorder()
			o.Dir, o.Backend = dirs[0], recorded
			got := losses(mustTrain(t, c, data, o))
			all := losses(mustTrain(t, want, data, Options{Dir: dirs[1], Backend: cpu.New(1)}))
			if name != "terms" {
				sameWeights(t, name, dirs[0], dirs[1])
			}
			for i, v := range all {
				if d := math.Abs(got[i] - v); d > 0 && name != "terms" || d > 1e-5 {
					t.Errorf("losses %v, want %v", got, all)
				}
			}
			if recorded.programs != 0 {
				t.Error("a step that waits for a process was recorded as a program")
			}
		})
	}
}

// The state of the process is part of a checkpoint: a run that stops, or whose process dies, ends with the same bytes.
func TestResumedExternalLossEndsWithTheSameBytes(t *testing.T) {
	c, data, o := outside(9)
	c.Run.Checkpoint = 4
	whole, stopped, died := o, o, o
	whole.Dir, stopped.Dir, died.Dir = t.TempDir(), t.TempDir(), t.TempDir()
	t.Setenv(lossMode, "trains")
	mustTrain(t, c, data, whole)

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	r, err := New(c, data, stopped)
	must.Do(t, err)
	for e, err := range r.Events(ctx) {
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if e.Step == 6 {
			stop()
		}
	}
	must.Do(t, r.Close())
	stopped.Backend = cpu.New(1)
	mustTrain(t, c, data, stopped)

	t.Setenv(lossMode, "dies 6")
	_, err = trainAll(t, t.Context(), c, data, died)
	var e *external.Error
	if !errors.As(err, &e) || e.Words != "my loss has a mistake\non line 7" ||
		!strings.Contains(err.Error(), "exit status 3") {
		t.Fatalf("error %v", err)
	}
	t.Setenv(lossMode, "trains")
	died.Backend = cpu.New(1)
	mustTrain(t, c, data, died)

	last := filepath.Join(checkpoint.Name(9), checkpoint.ProcessFile(0))
	want, err := os.ReadFile(filepath.Join(whole.Dir, last))
	must.Do(t, err)
	for name, dir := range map[string]string{"stopped": stopped.Dir, "died": died.Dir} {
		sameWeights(t, name, whole.Dir, dir)
		if got, err := os.ReadFile(filepath.Join(dir, last)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: the state of the process differs, %v", name, err)
		}
	}
}

// A wrong answer ends the step with a reason, and the checkpoint before it stays.
func TestWrongAnswerOfAnExternalLossEndsTheRun(t *testing.T) {
	for mode, want := range map[string]string{
		"dies 3":   "it ended: exit status 3; its last words:\nmy loss has a mistake",
		"hangs 3":  "it took longer than 500ms for an answer",
		"nan 3":    "it answered NaN at element 3 of query_gradient",
		"shape 3":  "it answered query_gradient of F32 [16], want F32 [16 16]",
		"prints 3": `its answer begins with "hello, I"`,
	} {
		t.Run(mode, func(t *testing.T) {
			t.Setenv(lossMode, mode)
			c, data, o := outside(5)
			c.Run.Checkpoint, o.Dir = 1, t.TempDir()
			if strings.HasPrefix(mode, "hangs") {
				c.Loss.Settings["timeout"] = 0.5
			}
			_, err := trainAll(t, t.Context(), c, data, o)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want one with %q", err, want)
			}
			list, err := checkpoint.List(o.Dir)
			if err != nil || len(list) == 0 || list[len(list)-1] != filepath.Join(o.Dir, checkpoint.Name(3)) {
				t.Errorf("checkpoints %v, %v", list, err)
			}
		})
	}
}

func TestCommandOfAnExternalLossNeedsPermission(t *testing.T) {
	c, data, o := outside(2)
	o.AllowCommand = false
	_, err := New(c, data, o)
	var e *CommandError
	if !errors.As(err, &e) || e.Command[0] != os.Args[0] {
		t.Errorf("error %v", err)
	}
	if _, err := Plan(c, data); err != nil {
		t.Errorf("a plan, which starts nothing: %v", err)
	}
	o.AllowCommand = true
	c.Loss.Settings["command"] = []any{"/no/such/program"}
	if _, err := New(c, data, o); err == nil || !strings.Contains(err.Error(), "/no/such/program") {
		t.Errorf("error %v", err)
	}
}

// Each of several processes would have a program with a state of its own.
func TestExternalLossTrainsInOneProcess(t *testing.T) {
	c, data, o := outside(2)
	for rank, got := range onRanks(t, 2, c, data, func(_ int, _ *config.Config, _ *Data, of *Options) {
		of.AllowCommand = o.AllowCommand
	}, nil) {
		if got.err == nil || !strings.Contains(got.err.Error(), "trains in one process, and these are 2") {
			t.Errorf("rank %d: %v", rank, got.err)
		}
	}
}
