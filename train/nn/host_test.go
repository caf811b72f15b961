package nn_test

import (
	"encoding/binary"
	"math"
	"testing"

	"hgld/internal/tensorfile"
	"hgld/internal/testing/must"
	"hgld/train/device"
	"hgld/train/device/cpu"
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
	must.Do(tb, b.Sync())
	values := make([]float32, a.Len())
	for i := range values {
		values[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return values
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

// tensor makes a tensor for Import.
func tensor(name string, values []float32, dims ...int) tensorfile.Tensor {
	return tensorfile.NewF32(name, dims, values)
}
