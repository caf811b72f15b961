package main

import (
	"strings"
	"testing"

	"hgld/train/device/cuda"
	"hgld/train/device/testing/emu"
)

// The driver and the card can be there, and kernels fail all the same.
func TestDoctorRunsAKernel(t *testing.T) {
	libs := emu.Build(t)
	t.Setenv(cuda.LibrariesVariable, libs)
	if out := must(t, "doctor"); !strings.Contains(out, "ok cuda           cuda:0 hgld emulator, compute capability 8.0") {
		t.Errorf("a sound card:\n%s", out)
	}
	emu.Open(t, libs).Fail("cuModuleLoadDataEx:1:221")
	out := must(t, "doctor")
	for _, want := range []string{
		"-  cuda           cuda:0 hgld emulator",
		"but a kernel fails: cuda: Fill: cuModuleLoadDataEx: CUDA_ERROR_JIT_COMPILER_NOT_FOUND",
		"libnvidia-ptxjitcompiler.so.1 is a part of NVIDIA's driver",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}
