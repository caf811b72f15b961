package bf16

import (
	"testing"

	"hgld/train/device"
	"hgld/train/device/cpu"
	"hgld/train/device/testing/conformance"
)

// A processor passes the tests of every backend in the short types too.
func TestConformance(t *testing.T) {
	for _, short := range []device.DType{device.BF16, device.F16} {
		t.Run(short.String(), func(t *testing.T) { conformance.RunOps(t, Backend(cpu.New(2)), short) })
	}
}

// A backend that has both types is not wrapped.
func TestBackendWithBothTypesIsNotWrapped(t *testing.T) {
	b := Backend(cpu.New(1))
	if again := Backend(b); again != b {
		t.Error("a backend with every type was wrapped")
	}
}
