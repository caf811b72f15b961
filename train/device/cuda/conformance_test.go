package cuda_test

import (
	"testing"

	"hgld/internal/testing/must"
	"hgld/train/device/cuda"
	"hgld/train/device/testing/conformance"
	"hgld/train/device/testing/emu"
)

// card is a backend on the emulator whose operations can be made to fail.
type card struct {
	*cuda.Backend
	emulator *emu.Control
}

// FailNext makes the next kernel fail like one with an invalid read.
func (c card) FailNext() { c.emulator.Fail("cuLaunchKernel:1:700") }

// open opens a backend on the emulator. If tests run on a GPU, it skips the test, since a
// card lacks the emulator's controls.
func open(t *testing.T) card {
	t.Helper()
	if conformance.OnCard() {
		t.Skip("needs the emulator: $" + conformance.CardVariable + " is set")
	}
	libs := emu.Build(t)
	t.Logf("emulator in %s", libs)
	t.Setenv(cuda.LibrariesVariable, libs)
	control := emu.Open(t, libs)
	b, err := cuda.Open(0)
	must.Do(t, err)
	t.Cleanup(func() { b.Close() }) // closing the context also clears a failure that the test provoked
	return card{b, control}
}

// emulated is open for a test that expects no failures and can also run on a GPU.
func emulated(t *testing.T) *cuda.Backend {
	t.Helper()
	if conformance.OnCard() {
		b := conformance.Card(t)
		b.Poison = false
		return b
	}
	c := open(t)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("%v: %s", err, c.emulator.LastError())
		}
	})
	return c.Backend
}

// emulatedWork bounds the work of a case on the emulator, which needs some nanoseconds per
// product.
const emulatedWork = 1 << 20

func TestConformance(t *testing.T) {
	if conformance.OnCard() {
		conformance.Run(t, conformance.Card(t))
		return
	}
	c := open(t)
	c.Poison = true
	conformance.RunWithin(t, c, conformance.Limits{Work: emulatedWork})
}
