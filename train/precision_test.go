package train

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"hgld/internal/half"
	"hgld/internal/tensorfile"
	"hgld/internal/testing/must"
	"hgld/train/checkpoint"
	"hgld/train/config"
	"hgld/train/device"
	"hgld/train/device/cpu"
	"hgld/train/evaluation"
	"hgld/train/retrieval"
	"hgld/train/testing/places"
)

// mixedNets are small networks of every kind of layer.
var mixedNets = map[string]func(*config.Config){
	"convnet": func(*config.Config) {},
	"frozen":  func(c *config.Config) { c.Model.FreezeNorm = true },
	"chunks":  func(c *config.Config) { c.Model.FreezeNorm, c.Passes.Chunk = true, 8 },
	"vit": func(c *config.Config) {
		c.Model.Backbone = config.Named{Name: "vit-small", Settings: map[string]any{"width": 24, "heads": 2, "depth": 2,
			"input": 16, "patch": 4}}
		c.Model.Pooling = "none"
	},
	"dinov2": func(c *config.Config) {
		c.Model.Backbone = config.Named{Name: "dinov2-small-registers", Settings: map[string]any{"width": 24, "heads": 2,
			"depth": 2, "input": 16, "patch": 4}}
		c.Model.Pooling = "none"
	},
	"clip": func(c *config.Config) {
		c.Model.Backbone = config.Named{Name: "clip-b32", Settings: map[string]any{"width": 24, "heads": 2, "depth": 2,
			"input": 16, "patch": 4, "projection": 16}}
		c.Model.Pooling = "none"
		c.Optim.Rate = 3e-4 // the norm of its gradient is 0.02, of which Adam makes steps of full length
	},
	"siglip": func(c *config.Config) {
		c.Model.Backbone = config.Named{Name: "siglip-b16", Settings: map[string]any{"width": 24, "heads": 2, "depth": 2,
			"input": 16, "patch": 4}}
		c.Model.Pooling = "none"
		c.Optim.Rate = 3e-4 // the norm of its gradient is 13 at the start, a thousand times CLIP's
	},
}

// A step in bfloat16 has the loss of one in float32 but for the rounding of its activations.
func TestMixedStepFollowsTheStepInFloat32(t *testing.T) {
	for name, change := range mixedNets {
		t.Run(name, func(t *testing.T) {
			c, d := tiny(3)
			change(&c)
			want := losses(mustTrain(t, c, Data{Train: d}, Options{Dir: t.TempDir()}))
			c.Model.Precision = config.PrecisionBFloat16
			got := losses(mustTrain(t, c, Data{Train: d}, Options{Dir: t.TempDir()}))
			for i := range want {
				// An activation is off by up to 2⁻⁹ of itself, and a dozen layers add up.
				if diff := math.Abs(got[i] - want[i]); !(diff <= 0.03*math.Abs(want[i])) {
					t.Errorf("step %d: loss %g, in float32 %g", i+1, got[i], want[i])
				}
			}
			if slices.Equal(got, want) {
				t.Error("nothing was rounded")
			}
		})
	}
}

// A mixed run learns, keeps its weights in float32 and resumes to the same bytes, with a
// moving average that its evaluations use.
func TestMixedRunResumesToTheSameBytes(t *testing.T) {
	c, d := tiny(60)
	c.Model.Precision = config.PrecisionBFloat16
	c.EMA.Decay = 0.9
	whole, stopped := t.TempDir(), t.TempDir()
	events := mustTrain(t, c, Data{Train: d, Query: d}, Options{Dir: whole})
	mustTrain(t, c, Data{Train: d}, Options{Dir: stopped, Limit: 13})
	mustTrain(t, c, Data{Train: d}, Options{Dir: stopped})
	sameWeights(t, "stopped after 13 of 60 steps", whole, stopped)
	l := losses(events)
	if first, last := mean(l[:10]), mean(l[50:]); last > 0.8*first {
		t.Errorf("mean loss of the first ten steps %.3f, of the last ten %.3f", first, last)
	}
	list, err := checkpoint.List(whole)
	must.Do(t, err)
	tensors, err := checkpoint.ReadTensors(list[len(list)-1], checkpoint.ModelFile)
	must.Do(t, err)
	if !slices.ContainsFunc(tensors, isLonger) {
		t.Error("every weight of the checkpoint fits in bfloat16: these are not the master weights")
	}
	sameEvaluation(t, whole, d, events)
}

