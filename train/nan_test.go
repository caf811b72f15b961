package train

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/train/checkpoint"
	"hgld/train/config"
	"hgld/train/device"
	"hgld/train/device/cpu"
	"hgld/train/input"
	"hgld/train/testing/places"
)

// spoiled makes one result of an operation NaN, or infinite, in the named steps.
type spoiled struct {
	device.Backend
	place string
	value float64
	steps map[int]bool
	step  int
}

// spoilable lists what can be spoiled: results of the forward pass, of the loss and of
// the backward pass.
var spoilable = []string{
	"Pixels",
	"Conv",
	"ConvGradX",
	"ConvGradW",
	"Norm",
	"Conv statistics",
	"NormGrad",
	"NormGrad by γ",
	"NormGrad by β",
	"GeM",
	"GeMGrad",
	"GeMGrad by p",
	"LayerNorm",
	"LayerNormGrad",
	"MatMul",
	"Normalize",
	"Normalize lengths",
	"NormalizeGrad",
	"Scores",
	"Relevance",
	"Relevance weights",
	"RankLoss",
	"RankLoss gradient",
	"Sums",
}

func (s *spoiled) spoil(place string, a device.Array) {
	if place == s.place && s.steps[s.step] && !a.Absent() {
		s.Fill(a, float32(s.value))
	}
}

func (s *spoiled) Pixels(dst, pixels, crop device.Array, o device.Pixel) {
	s.step++
	s.Backend.Pixels(dst, pixels, crop, o)
	s.spoil("Pixels", dst)
}

func (s *spoiled) Conv(dst, x, w device.Array, c device.ConvShape, e device.Epilogue) {
	s.Backend.Conv(dst, x, w, c, e)
	s.spoil("Conv", dst)
	s.spoil("Conv statistics", e.Stats)
}

func (s *spoiled) ConvGradX(dx, dy, w device.Array, c device.ConvShape, e device.GradEpilogue) {
	s.Backend.ConvGradX(dx, dy, w, c, e)
	s.spoil("ConvGradX", dx)
}

func (s *spoiled) ConvGradW(dw, dy, x device.Array, c device.ConvShape, acc float32) {
	s.Backend.ConvGradW(dw, dy, x, c, acc)
	s.spoil("ConvGradW", dw)
}

func (s *spoiled) Norm(dst, stats, x, gamma, beta, residual device.Array, o device.NormKind) {
	s.Backend.Norm(dst, stats, x, gamma, beta, residual, o)
	s.spoil("Norm", dst)
}

func (s *spoiled) NormGrad(dx, dgamma, dbeta, dy, x, gamma, stats, sums device.Array, o device.NormKind,
	acc float32) {
	s.Backend.NormGrad(dx, dgamma, dbeta, dy, x, gamma, stats, sums, o, acc)
	s.spoil("NormGrad", dx)
	s.spoil("NormGrad by γ", dgamma)
	s.spoil("NormGrad by β", dbeta)
}

func (s *spoiled) GeM(dst, x, p device.Array, eps float32) {
	s.Backend.GeM(dst, x, p, eps)
	s.spoil("GeM", dst)
}

func (s *spoiled) GeMGrad(dx, dp, dy, x, y, p device.Array, eps, acc float32) {
	s.Backend.GeMGrad(dx, dp, dy, x, y, p, eps, acc)
	s.spoil("GeMGrad", dx)
	s.spoil("GeMGrad by p", dp)
}

func (s *spoiled) LayerNorm(dst, stats, x, gamma, beta device.Array, eps float32) {
	s.Backend.LayerNorm(dst, stats, x, gamma, beta, eps)
	s.spoil("LayerNorm", dst)
}

func (s *spoiled) LayerNormGrad(dx, dgamma, dbeta, dy, x, gamma, stats, add device.Array, acc float32) {
	s.Backend.LayerNormGrad(dx, dgamma, dbeta, dy, x, gamma, stats, add, acc)
	s.spoil("LayerNormGrad", dx)
}

func (s *spoiled) MatMul(dst, a, b device.Array, m device.Mul) {
	s.Backend.MatMul(dst, a, b, m)
	s.spoil("MatMul", dst)
}

func (s *spoiled) Normalize(dst, norm, x device.Array, eps float32) {
	s.Backend.Normalize(dst, norm, x, eps)
	s.spoil("Normalize", dst)
	s.spoil("Normalize lengths", norm)
}

func (s *spoiled) NormalizeGrad(dx, dy, y, norm device.Array) {
	s.Backend.NormalizeGrad(dx, dy, y, norm)
	s.spoil("NormalizeGrad", dx)
}

func (s *spoiled) Scores(dst, q, g device.Array) {
	s.Backend.Scores(dst, q, g)
	s.spoil("Scores", dst)
}

func (s *spoiled) Relevance(rel, cnt, weight, sh device.Array, o device.RelKind) {
	s.Backend.Relevance(rel, cnt, weight, sh, o)
	s.spoil("Relevance", rel)
	s.spoil("Relevance weights", weight)
}

func (s *spoiled) RankLoss(loss, ds, scores, sh, rel, cnt device.Array, h *device.Steps, o *device.Score) {
	s.Backend.RankLoss(loss, ds, scores, sh, rel, cnt, h, o)
	s.spoil("RankLoss", loss)
	s.spoil("RankLoss gradient", ds)
}

