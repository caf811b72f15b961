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
	"hgld/labels"
	"hgld/train/device"
	"hgld/train/device/cpu"
	"hgld/train/device/cuda"
	"hgld/train/device/testing/emu"
)

// Five steps on the card of the emulator, the second of which is recorded and the rest
// of which are launches of one graph, are those of the processor.
func TestTrainingOnCUDAEqualsTheCPUs(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"smooth-ap": func(c *Config) { c.Loss.Name = "smooth-ap" },
		"roadmap":   func(c *Config) { c.Loss.Name = "roadmap" },
		"happier":   func(c *Config) { c.Loss.Name = "happier" },
		"triplet with memory": func(c *Config) {
			c.Loss.Name, c.Memory = "triplet", CrossBatch{Size: 40, Start: 2}
		},
		"further parents": func(c *Config) {
			c.Loss.Name, c.Memory = "happier", CrossBatch{Size: 40}
		},
		"external": func(c *Config) {
			own, _, _ := outside(5)
			c.Loss = own.Loss
			t.Setenv(lossMode, "well")
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, d := tiny(5)
			change(&c)
			c.Model.Precision = precisionFloat32
			processor, card := t.TempDir(), t.TempDir()
			o := Options{Dir: processor, Backend: cpu.New(1), AllowCommand: true}
			data := Data{Train: d}
			if name == "further parents" {
				for _, place := range []string{"place 0", "place 5", "place 6"} {
					data.Further = append(data.Further, labels.FurtherParent{Level: "place", Class: place, Parent: d.Classes(1)[3]})
				}
			}
			want := losses(mustTrain(t, c, data, o))
			o.Dir, o.Backend = card, emulatedCard(t)
			got := losses(mustTrain(t, c, data, o))
			for i := range want {
				// A loss is a float32 sum of some hundred terms, and after i steps of
				// weights that differ in their last bits.
				if !(math.Abs(got[i]-want[i]) <= 2e-5*math.Max(1, math.Abs(want[i]))) {
					t.Errorf("loss of step %d: %v on the card, %v on the processor", i+1, got[i], want[i])
				}
			}
			compareWeights(t, processor, card)
		})
	}
}

// On a card, precision auto is bfloat16, computed by the card's own kernels. Its steps are
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
			c.Model.Precision = precisionBFloat16
			want := losses(mustTrain(t, c, Data{Train: d}, Options{Dir: t.TempDir(), Backend: cpu.New(1)}))
			c.Model.Precision = precisionAuto
			dir, b := t.TempDir(), emulatedCard(t)
			got := losses(mustTrain(t, c, Data{Train: d}, Options{Dir: dir, Backend: b}))
			for i := range want {
				if !(math.Abs(got[i]-want[i]) <= 0.01*math.Abs(want[i])) {
					t.Errorf("loss of step %d: %v on the card, %v on the processor", i+1, got[i], want[i])
				}
			}
			c.Model.Precision = precisionFloat32
			_, err := trainAll(t, context.Background(), c, Data{Train: d}, Options{Dir: dir, Backend: b})
			var refused *ResumeError
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
	c.Model.Precision = precisionFloat32
	want := losses(mustTrain(t, c, Data{Train: d}, Options{Dir: t.TempDir(), Backend: cpu.New(1)}))
	c.Model.Precision = precisionAuto
	got := losses(mustTrain(t, c, Data{Train: d}, Options{Dir: t.TempDir(), Backend: emulatedCard(t)}))
	for i := range want {
		if !(math.Abs(got[i]-want[i]) <= 0.03*math.Abs(want[i])) {
			t.Errorf("loss of step %d: %v on the card, %v in float32 on the processor", i+1, got[i], want[i])
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
	if err != nil {
		t.Fatal(err)
	}
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

func emulatedCard(t *testing.T) *cuda.Backend {
	t.Helper()
	t.Setenv(cuda.LibrariesVariable, emu.Build(t))
	b, err := cuda.Open(0)
	if err != nil {
		t.Fatal(err)
	}
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
		t.Fatalf("tensors %v on the card, %v on the processor", got.Names(), want.Names())
	}
	for _, name := range want.Names() {
		if dtype, _, err := want.Shape(name); err != nil || dtype != "F32" {
			continue
		}
		w, errW := want.Float32(name)
		g, errG := got.Float32(name)
		if err := errors.Join(errW, errG); err != nil || len(g) != len(w) {
			t.Fatalf("%s: %d elements on the card, %d on the processor, %v", name, len(g), len(w), err)
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
	list, err := checkpoints(dir)
	if err != nil || len(list) == 0 {
		t.Fatalf("%d checkpoints, %v", len(list), err)
	}
	f, err := tensorfile.OpenSafetensors(filepath.Join(list[len(list)-1], modelFile))
	if err != nil {
		t.Fatal(err)
	}
	return f
}
