package nn_test

import (
	"encoding/binary"
	"math"
	"testing"

	"hgld/internal/tensorfile"
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

func upload(b device.Backend, values []float32, dims ...int) device.Array {
	a := device.New(b, device.F32, dims...)
	put(b, a, values)
	return a
}

func put(b device.Backend, a device.Array, values []float32) {
	data := make([]byte, 0, 4*len(values))
	for _, v := range values {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	b.Upload(a, data)
}

func download(tb testing.TB, b device.Backend, a device.Array) []float32 {
	tb.Helper()
	data := make([]byte, 4*a.Len())
	b.Download(data, a)
	if err := b.Sync(); err != nil {
		tb.Fatal(err)
	}
	values := make([]float32, a.Len())
	for i := range values {
		values[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return values
}

// gradients exports the gradients of everything in s in the layout of files: they
// take the place of the values for as long as it needs.
func gradients(tb testing.TB, s *nn.Store, b device.Backend) map[string][]float32 {
	tb.Helper()
	for _, g := range s.Groups {
		old := device.New(b, device.F32, g.Values.Len())
		b.Copy(old, g.Values)
		b.Copy(g.Values, g.Grads)
		defer b.Copy(g.Values, old)
	}
	return values(tb, s, b)
}

// values exports everything in s.
func values(tb testing.TB, s *nn.Store, b device.Backend) map[string][]float32 {
	tb.Helper()
	tensors, err := s.Export(b)
	if err != nil {
		tb.Fatal(err)
	}
	all := map[string][]float32{}
	for _, t := range tensors {
		if all[t.Name], err = t.Float32(); err != nil {
			tb.Fatal(err)
		}
	}
	return all
}

// channelsLast turns [N,C,H,W] into [N,H,W,channels], the added ones zero.
func channelsLast(x []float32, dims []int, channels int) ([]float32, []int) {
	n, c, h, w := dims[0], dims[1], dims[2], dims[3]
	y := make([]float32, n*h*w*channels)
	each(n, c, h, w, channels, func(first, last int) { y[last] = x[first] })
	return y, []int{n, h, w, channels}
}

// channelsFirst turns [N,H,W,channels] into [N,C,H,W] with dims of the latter.
func channelsFirst(x []float32, dims []int, channels int) []float32 {
	n, c, h, w := dims[0], dims[1], dims[2], dims[3]
	y := make([]float32, n*c*h*w)
	each(n, c, h, w, channels, func(first, last int) { y[first] = x[last] })
	return y
}

func each(n, c, h, w, channels int, visit func(first, last int)) {
	i := 0
	for ni := range n {
		for ci := range c {
			for p := range h * w {
				visit(i, (ni*h*w+p)*channels+ci)
				i++
			}
		}
	}
}

// distance is the relative L2 distance of got from want.
func distance(got, want []float32) float64 {
	if len(got) != len(want) {
		return math.Inf(1)
	}
	diff, norm := 0.0, 0.0
	for i, v := range want {
		d := float64(got[i]) - float64(v)
		diff += d * d
		norm += float64(v) * float64(v)
	}
	if diff == 0 {
		return 0
	}
	return math.Sqrt(diff / norm)
}

func near(tb testing.TB, what string, got, want []float32, tolerance float64) {
	tb.Helper()
	if d := distance(got, want); !(d <= tolerance) {
		tb.Errorf("%s: relative error %.3g, tolerance %g", what, d, tolerance)
	}
}

// tensor makes a tensor for Import.
func tensor(name string, values []float32, dims ...int) tensorfile.Tensor {
	return tensorfile.NewF32(name, dims, values)
}
