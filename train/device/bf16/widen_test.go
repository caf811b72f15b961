package bf16

import (
	"testing"

	"hgld/internal/testing/effort"
	"hgld/train/device"
	"hgld/train/device/cpu"
	"hgld/train/device/testing/conformance"
)

// A processor passes the tests of every backend in the short types too. What computes is the float32 backend, which
// passes them all, so operations with every use of an array decide: one that is read, written, added to, absent, or in
// the settings.
func TestConformance(t *testing.T) {
	var few []string
	if !effort.Exhaustive() {
		few = []string{"Upload", "Copy", "MatMul", "Axpby", "Sums", "ScatterAdd", "Adam", "Pool", "Norm", "LayerNorm",
			"ReluGrad", "Pixels"}
	}
	for _, short := range []device.DType{device.BF16, device.F16} {
		t.Run(short.String(), func(t *testing.T) { conformance.RunOps(t, Backend(cpu.New(2)), short, few...) })
	}
}

// A backend that has both types is not wrapped.
func TestBackendWithBothTypesIsNotWrapped(t *testing.T) {
	b := Backend(cpu.New(1))
	if again := Backend(b); again != b {
		t.Error("a backend with every type was wrapped")
	}
}
