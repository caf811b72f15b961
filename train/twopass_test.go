package train

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"hgld/internal/tensorfile"
	"hgld/internal/testing/goldens"
	"hgld/internal/testing/goldens/traces"
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
	if err != nil {
		t.Fatal(err)
	}
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
	s.in.Upload(s.n.b, b)
	one := s.gradients(t, func(t *grad.Tape) *grad.Var { return s.lossOf(t, s.n.forward(t, s.in)) })
	traces.Within(t, "loss", 0, one.value, c.Value, traces.FirstLoss)
	for name, got := range one.grads {
		if strings.HasPrefix(name, lossPrefix) {
			continue // the reference has those of the network
		}
		want, err := f.Float64(c.Name + "/grad." + traces.Tensor(name))
		if err != nil {
			t.Fatal(err)
		}
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

func (s *step) gradients(t *testing.T, record func(*grad.Tape) *grad.Var) gradients {
	t.Helper()
	tape := grad.NewTape(s.n.b, s.n.arena)
	defer tape.Free()
	v := record(tape)
	tape.Backward(v, device.Array{})
	g := gradients{value: read(t, s, v.Value)[0], grads: map[string][]float64{}}
	weights, err := s.n.store.Export(s.n.b)
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range s.n.store.Groups {
		s.n.b.Copy(group.Values, group.Grads)
	}
	tensors, err := s.n.store.Export(s.n.b)
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range tensors {
		if forTraining(x) || bytes.Equal(x.Data, weights[i].Data) {
			continue // running statistics
		}
		if g.grads[x.Name], err = x.Float64(); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.n.store.Import(s.n.b, weights, ""); err != nil {
		t.Fatal(err)
	}
	return g
}

// A step in chunks, taken and replayed, is the step of the whole batch.
func TestStepsInChunksAreThoseOfTheWholeBatch(t *testing.T) {
	f, c := openTrace(t)
	for name, change := range map[string]func(*Config){
		"two passes": func(c *Config) { c.Passes.Chunk = 12 },
		"summed":     func(c *Config) { c.Passes = Passes{Chunk: 12, Accumulate: true}; c.Loss.Name = "nsm" },
	} {
		whole, cut := c.config(t), c.config(t)
		change(&cut)
		whole.Loss = cut.Loss
		var losses [2][]float64
		for i, config := range []*Config{&whole, &cut} {
			s, b := c.step(t, f, config)
			for at := range 3 {
				o, err := wait(s.queue(b, at))
				if err != nil || !o.finite {
					t.Fatalf("%s: %+v, %v", name, o, err)
				}
				losses[i] = append(losses[i], o.loss)
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
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	c := traceCase{Seed: "a", Loss: "happier", BN: "frozen", Steps: 3}
	c.Optimizer.Kind, c.Optimizer.LR, c.Optimizer.HeadMult, c.Optimizer.ProxyLR = "adam", 1e-3, 1, 1e-2
	return f, c
}

func TestChunksThatChangeTheGradientAreRefused(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"smooth-ap ranks each query against the whole batch": func(c *Config) {
			c.Passes = Passes{Chunk: 8,
				Accumulate: true}
		},
		"passes.chunk is 0":  func(c *Config) { c.Passes.Accumulate = true },
		"passes.chunk is -1": func(c *Config) { c.Passes.Chunk = -1 },
		"nsm reads no memory": func(c *Config) {
			c.Passes, c.Memory.Size, c.Loss.Name = Passes{8, true},
				256, "nsm"
		},
		"memory.size is -1":             func(c *Config) { c.Memory.Size = -1 },
		"set model.freeze_norm":         func(c *Config) { c.Passes.Chunk = 8 },
		"is smaller than a batch of 64": func(c *Config) { c.Memory.Size = 63 },
		"happier ranks each query agai": func(c *Config) { c.Passes, c.Loss.Name = Passes{8, true}, "happier" },
	} {
		c := Default()
		c.Input.Size = 32
		change(&c)
		if err := refusal(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

// Chunks need less memory than the batch, and a ring as much as its rows.
func TestPlanSeesChunksAndMemories(t *testing.T) {
	c, d := tiny(3)
	c.Model.FreezeNorm = true
	c.Input.Size, c.Input.Resize = 32, 36 // more than the first 256 KiB that an arena takes
	plan := func(change func(*Config)) *Estimate {
		changed := c
		change(&changed)
		p, err := Plan(changed, Data{Train: d})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	whole := plan(func(*Config) {})
	if cut := plan(func(c *Config) { c.Passes.Chunk = 4 }); cut.Peak >= whole.Peak || cut.Kept != whole.Kept {
		t.Errorf("in chunks %d bytes, %d of them kept; at once %d and %d", cut.Peak, cut.Kept, whole.Peak, whole.Kept)
	}
	const rows, dim, levels = 1000, 16, 2
	if m := plan(func(c *Config) { c.Memory.Size = rows }); m.Kept-whole.Kept < 4*rows*(dim+levels) {
		t.Errorf("a memory of %d rows takes %d bytes", rows, m.Kept-whole.Kept)
	}
}
