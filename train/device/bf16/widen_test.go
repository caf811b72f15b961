package bf16

import (
	"testing"

	"hgld/internal/testing/effort"
	"hgld/train/device"
	"hgld/train/device/cpu"
	"hgld/train/device/testing/conformance"
)

// A processor passes the tests of every backend in the short types too. In F16, which the same code
// widens, a few operations decide.
func TestConformance(t *testing.T) {
	var few []string
	if !effort.Exhaustive() {
		few = []string{"Upload", "Copy", "MatMul", "Axpby", "Sums", "ScatterAdd", "Adam", "Pool", "Norm"}
	}
	for short, ops := range map[device.DType][]string{device.BF16: nil, device.F16: few} {
		t.Run(short.String(), func(t *testing.T) { conformance.RunOps(t, Backend(cpu.New(2)), short, ops...) })
	}
}

// A backend that has both types is not wrapped.
func TestBackendWithBothTypesIsNotWrapped(t *testing.T) {
	b := Backend(cpu.New(1))
	if again := Backend(b); again != b {
		t.Error("a backend with every type was wrapped")
	}
}