func (s *spoiled) Sums(dst, x device.Array, k device.Sum, acc float32) {
	s.Backend.Sums(dst, x, k, acc)
	s.spoil("Sums", dst)
}

func TestValuesThatAreNotFiniteNeverReachTheWeights(t *testing.T) {
	for i, place := range spoilable {
		value := math.NaN()
		if i%3 == 2 {
			value = math.Inf(1)
		}
		t.Run(place, func(t *testing.T) { spoilSteps(t, place, value) })
	}
}

// spoilSteps spoils two of six steps and looks at what is left of it.
func spoilSteps(t *testing.T, place string, value float64) {
	c, d := tiny(6)
	c.EMA.Decay, c.Optim.Clip = 0.9, 10
	dir := t.TempDir()
	events := mustTrain(t, c, Data{Train: d},
		Options{Dir: dir, Backend: &spoiled{Backend: cpu.New(2), place: place, value: value,
			steps: map[int]bool{2: true, 5: true}}})
	var skipped []int
	for _, e := range events {
		if e.Kind == Skipped {
			skipped = append(skipped, e.Step)
			checkSkipped(t, c, d, e)
		}
	}
	if !slices.Equal(skipped, []int{2, 5}) {
		t.Errorf("skipped steps %v, want 2 and 5", skipped)
	}
	list, err := checkpoint.List(dir)
	must.Do(t, err)
	for _, file := range []string{checkpoint.ModelFile, checkpoint.AverageFile, checkpoint.OptimizerFile} {
		tensors, err := checkpoint.ReadTensors(list[len(list)-1], file)
		must.Do(t, err)
		for _, tensor := range tensors {
			values, err := tensor.Float32()
			must.Do(t, err)
			for _, v := range values {
				if x := float64(v); math.IsNaN(x) || math.IsInf(x, 0) {
					t.Fatalf("%s of %s has the value %v", tensor.Name, file, v)
				}
			}
		}
	}
}

// checkSkipped compares what a skipped step says of its batch with the sampler.
func checkSkipped(t *testing.T, c config.Config, d *places.Set, e Event) {
	t.Helper()
	p, err := c.Resolve()
	must.Do(t, err)
	list, err := input.Paths(d)
	must.Do(t, err)
	epoch, err := p.Sampler.Epoch(list, c.Seed, e.Batch.Epoch)
	must.Do(t, err)
	var want []string
	for _, row := range epoch[e.Batch.Index] {
		want = append(want, d.ID(row))
	}
	if !slices.Equal(e.IDs, want) {
		t.Errorf("step %d, batch %+v: images %v, the sampler has %v", e.Step, *e.Batch, e.IDs, want)
	}
}

// overflowing makes the weights infinite in one update, as a rate does that is too large for a gradient.
type overflowing struct {
	device.Backend
	updates, at int
}

func (o *overflowing) Adam(w, m, v, dw, shadow, hyper, flag device.Array, k device.AdamKind) {
	o.Backend.Adam(w, m, v, dw, shadow, hyper, flag, k)
	if o.updates++; o.updates == o.at {
		o.Fill(w.RowRange(0, 1), float32(math.Inf(1)))
	}
}

func TestWeightsThatOverflowAreNoCheckpoint(t *testing.T) {
	c, d := tiny(6)
	c.Run.Checkpoint = 2
	dir := t.TempDir()
	events, err := trainAll(t, context.Background(), c, Data{Train: d},
		Options{Dir: dir, Backend: &overflowing{Backend: cpu.New(2), at: 2*2 + 1}}) // two groups
	if !errors.Is(err, ErrNotFinite) || !strings.Contains(err.Error(), "step 4: values were not finite: element 0 of ") {
		t.Errorf("error %v after %d events", err, len(events))
	}
	if list, err := checkpoint.List(dir); err != nil || len(list) != 1 || filepath.Base(list[0]) != "step-00000002" {
		t.Errorf("checkpoints %q, %v; want that of step 2", list, err)
	}
}

func TestTenSkippedStepsInARowEndTheRun(t *testing.T) {
	c, d := tiny(40)
	steps := map[int]bool{3: true}
	for i := 5; i < 40; i++ {
		steps[i] = true
	}
	events, err := trainAll(t, context.Background(), c, Data{Train: d},
		Options{Dir: t.TempDir(), Backend: &spoiled{Backend: cpu.New(2), place: "Conv", value: math.NaN(), steps: steps}})
	if err == nil || !strings.Contains(err.Error(), "step 14: values were not finite in 10 steps in a row") {
		t.Errorf("error %v after %d events", err, len(events))
	}
}

func TestSkippedStepDoesNotCountForTheOptimizer(t *testing.T) {
	c, d := tiny(6)
	dir := t.TempDir()
	mustTrain(t, c, Data{Train: d}, Options{Dir: dir, Backend: &spoiled{Backend: cpu.New(2), place: "Conv",
		value: math.NaN(), steps: map[int]bool{2: true}}})
	list, _ := checkpoint.List(dir)
	s, err := checkpoint.ReadState(list[0])
	must.Do(t, err)
	if s.Step != 6 || s.Steps["backbone"] != 5 || s.Steps["head"] != 5 {
		t.Errorf("step %d, optimizer steps %v", s.Step, s.Steps)
	}
}
