//go:build emulator

package cuda_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hgld/internal/testing/effort"
	"hgld/internal/testing/goldens"
	"hgld/train/device/cuda"
	"hgld/train/device/testing/conformance"
	"hgld/train/device/testing/emu"
)

// Threads and blocks run in any order on a GPU, and results must not depend on it. TestConformance runs
// them forward.
func TestConformanceInOtherOrders(t *testing.T) {
	orders, limits := []string{"shuffled:7"}, conformance.Limits{Work: 1 << 16}
	if effort.Exhaustive() {
		orders, limits = []string{"reversed", "shuffled:7", "shuffled:8"}, conformance.Limits{Work: emulatedWork}
	}
	for _, order := range orders {
		t.Run(order, func(t *testing.T) {
			c := open(t)
			c.emulator.Order(order)
			conformance.RunWithin(t, c, limits)
		})
	}
}

// Kernels access only the memory that they were given: every operation runs under the address
// sanitizer, in a separate process. Attention of BF16 has kernels of its own.
func TestConformanceUnderTheAddressSanitizer(t *testing.T) {
	libs, preload := emu.BuildASan(t, goldens.Root()+"/train/device/cuda")
	conformsWith(t, libs, "^TestConformance$/^(F32|Rank)$|^TestConformance$/^BF16$/^Attention$",
		[]string{"TestConformance/F32/Conv", "TestConformance/BF16/Attention"},
		"LD_PRELOAD="+preload, "ASAN_OPTIONS=detect_leaks=0")
}

// A GPU runs the PTX, while the emulator usually compiles the source. Kernels translated from the
// committed PTX conform too, all their accesses are aligned, and neither threads nor blocks race.
func TestConformanceOfTheCommittedPTX(t *testing.T) {
	const tabled = "TestTabledActivationsGiveTheBytesOfComputedOnes" // of arrays larger than those of the suite
	tests := "^(TestConformance|" + tabled + ")$"
	if !effort.Exhaustive() {
		tests += "/^(F32|BF16|Rank)$" // the others are about the host's side
	}
	conformsWith(t, emu.BuildPTX(t), tests, []string{
		"TestConformance/F32/Conv", "TestConformance/BF16/Conv", "TestConformance/Rank/RankLoss", tabled,
	})
}

// The lines of the committed PTX access memory in few wavefronts and sectors: see TestHotAccesses.
func TestAccessesOfTheCommittedPTX(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), os.Args[0],
		"-test.run=^Test(HotAccesses|InstructionsOfRankLoss)$", "-test.v",
		"-test.timeout=60m")
	cmd.Env = append(os.Environ(), "HGLD_EMU_TEST_LIBS="+emu.BuildPTX(t), countVariable+"=1", smallVariable+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestHotAccesses") {
		t.Fatalf("%v\n%s", err, out[max(0, len(out)-8000):])
	}
	t.Logf("%s", out)
}

// The emulator's compiler and the one that makes the PTX must agree on every byte. Here an emulator of
// the PTX takes the place of the GPU that is compared with the source.
func TestThePTXGivesTheBytesOfTheSource(t *testing.T) {
	digests := digestsVariable + "=" + filepath.Join(t.TempDir(), "digests")
	libs := cuda.LibrariesVariable + "=" + emu.BuildPTX(t)
	for _, env := range [][]string{
		{digests}, // written
		{digests, libs, conformance.CardVariable + "=1", cuda.VendorVariable + "=off"},
	} {
		const name = "TestEveryOrderAndEveryCardGivesTheSameBytes"
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+name+"$", "-test.v", "-test.timeout=60m")
		cmd.Env = append(os.Environ(), env...)
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+name) {
			t.Fatalf("%v\n%s", err, out[max(0, len(out)-4000):])
		}
	}
}

// conformsWith runs tests of this package in a process with another build of the emulator. Those named must be
// among those that passed.
func conformsWith(t *testing.T, libs, pattern string, named []string, env ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run="+pattern, "-test.v", "-test.timeout=60m")
	cmd.Env = append(append(os.Environ(), "HGLD_EMU_TEST_LIBS="+libs), env...)
	out, err := cmd.CombinedOutput()
	for _, name := range named {
		if err != nil || !strings.Contains(string(out), "--- PASS: "+name) {
			t.Fatalf("%v\n%s", err, out[max(0, len(out)-4000):])
		}
	}
}
