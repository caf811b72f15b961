package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/train/device/cuda"
	"hgld/train/device/testing/emu"
)

// doctorWith runs hgld doctor on the emulated GPU in a process of its own: a library that is loaded stays, and later
// tests would compute on that GPU.
func doctorWith(t *testing.T, libs string, env ...string) string {
	t.Helper()
	self := must.Get(os.Executable())(t)
	cmd := &exec.Cmd{Path: self, Args: []string{"hgld", "doctor"}, Dir: t.TempDir()}
	cmd.Env = append(append(os.Environ(), cuda.LibrariesVariable+"="+libs), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// The driver and the GPU can be there, and kernels fail all the same.
func TestDoctorRunsAKernel(t *testing.T) {
	libs := emu.Build(t)
	out := doctorWith(t, libs)
	if !strings.Contains(out, "ok cuda           cuda:0 hgld emulator, compute capability 8.0") ||
		!strings.Contains(out, ", kernels for sm_80; driver ") {
		t.Errorf("a sound GPU:\n%s", out)
	}
	out = doctorWith(t, libs, "HGLD_EMU_FAIL=cuModuleLoadDataEx:1:221,cuModuleLoadDataEx:2:221")
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
