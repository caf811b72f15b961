package backbone_test

import (
	"math"
	"testing"

	"hgld/internal/tensorfile"
	"hgld/train/backbone"
	"hgld/train/device"
	"hgld/train/device/cpu"
	"hgld/train/nn"
)

// backend is the CPU with poisoned memory: what reads an array that nothing wrote
// finds NaN.
func backend() device.Backend {
	b := cpu.New(0)
	b.Poison = true
	return b
}

func pooling(tb testing.TB, name string) backbone.Pooling {
	tb.Helper()
	p, err := backbone.Poolings.Get("pooling", name)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func standard(tb testing.TB, name string) nn.Layer {
	tb.Helper()
	s, err := backbone.Standards.Get("standard", name)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func read(t *testing.T, f *tensorfile.File, name string) []float64 {
	t.Helper()
	v, err := f.Float64(name)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// uploadImages takes [N,3,H,W] to [N,H,W,4].
func uploadImages(b device.Backend, x []float64, n, c, h, w int) device.Array {
	y := make([]float64, n*h*w*nn.ImageChannels)
	for i, v := range x {
		image, channel, place := i/(c*h*w), i/(h*w)%c, i%(h*w)
		y[(image*h*w+place)*nn.ImageChannels+channel] = v
	}
	a := device.New(b, device.F32, n, h, w, nn.ImageChannels)
	put(b, a, y)
	return a
}

// values exports everything in s, by name.
func values(t *testing.T, s *nn.Store, b device.Backend) map[string][]float64 {
	t.Helper()
	tensors, err := s.Export(b)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]float64{}
	for _, x := range tensors {
		if all[x.Name], err = x.Float64(); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// gradients exports the gradients in the layout of files: they take the place of
// the values for as long as it needs.
func gradients(t *testing.T, s *nn.Store, b device.Backend) map[string][]float64 {
	t.Helper()
	for _, g := range s.Groups {
		old := device.New(b, device.F32, g.Values.Len())
		b.Copy(old, g.Values)
		b.Copy(g.Values, g.Grads)
		defer b.Copy(g.Values, old)
	}
	return values(t, s, b)
}

// near compares in relative L2.
func near(t *testing.T, what string, got, want []float64, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d values, want %d", what, len(got), len(want))
		return
	}
	diff, norm := 0.0, 0.0
	for i, v := range want {
		diff += (got[i] - v) * (got[i] - v)
		norm += v * v
	}
	if diff = math.Sqrt(diff); !(diff <= tolerance*math.Sqrt(norm)) {
		t.Errorf("%s: off by %.3g of %.3g, tolerance %g", what, diff, math.Sqrt(norm), tolerance)
	}
}
