package conformance

import (
	"os"
	"testing"

	"hgld/train/device"
	"hgld/train/device/cuda"
)

// CardVariable selects the first GPU for tests instead of the CPU or the emulator.
// scripts/gpu_check sets it.
const CardVariable = "HGLD_GPU_CHECK"

// OnCard reports whether tests run on a GPU.
func OnCard() bool { return os.Getenv(CardVariable) != "" }

// Card opens the first GPU with poisoned memory and closes it when the test ends. It fails
// the test if the GPU cannot be opened, or if it has failed by the end. The test's log tells what
// NVIDIA's libraries leave to hgld's own kernels.
func Card(t testing.TB) *cuda.Backend {
	t.Helper()
	b, err := cuda.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	b.Poison = true
	b.Log = func(text string) { t.Log(text) }
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// CardOr returns the GPU if tests run on one, and b otherwise. The end of the test frees the
// GPU and its arrays, so a test with many large cases calls CardOr for each case.
func CardOr(t testing.TB, b device.Backend) device.Backend {
	t.Helper()
	if OnCard() {
		return Card(t)
	}
	return b
}
