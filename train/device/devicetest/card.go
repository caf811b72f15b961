package devicetest

import (
	"os"
	"testing"

	"hgld/train/device"
	"hgld/train/device/cuda"
)

// CardVariable makes tests compute on the first card instead of the processor or the
// emulator. scripts/gpu_check.sh sets it.
const CardVariable = "HGLD_GPU_CHECK"

// OnCard reports whether tests are to compute on a card.
func OnCard() bool { return os.Getenv(CardVariable) != "" }

// Card opens the first card with poisoned memory, and closes it when the test ends. A
// card that cannot be opened, or that has failed by then, fails the test.
func Card(t testing.TB) *cuda.Backend {
	t.Helper()
	b, err := cuda.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	b.Poison = true
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// CardOr returns the card where tests are to compute on one, and b otherwise. Arrays are
// freed with the card at the end of the test, so a test with many large cases asks for
// it in each.
func CardOr(t testing.TB, b device.Backend) device.Backend {
	t.Helper()
	if OnCard() {
		return Card(t)
	}
	return b
}
