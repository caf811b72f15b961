// Package traces reads goldens/trace for the tests of several packages. They record short
// trainings of a small network in another framework. The network is a backbone.Convnet with
// GeM and LayerNorm. The data is 32 images of 16×16 pixels.
package traces

import (
	"cmp"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hgld/internal/tensorfile"
	"hgld/internal/testing/goldens"
)

// Tolerances that goldens/trace recommends. float32 torch deviates by a tenth of them.
const (
	FirstLoss = 1e-5
	FirstGrad = 1e-4
	Later     = 1e-3
	Params    = 1e-4
)

// Case is a recorded training.
type Case struct {
	Name, Seed, Loss, BN string // BN is the mode of BatchNorm: train or frozen
	// Optimizer holds the update rule and its rates.
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
	Losses []float64 `json:"loss_per_step"`      // loss before each step
	Norms  []float64 `json:"grad_norm_per_step"` // norm of the whole gradient before each step
}

// Open reads cases.json into cases and opens the file of arrays beside it.
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

// Loss returns this project's name of a recorded loss. The traces calibrate roadmap by a
// contrastive term, unless its parts name clusters.
func Loss(name string, parts ...string) string {
	if slices.Contains(parts, "cluster") {
		return name
	}
	return cmp.Or(map[string]string{"roadmap": "roadmap-calibration"}[name], name)
}

// Rule returns this project's name of an optimizer.
func Rule(kind string) string {
	return map[string]string{"adam": "adam", "adamw": "adamw", "sgd nesterov 0.9": "sgd"}[kind]
}

// Tensor returns the traces' name of one of this project's tensors.
func Tensor(name string) string {
	name = strings.TrimPrefix(strings.TrimPrefix(name, "backbone."), "loss.")
	return strings.Replace(name, "pooling.", "pool.", 1)
}

// Start replaces exported tensors with the initial values of a seed's trace. It keeps the
// tensors for which own returns true.
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

// Within checks the relative error of a number at a step.
func Within(t *testing.T, what string, step int, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*math.Abs(want)) {
		t.Errorf("%s of step %d: %v, want %v", what, step, got, want)
	}
}
