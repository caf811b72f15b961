package step

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"hgld/internal/tensorfile"
	"hgld/internal/testing/goldens"
	"hgld/internal/testing/goldens/traces"
	"hgld/internal/testing/must"
	"hgld/train/checkpoint"
	"hgld/train/config"
	"hgld/train/device"
	"hgld/train/grad"
)

// Two passes and one in the same precision, as goldens/trace advises.
const toleranceTwoPass = 2e-6

type twoPassCase struct {
	Name, Seed, Loss string
	Value            float64 `json:"loss_value"`
	Chunks, Other    [][2]int
}

// TestGoldenTwoPass compares the gradients of one pass with the reference, and
// those of two passes in both ways of cutting the batch with those of one.
func TestGoldenTwoPass(t *testing.T) {
	dir := goldens.Dir(t, "trace")
	var cases struct {
		TwoPass []struct {
			twoPassCase
			More [][2]int `json:"other_chunks"`
		} `json:"two_pass"`
	}
	goldens.ReadJSON(t, filepath.Join(dir, "cases.json"), &cases)
	f, err := tensorfile.OpenSafetensors(filepath.Join(dir, "trace.safetensors"))
	must.Do(t, err)
	defer f.Close()
	for _, c := range cases.TwoPass {
		c.Other = c.More
		t.Run("trace/"+c.Name, func(t *testing.T) { c.run(t, f) })
	}
}

func (c twoPassCase) run(t *testing.T, f *tensorfile.File) {
	trace := traceCase{Seed: c.Seed, Loss: c.Loss, BN: "frozen", Steps: 1}
	trace.Optimizer.Kind, trace.Optimizer.LR = "adam", 1e-3
	config := trace.config(t)
	s, b := trace.step(t, f, &config)
	s.In.Upload(s.n.Backend, b)
	one := s.gradients(t, func(t *grad.Tape) *grad.Var { return s.lossOf(t, s.n.Forward(t, s.In)) })
	traces.Within(t, "loss", 0, one.value, c.Value, traces.FirstLoss)
	for name, got := range one.grads {
		if strings.HasPrefix(name, checkpoint.LossPrefix) {
			continue // the reference has those of the network
		}
		want, err := f.Float64(c.Name + "/grad." + traces.Tensor(name))
		must.Do(t, err)
		if d := distance(got, want); d > traces.FirstGrad {
			t.Errorf("gradient of %s is off by %.2g", name, d)
		}
	}
	for _, chunks := range [][][2]int{c.Chunks, c.Other} {
		two := s.gradients(t, func(t *grad.Tape) *grad.Var { return s.twoPass(t, chunks) })
		traces.Within(t, "loss of two passes", 0, two.value, one.value, toleranceTwoPass)
		for name, got := range two.grads {
			if d := distance(got, one.grads[name]); d > toleranceTwoPass {
				t.Errorf("chunks %v: gradient of %s is off by %.2g", chunks, name, d)
			}
		}
	}
}

// gradients is what one recording of a loss leaves in the store, by the names and in
// the layout of files.
type gradients struct {
	value float64
	grads map[string][]float64
}

func (s *Step) gradients(t *testing.T, record func(*grad.Tape) *grad.Var) gradients {
	t.Helper()
	tape := grad.NewTape(s.n.Backend, s.n.Arena)
	defer tape.Free()
	v := record(tape)
	tape.Backward(v, device.Array{})
	g := gradients{value: read(t, s, v.Value)[0], grads: map[string][]float64{}}
	weights, err := s.n.Store.Export(s.n.Backend)
	must.Do(t, err)
	for _, group := range s.n.Store.Groups {
		s.n.Backend.Copy(group.Values, group.Grads)
	}
	tensors, err := s.n.Store.Export(s.n.Backend)
	must.Do(t, err)
	for i, x := range tensors {
		if checkpoint.ForTraining(x) || bytes.Equal(x.Data, weights[i].Data) {
			continue // running statistics
		}
		if g.grads[x.Name], err = x.Float64(); err != nil {
			t.Fatal(err)
		}
	}
	must.Do(t, s.n.Store.Import(s.n.Backend, weights, ""))
	return g
}

// A step in chunks, taken and replayed, is the step of the whole batch.
func TestStepsInChunksAreThoseOfTheWholeBatch(t *testing.T) {
	f, c := openTrace(t)
	for name, change := range map[string]func(*config.Config){
		"two passes": func(c *config.Config) { c.Passes.Chunk = 12 },
		"summed":     func(c *config.Config) { c.Passes = config.Passes{Chunk: 12, Accumulate: true}; c.Loss.Name = "nsm" },
	} {
		whole, cut := c.config(t), c.config(t)
		change(&cut)
		whole.Loss = cut.Loss
		var losses [2][]float64
		for i, config := range []*config.Config{&whole, &cut} {
			s, b := c.step(t, f, config)
			for at := range 3 {
				o, err := wait(s.Queue(b, at))
				if err != nil || !o.Finite {
					t.Fatalf("%s: %+v, %v", name, o, err)
				}
				losses[i] = append(losses[i], o.Loss)
			}
		}
		for at, want := range losses[0] {
			traces.Within(t, name+": loss", at, losses[1][at], want, 1e-5) // three steps of Adam apart
		}
	}
}

func openTrace(t *testing.T) (*tensorfile.File, traceCase) {
	t.Helper()
	f, err := tensorfile.OpenSafetensors(filepath.Join(goldens.Dir(t, "trace"), "trace.safetensors"))
	must.Do(t, err)
	t.Cleanup(func() { f.Close() })
	c := traceCase{Seed: "a", Loss: "happier", BN: "frozen", Steps: 3}
	c.Optimizer.Kind, c.Optimizer.LR, c.Optimizer.HeadMult, c.Optimizer.ProxyLR = "adam", 1e-3, 1, 1e-2
	return f, c
}

func TestChunksThatChangeTheGradientAreRefused(t *testing.T) {
	for want, change := range map[string]func(*config.Config){
		"smooth-ap ranks each query against the whole batch": func(c *config.Config) {
			c.Passes = config.Passes{Chunk: 8,
				Accumulate: true}
		},
		"passes.chunk is 0":  func(c *config.Config) { c.Passes.Accumulate = true },
		"passes.chunk is -1": func(c *config.Config) { c.Passes.Chunk = -1 },
		"nsm reads no memory": func(c *config.Config) {
			c.Passes, c.Memory.Size, c.Loss.Name = config.Passes{Chunk: 8, Accumulate: true},
				256, "nsm"
		},
		"memory.size is -1":             func(c *config.Config) { c.Memory.Size = -1 },
		"set model.freeze_norm":         func(c *config.Config) { c.Passes.Chunk = 8 },
		"is smaller than a batch of 64": func(c *config.Config) { c.Memory.Size = 63 },
		"happier ranks each query agai": func(c *config.Config) {
			c.Passes, c.Loss.Name = config.Passes{Chunk: 8,
				Accumulate: true}, "happier"
		},
	} {
		c := config.Default()
		c.Input.Size = 32
		change(&c)
		if err := refusal(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}
