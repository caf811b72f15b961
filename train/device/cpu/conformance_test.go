package cpu_test

import (
	"testing"

	"hgld/internal/blas"
	"hgld/internal/testing/must"
	"hgld/train/device"
	"hgld/train/device/cpu"
	"hgld/train/device/testing/conformance"
)

func TestConformance(t *testing.T) {
	b := cpu.New(2)
	b.Poison = true
	conformance.Run(t, b)
}

// Everything that uses a BLAS must pass with each available one, of which TestConformance has the default.
func TestConformanceOfEveryBLAS(t *testing.T) {
	usual := must.Get(blas.Default())(t)
	for _, name := range []string{"gonum", "native", "openblas"} {
		lib, err := blas.Open(name)
		if err != nil || lib.String() == usual.String() {
			t.Logf("%s is left out: %v", name, err)
			continue
		}
		t.Run(name, func(t *testing.T) {
			b := cpu.NewWith(2, lib)
			b.Poison = true
			conformance.RunOps(t, b, device.F32, "MatMul", "Conv")
		})
	}
}

func TestBackendReportsABLASThatCannotBeOpened(t *testing.T) {
	t.Setenv(blas.Variable, "/nowhere/libopenblas.so")
	if err := cpu.New(1).Sync(); err == nil {
		t.Error("no error")
	}
}
