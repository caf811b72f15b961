// Package traces reads goldens/trace for the tests of several packages: trainings of
// a small net with few steps, recorded from a framework. Its net has a
// backbone.Convnet with GeM and LayerNorm, and 32 images of 16×16.
package traces

import (
	"cmp"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hgld/internal/goldens"
	"hgld/internal/tensorfile"
)

// Tolerances that goldens/trace advises; torch in float32 is a tenth of them away.
const (
	FirstLoss = 1e-5
	FirstGrad = 1e-4
	Later     = 1e-3
	Params    = 1e-4
)

// Case is a training.
type Case struct {
	Name, Seed, Loss, BN string // BN is the mode of BatchNorm: train or frozen
	// Optimizer has the rule and its rates.
	Optimizer struct {
		Kind        string
		LR          float64
		HeadMult    float64 `json:"head_mult"`
		WeightDecay float64 `json:"weight_decay"`
		ProxyLR     float64 `json:"proxy_lr"`
		Freeze      int     `json:"freeze_backbone_steps"`
	}
	Steps  int       // optimizer steps
	Parts  []string  `json:"loss_parts"`         // terms of the loss
	Losses []float64 `json:"loss_per_step"`      // before each step
	Norms  []float64 `json:"grad_norm_per_step"` // of the whole gradient
}

// Open reads cases.json into cases and opens the arrays beside it.
func Open(t *testing.T, cases any) *tensorfile.File {
	t.Helper()
	dir := goldens.Dir(t, "trace")
	goldens.ReadJSON(t, filepath.Join(dir, "cases.json"), cases)
	f, err := tensorfile.OpenSafetensors(filepath.Join(dir, "trace.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// Loss is our name of a loss: the roadmap of the traces is calibrated by a
// contrastive term, unless its parts name clusters.
func Loss(name string, parts ...string) string {
	if slices.Contains(parts, "cluster") {
		return name
	}
	return cmp.Or(map[string]string{"roadmap": "roadmap-calibration"}[name], name)
}

// Rule is our name of an optimizer.
func Rule(kind string) string {
	return map[string]string{"adam": "adam", "adamw": "adamw", "sgd nesterov 0.9": "sgd"}[kind]
}

// Tensor is the traces' name of a tensor of ours.
func Tensor(name string) string {
	name = strings.TrimPrefix(strings.TrimPrefix(name, "backbone."), "loss.")
	return strings.Replace(name, "pooling.", "pool.", 1)
}

// Start replaces tensors, as a store exports them, by those that the trace of a
// seed starts from. Those that own is true of are left as they are.
func Start(t *testing.T, f *tensorfile.File, seed string, tensors []tensorfile.Tensor,
	own func(tensorfile.Tensor) bool) {
	t.Helper()
	for i, have := range tensors {
		if own(have) {
			continue
		}
		x, err := f.Tensor("init." + seed + "/" + Tensor(have.Name))
		if err != nil {
			t.Fatal(err)
		}
		x.Name = have.Name
		tensors[i] = x
	}
}

// Within compares a number of a step relatively.
func Within(t *testing.T, what string, step int, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*math.Abs(want)) {
		t.Errorf("%s of step %d: %v, want %v", what, step, got, want)
	}
}
