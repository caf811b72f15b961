//go:build emulator

package emu

import (
	"os"
	"os/exec"
	"testing"
)

// underASan runs tests of this package in a process with the address sanitizer.
func underASan(t *testing.T, tests string, env ...string) (string, error) {
	t.Helper()
	libs, preload := BuildASan(t, "testdata")
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run="+tests, "-test.v", "-test.timeout=300s")
	cmd.Env = append(os.Environ(), "HGLD_EMU_TEST_LIBS="+libs, "LD_PRELOAD="+preload, "ASAN_OPTIONS=detect_leaks=0")
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestCorrectKernelsPassTheAddressSanitizer(t *testing.T) {
	out, err := underASan(t, "^(TestKernelsRunInEveryOrder|TestLanesExchangeValues|TestCoordinatesOfThreeDimensions|"+
		"TestCaptureAndReplay|TestCopiesAndFills|TestDivergentBarrierIsAnError|TestFreedMemoryIsInaccessibleToKernels)$")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	contains(t, out, "--- PASS: TestKernelsRunInEveryOrder", "--- PASS: TestCaptureAndReplay",
		"--- PASS: TestDivergentBarrierIsAnError")
}

// TestFaultForASan is run by the test below in a process of its own.
func TestFaultForASan(t *testing.T) {
	switch os.Getenv("HGLD_EMU_FAULT") {
	case "past the end":
		d := open(t, "forward", "no_bound u64 u64")
		d.run(0, "no_bound", 1, 11, d.alloc(10), d.upload(counting(1)))
		d.ok("cuCtxSynchronize")
	case "before the start":
		d := open(t, "forward", scaleF32)
		d.run(0, "scale_f32", 1, 1, d.alloc(1), d.upload(counting(1))-4, float32(1), int64(1))
		d.ok("cuCtxSynchronize")
	case "shared":
		d := open(t, "forward", "shared_overrun u64 u32")
		d.run(0, "shared_overrun", 1, 1, d.alloc(1), int32(65))
		d.ok("cuCtxSynchronize")
	case "local":
		d := open(t, "forward", "local_overrun u64 u32")
		d.run(0, "local_overrun", 1, 256, d.alloc(256), int32(9))
		d.ok("cuCtxSynchronize")
	}
}

func TestAddressSanitizerFindsSmallOverruns(t *testing.T) {
	for fault, parts := range map[string][]string{
		"past the end":     {"use-after-poison", "WRITE of size 4", "no_bound", "faults.cu:"},
		"before the start": {"use-after-poison", "READ of size 4", "scale_f32", "basic.cu:"},
		"shared":           {"use-after-poison", "WRITE of size 4", "shared_overrun", "faults.cu:"},
		"local":            {"stack-buffer-overflow", "local_overrun", "faults.cu:"},
	} {
		t.Run(fault, func(t *testing.T) {
			out, err := underASan(t, "^TestFaultForASan$", "HGLD_EMU_FAULT="+fault)
			if err == nil {
				t.Fatalf("the process ended well:\n%s", out)
			}
			contains(t, out, parts...)
		})
	}
}
