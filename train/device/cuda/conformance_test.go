package cuda_test

import (
	"testing"

	"hgld/train/device/cuda"
	"hgld/train/device/cuda/emu"
	"hgld/train/device/devicetest"
)

// card is a backend on the emulator, whose operations can be made to fail.
type card struct {
	*cuda.Backend
	emulator *emu.Control
}

// FailNext makes the next kernel fail as one that reads where nothing is.
func (c card) FailNext() { c.emulator.Fail("cuLaunchKernel:1:700") }

// open opens a backend on the emulator. A test that needs what a card has not is
// skipped where tests are to compute on one.
func open(t *testing.T) card {
	t.Helper()
	if devicetest.OnCard() {
		t.Skip("needs the emulator: $" + devicetest.CardVariable + " is set")
	}
	libs := emu.Build(t)
	t.Logf("emulator in %s", libs)
	t.Setenv(cuda.LibrariesVariable, libs)
	control := emu.Open(t, libs)
	b, err := cuda.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() }) // a failure, which a test may have asked for, ends with the context
	return card{b, control}
}

// emulated is open for a test in which nothing may fail and which may compute on a card
// as well.
func emulated(t *testing.T) *cuda.Backend {
	t.Helper()
	if devicetest.OnCard() {
		b := devicetest.Card(t)
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

// emulatedWork is about what a case may cost on the emulator, at some nanoseconds for
// each product.
const emulatedWork = 1 << 20

func TestConformance(t *testing.T) {
	if devicetest.OnCard() {
		devicetest.Run(t, devicetest.Card(t))
		return
	}
	c := open(t)
	c.Poison = true
	devicetest.RunWithin(t, c, devicetest.Limits{Work: emulatedWork})
}

func TestGoldenLayers(t *testing.T) { devicetest.Goldens(t, emulated(t)) }
