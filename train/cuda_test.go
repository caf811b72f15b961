package train

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hgld/internal/tensorfile"
	"hgld/internal/testing/effort"
	"hgld/internal/testing/must"
	"hgld/labels"
	"hgld/train/checkpoint"
	"hgld/train/config"
	"hgld/train/device"
	"hgld/train/device/cpu"
	"hgld/train/device/cuda"
	"hgld/train/device/testing/emu"
	"hgld/train/device/testing/nulldriver"
)

// Five steps on the GPU of the emulator, the second of which is recorded and the rest
// of which are launches of one graph, are those of the processor.
func TestTrainingOnCUDAEqualsTheCPUs(t *testing.T) {
	for name, change := range map[string]func(*config.Config){
		"smooth-ap": func(c *config.Config) { c.Loss.Name = "smooth-ap" },
		"roadmap":   func(c *config.Config) { c.Loss.Name = "roadmap" },
		"happier":   func(c *config.Config) { c.Loss.Name = "happier" },
		"triplet with memory": func(c *config.Config) {
			c.Loss.Name, c.Memory = "triplet", config.CrossBatch{Size: 40, Start: 2}
		},
		"extra parents": func(c *config.Config) {
			c.Loss.Name, c.Memory = "happier", config.CrossBatch{Size: 40}
		},
		"external": func(c *config.Config) {
			own, _, _ := outside(5)
			c.Loss = own.Loss
			t.Setenv(lossMode, "well")
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, d := tiny(5)
			change(&c)
			c.Model.Precision = config.PrecisionFloat32
			processor, card := t.TempDir(), t.TempDir()
			o := Options{Dir: processor, Backend: cpu.New(1), AllowCommand: true}
			data := Data{Train: d}
			if name == "extra parents" {
				for _, place := range []string{"place 0", "place 5", "place 6"} {
					data.ExtraParents = append(data.ExtraParents,
						labels.ExtraParent{Level: "place", Class: place, Parent: d.Classes(1)[3]})
				}
			}
			want := losses(mustTrain(t, c, data, o))
			o.Dir, o.Backend = card, emulatedCard(t)
			got := losses(mustTrain(t, c, data, o))
			for i := range want {
				// A loss is a float32 sum of some hundred terms, and after i steps of
				// weights that differ in their last bits.
				if !(math.Abs(got[i]-want[i]) <= 2e-5*math.Max(1, math.Abs(want[i]))) {
					t.Errorf("loss of step %d: %v on the GPU, %v on the processor", i+1, got[i], want[i])
				}
			}
			compareWeights(t, processor, card)
		})
	}
}

// On a GPU, precision auto is bfloat16, computed by the GPU's own kernels. Its steps are
// those of a processor that widens, except that sums in another order round an activation to
// its other neighbour now and then, 2⁻⁸ apart: a third of what bfloat16 itself may change.
func TestMixedTrainingOnCUDAFollowsTheProcessors(t *testing.T) {
	for name, change := range mixedNets {
		if !effort.Exhaustive() && name != "convnet" && name != "vit" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			c, d := tiny(5)
			change(&c)
			c.Model.Precision = config.PrecisionBFloat16
			want := losses(mustTrain(t, c, Data{Train: d}, Options{Dir: t.TempDir(), Backend: cpu.New(1)}))
			c.Model.Precision = config.PrecisionAuto
			dir, b := t.TempDir(), emulatedCard(t)
			got := losses(mustTrain(t, c, Data{Train: d}, Options{Dir: dir, Backend: b}))
			for i := range want {
				if !(math.Abs(got[i]-want[i]) <= 0.01*math.Abs(want[i])) {
					t.Errorf("loss of step %d: %v on the GPU, %v on the processor", i+1, got[i], want[i])
				}
			}
			c.Model.Precision = config.PrecisionFloat32
			_, err := trainAll(t, context.Background(), c, Data{Train: d}, Options{Dir: dir, Backend: b})
			var refused *checkpoint.ResumeError
			if !errors.As(err, &refused) {
				t.Errorf("the run in precision auto resumes in float32: error %v", err)
			}
		})
	}
}

// Heads of 16 numbers meet tensor cores, which round probabilities that a processor leaves in
// float32. A step is therefore compared with that in float32, as closely as a processor's is. The
// second has the weights that the first one's gradient changed.
func TestAttentionOnTensorCoresFollowsFloat32(t *testing.T) {
	c, d := tiny(2)
	mixedNets["vit"](&c)
	c.Model.Backbone.Settings["width"] = 32
	c.Model.Precision = config.PrecisionFloat32
	want := losses(mustTrain(t, c, Data{Train: d}, Options{Dir: t.TempDir(), Backend: cpu.New(1)}))
	c.Model.Precision = config.PrecisionAuto
	got := losses(mustTrain(t, c, Data{Train: d}, Options{Dir: t.TempDir(), Backend: emulatedCard(t)}))
	for i := range want {
		if !(math.Abs(got[i]-want[i]) <= 0.03*math.Abs(want[i])) {
			t.Errorf("loss of step %d: %v on the GPU, %v in float32 on the processor", i+1, got[i], want[i])
		}
	}
	if slices.Equal(got, want) {
		t.Error("nothing was rounded")
	}
}

