package backbone_test

import (
	"testing"

	"hgld/internal/tensorfile"
	"hgld/internal/testing/must"
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
	must.Do(tb, err)
	return p
}

func standard(tb testing.TB, name string) nn.Layer {
	tb.Helper()
	s, err := backbone.Standards.Get("standard", name)
	must.Do(tb, err)
	return s
}

func read(t *testing.T, f *tensorfile.File, name string) []float64 {
	t.Helper()
	v, err := f.Float64(name)
	must.Do(t, err)
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