func mean(v []float64) (s float64) {
	for _, x := range v {
		s += x / float64(len(v))
	}
	return s
}

// isLonger reports whether an element of t is not exact in bfloat16.
func isLonger(t tensorfile.Tensor) bool {
	for data := t.Data; len(data) >= 4; data = data[4:] {
		v := math.Float32frombits(binary.LittleEndian.Uint32(data))
		if half.BF16(half.ToBF16(v)) != v {
			return true
		}
	}
	return false
}

// sameEvaluation opens the checkpoint of a run again and compares its evaluation with the one
// that the run made of its averaged weights.
func sameEvaluation(t *testing.T, dir string, d *places.Set, events []Event) {
	t.Helper()
	m, err := evaluation.Open(dir, cpu.New(2), nil, false)
	must.Do(t, err)
	defer m.Close()
	got, err := m.Evaluate(context.Background(), d, nil, retrieval.Evaluation{Metrics: hierarchical(t)})
	must.Do(t, err)
	for _, e := range events {
		if e.Kind == Evaluated && e.Result.Mean("H-AP") != got.Mean("H-AP") {
			t.Errorf("H-AP was %g in the run and is %g afterwards", e.Result.Mean("H-AP"), got.Mean("H-AP"))
		}
	}
}

// A run does not go on in another precision.
func TestRunRefusesAnotherPrecision(t *testing.T) {
	c, d := tiny(4)
	dir := t.TempDir()
	mustTrain(t, c, Data{Train: d}, Options{Dir: dir, Limit: 2})
	c.Model.Precision = config.PrecisionBFloat16
	_, err := trainAll(t, context.Background(), c, Data{Train: d}, Options{Dir: dir})
	var refused *checkpoint.ResumeError
	if !errors.As(err, &refused) || len(refused.Differences) != 1 ||
		!strings.Contains(refused.Differences[0], `model.precision is "bfloat16", the checkpoint has "float32"`) {
		t.Errorf("error %v", err)
	}
	c.Model.Precision = "half"
	if err := c.Check(); !errors.As(err, new(*config.Error)) {
		t.Errorf("precision half: error %v", err)
	}
}

// shortDevice says that it computes in bfloat16.
type shortDevice struct{ device.Backend }

func (shortDevice) Supports(device.DType) bool { return true }

func TestAutoSuitsTheDevice(t *testing.T) {
	for _, c := range []struct {
		b    device.Backend
		want string
	}{{cpu.New(1), config.PrecisionFloat32}, {shortDevice{}, config.PrecisionBFloat16}} {
		a := config.Architecture{Precision: config.PrecisionAuto}
		if checkpoint.ResolvePrecision(&a, c.b, ""); a.Precision != c.want {
			t.Errorf("auto is %s on %T, want %s", a.Precision, c.b, c.want)
		}
	}
}

// A run that auto began in float32 on a processor goes on in float32 on a GPU.
func TestAutoKeepsThePrecisionOfTheRun(t *testing.T) {
	c, d := tiny(4)
	c.Model.Precision = config.PrecisionAuto
	dir := t.TempDir()
	mustTrain(t, c, Data{Train: d}, Options{Dir: dir, Limit: 2})
	events := mustTrain(t, c, Data{Train: d}, Options{Dir: dir, Backend: shortDevice{cpu.New(2)}})
	if n := len(losses(events)); n != 2 {
		t.Errorf("%d steps after the first two of four", n)
	}
}