// The driver and the libraries load kernels when a step first needs them. A plan that leaves no room for them would
// fail in the middle of the first step.
func TestStepWithoutRoomForKernelsIsRefused(t *testing.T) {
	b := emulatedCard(t)
	c, d := tiny(1)
	plan, err := Plan(c, Data{Train: d})
	must.Do(t, err)
	control := emu.Open(t, os.Getenv(cuda.LibrariesVariable))
	for room, fits := range map[int]bool{64 << 20: false, 512 << 20: true} {
		control.Memory(int(plan.Peak) + room)
		r, err := New(c, Data{Train: d}, Options{Backend: b, Plan: plan})
		var short *device.OutOfMemory
		if got := err == nil; got != fits || !fits && !errors.As(err, &short) {
			t.Errorf("%d MiB beside the arrays: %v", room>>20, err)
		}
		if err == nil {
			err = r.Close()
		} else if strings.Contains(err.Error(), "a step with its kernels needs") {
			err = nil
		}
		if err != nil {
			t.Error(err)
		}
	}
}

// A step gives the same bytes, whether it holds what its backward pass reads or computes it again.
func TestStepThatHoldsGivesTheSameBytes(t *testing.T) {
	c, d := tiny(2)
	b := emulatedCard(t)
	plan, err := PlanOn(c, Data{Train: d}, b, "")
	must.Do(t, err)
	if !plan.Holds || plan.Peak != plan.Most {
		t.Fatalf("with 2 GiB: %+v", plan)
	}
	held, again := t.TempDir(), t.TempDir()
	mustTrain(t, c, Data{Train: d}, Options{Dir: held, Backend: b, Plan: plan})
	plan.Holds, plan.Peak = false, plan.Least
	mustTrain(t, c, Data{Train: d}, Options{Dir: again, Backend: emulatedCard(t), Plan: plan})
	sameWeights(t, "with values held and computed again", held, again)
}

// A GPU that has the memory holds a ResNet's values, and one that has too little computes them again. A run that is
// planned while there was memory, and finds too little, computes them again as well.
func TestPlanHoldsWhatFits(t *testing.T) {
	c, d := tiny(1)
	c.Model.Backbone = config.Named{Name: "resnet18"}
	c.Input.Size, c.Input.Resize = 64, 64
	card := nulldriver.H100
	planOn := func() (*Estimate, *nulldriver.Device) {
		b, err := nulldriver.Open(card)
		must.Do(t, err)
		t.Cleanup(func() { b.Close() })
		return must.Get(PlanOn(c, Data{Train: d}, b, ""))(t), b
	}
	whole, _ := planOn()
	if !whole.Holds || whole.Peak != whole.Most || whole.Least >= whole.Most {
		t.Fatalf("on an H100 %v, %d of %d to %d bytes", whole.Holds, whole.Peak, whole.Least, whole.Most)
	}
	const room = (384 + 512) << 20 // of kernels and libraries: see cuda.Backend.Room
	card.Memory = int(whole.Least+whole.Most)/2 + room
	small, _ := planOn()
	if small.Holds || small.Peak != whole.Least || small.Most != whole.Most {
		t.Errorf("on a small GPU %v, %d of %d to %d bytes", small.Holds, small.Peak, small.Least, small.Most)
	}
	card.Memory = int(whole.Least-whole.Kept) + room // the null driver counts nothing as used
	_, b := planOn()
	r, err := New(c, Data{Train: d}, Options{Backend: b, Plan: whole, blank: true})
	must.Do(t, err)
	if got := int64(r.network.Arena.Held()); got != whole.Least-whole.Kept {
		t.Errorf("%d bytes were reserved, want %d", got, whole.Least-whole.Kept)
	}
	must.Do(t, r.Close())
}

func emulatedCard(t *testing.T) *cuda.Backend {
	t.Helper()
	t.Setenv(cuda.LibrariesVariable, emu.Build(t))
	b, err := cuda.Open(0)
	must.Do(t, err)
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// weightTolerance is relative L2 of a tensor. Adam divides by the root of the squared
// gradient, so that rounding moves a weight whose gradient is nearly zero by up to the
// rate, 3e-3, in either direction. That happens to few; a wrong kernel moves all.
const weightTolerance = 2e-3

// compareWeights compares the trained tensors of the newest checkpoints of two runs.
func compareWeights(t *testing.T, wantDir, gotDir string) {
	t.Helper()
	want, got := modelOf(t, wantDir), modelOf(t, gotDir)
	defer want.Close()
	defer got.Close()
	if len(want.Names()) == 0 || !slices.Equal(got.Names(), want.Names()) {
		t.Fatalf("tensors %v on the GPU, %v on the processor", got.Names(), want.Names())
	}
	for _, name := range want.Names() {
		if dtype, _, err := want.Shape(name); err != nil || dtype != "F32" {
			continue
		}
		w, errW := want.Float32(name)
		g, errG := got.Float32(name)
		if err := errors.Join(errW, errG); err != nil || len(g) != len(w) {
			t.Fatalf("%s: %d elements on the GPU, %d on the processor, %v", name, len(g), len(w), err)
		}
		var apart, size float64
		for i, x := range w {
			d := float64(x) - float64(g[i])
			apart, size = apart+d*d, size+float64(x)*float64(x)
		}
		if !(math.Sqrt(apart) <= weightTolerance*math.Sqrt(size)) {
			t.Errorf("%s: apart by %.3g of %.3g", name, math.Sqrt(apart), math.Sqrt(size))
		}
	}
}

func modelOf(t *testing.T, dir string) *tensorfile.File {
	t.Helper()
	list, err := checkpoint.List(dir)
	if err != nil || len(list) == 0 {
		t.Fatalf("%d checkpoints, %v", len(list), err)
	}
	f, err := tensorfile.OpenSafetensors(filepath.Join(list[len(list)-1], checkpoint.ModelFile))
	must.Do(t, err)
	return f
}
