package cuda_test

import (
	"testing"

	"hgld/train/device/cuda"
	"hgld/train/device/cuda/emu"
	"hgld/train/device/devicetest"
)

// emulated opens a backend on the emulator.
func emulated(t *testing.T) *cuda.Backend {
	t.Helper()
	libs := emu.Build(t)
	t.Logf("emulator in %s", libs)
	t.Setenv(cuda.LibrariesVariable, libs)
	card := emu.Open(t, libs)
	b, err := cuda.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("%v: %s", err, card.LastError())
		}
	})
	return b
}

func TestConformance(t *testing.T) {
	b := emulated(t)
	b.Poison = true
	devicetest.Run(t, b)
}

func TestGoldenLayers(t *testing.T) {
	devicetest.Goldens(t, emulated(t))
}
