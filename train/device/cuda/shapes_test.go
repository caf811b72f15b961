package cuda_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"hgld/train/device"
	"hgld/train/device/cuda"
	"hgld/train/device/testing/conformance"
)

// shapes are what a training of a ResNet asks of NVIDIA's libraries, each in one convolution: a 1×1 with stride, a 1×1
// with residual, a 3×3 with stride, a gradient by x with a mask, gradients by w, of which one is a product, and groups.
var shapes = []struct {
	name                string
	side, c, k, r       int
	shape               device.ConvShape
	bias, residual, act bool
	gradX, gradW        bool
}{
	{name: "1x1 with stride", side: 14, c: 64, k: 128, r: 1, shape: device.ConvShape{StrideH: 2, StrideW: 2},
		bias: true},
	{name: "1x1 with residual", side: 14, c: 64, k: 128, r: 1, bias: true, residual: true, act: true},
	{name: "3x3 with stride", side: 14, c: 64, k: 64, r: 3,
		shape: device.ConvShape{StrideH: 2, StrideW: 2, PadH: 1, PadW: 1}, bias: true, act: true},
	{name: "gradient by x with mask", side: 14, c: 64, k: 64, r: 3, shape: device.ConvShape{PadH: 1, PadW: 1},
		gradX: true},
	{name: "gradient by w as a product", side: 14, c: 64, k: 128, r: 1, gradW: true},
	{name: "gradient by w", side: 14, c: 64, k: 64, r: 3, shape: device.ConvShape{PadH: 1, PadW: 1}, gradW: true},
	{name: "groups", side: 14, c: 64, k: 64, r: 3, shape: device.ConvShape{PadH: 1, PadW: 1, Groups: 4}},
}

// The libraries' convolutions in bfloat16 are those of hgld's own kernels, but for the order of their sums and one
// rounding. The log has cuDNN's plans.
func TestShapesOfCuDNN(t *testing.T) {
	var b *cuda.Backend
	images := 1
	if conformance.OnCard() {
		b, images = conformance.Card(t), 32
	} else {
		b = openVendor(t, "bfloat16").Backend
	}
	if !b.HasConvolutions() {
		if !conformance.OnCard() {
			t.Fatal("the imitation of cuDNN is not used")
		}
		t.Skip("this machine has no cuDNN")
	}
	var told []string
	b.Log = func(text string) { told = append(told, text) }
	for _, s := range shapes {
		t.Run(s.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, uint64(len(s.name))))
			array := func(scale float32, dims ...int) device.Array { return randomBF16(b, r, scale, dims...) }
			out := (s.side+2*s.shape.PadH-s.r)/max(s.shape.StrideH, 1) + 1
			groups := max(s.shape.Groups, 1)
			x, y := array(1, images, s.side, s.side, s.c), array(1, images, out, out, s.k)
			w := array(float32(1/math.Sqrt(float64(s.r*s.r*s.c/groups))), s.k, s.r, s.r, s.c/groups)
			dw, bias := device.New(b, device.F32, w.Shape()...), device.New(b, device.F32, s.k)
			residual := array(1, images, out, out, s.k)
			b.Fill(bias, 0.25)
			compute := func(library bool) []float32 {
				b.UseLibraries(library)
				defer b.UseLibraries(true)
				switch {
				case s.gradX:
					dx := device.New(b, device.BF16, x.Shape()...)
					b.ConvGradX(dx, y, w, s.shape, device.GradEpilogue{Mask: x})
					return floats(t, b, dx)
				case s.gradW:
					b.ConvGradW(dw, y, x, s.shape, 0)
					return floats(t, b, dw)
				}
				to, e := device.New(b, device.BF16, y.Shape()...), device.Epilogue{}
				if s.bias {
					e.Bias = bias
				}
				if s.residual {
					e.Residual = residual
				}
				if s.act {
					e.Act = device.ReLU
				}
				b.Conv(to, x, w, s.shape, e)
				return floats(t, b, to)
			}
			got, want := compute(true), compute(false)
			limit := 0x1p-9 // most elements round to the same number of bfloat16, or are rounded by cuDNN alone
			if s.gradW && s.r == 1 {
				limit = 1e-4
			}
			if d := distance(got, want); !(d <= limit) {
				t.Errorf("the library's result is off by %.2g of its size, allowed is %.2g", d, limit)
			}
		})
	}
	for _, text := range told {
		t.Errorf("the libraries did not compute all: %s", text)
	}
	plans := b.ConvolutionPlans()
	t.Logf("cuDNN's plans:\n%s", plans)
	if n := strings.Count(plans, "engine "); n != len(shapes)-1 || n != strings.Count(plans, "[tensor cores") {
		t.Errorf("%d plans are of the graph API and use tensor cores, want %d", n, len(shapes)-1)
	}
}

// cuDNN's attention agrees with F32 as our kernels do, and repeats its bytes: with few images any algorithm would.
func TestShapesOfCuDNNsAttention(t *testing.T) {
	var b *cuda.Backend
	images, tokens, heads := 2, 70, 2
	if conformance.OnCard() {
		b, images, tokens, heads = conformance.Card(t), 64, 197, 12
	} else {
		b = openVendor(t, "bfloat16").Backend
		b.Hopper()
	}
	if !b.HasConvolutions() {
		t.Skip("this machine has no cuDNN")
	}
	d, o := heads*64, device.Heads{Heads: heads}
	qkv, dy := drawn(b, 1, images, tokens, 3*d), drawn(b, 2, images, tokens, d)
	y, dqkv := drawn(b, 3, images, tokens, d), drawn(b, 4, images, tokens, 3*d)
	lse := pair{device.New(b, device.F32, images, heads, tokens), device.New(b, device.F32, images, heads, tokens)}
	b.Attention(y.full, lse.full, qkv.full, device.Array{}, o)
	b.AttentionGrad(dqkv.full, dy.full, y.full, lse.full, qkv.full, device.Array{}, o)
	var first string
	for range 4 {
		b.Attention(y.short, lse.short, qkv.short, device.Array{}, o)
		b.AttentionGrad(dqkv.short, dy.short, y.short, lse.short, qkv.short, device.Array{}, o)
		var all []byte
		for _, a := range []device.Array{y.short, lse.short, dqkv.short} {
			all = append(all, download(t, b, a)...)
		}
		if first == "" {
			first = string(all)
		}
		if first != string(all) {
			t.Fatal("the same attention has other bytes when it is repeated")
		}
	}
	y.within(t, b, "y", attentionDifference)
	dqkv.within(t, b, "gradient", attentionDifference)
	lse.within(t, b, "lse", lseDifference)
	plans := b.ConvolutionPlans()
	t.Logf("cuDNN's plans:\n%s", plans)
	if n := strings.Count(plans, "engine "); n != 2 && !conformance.OnCard() {
		t.Errorf("%d plans are cuDNN's, want those of an attention and of its gradient", n)
	}
}

// randomBF16 makes an array of normal numbers.
func randomBF16(b *cuda.Backend, r *rand.Rand, scale float32, dims ...int) device.Array {
	short, full := device.New(b, device.BF16, dims...), device.New(b, device.F32, dims...)
	v := make([]float32, full.Len())
	for i := range v {
		v[i] = scale * float32(r.NormFloat64())
	}
	b.Upload(full, numbers(v...))
	b.Copy(short, full)
	b.Free(full.Buf)
	return short
}

// floats downloads an array as float32.
func floats(t *testing.T, b *cuda.Backend, a device.Array) []float32 {
	t.Helper()
	full := device.New(b, device.F32, a.Shape()...)
	b.Copy(full, a)
	data := download(t, b, full)
	b.Free(full.Buf)
	out := make([]float32, full.Len())
	for i := range out {
		out[i] = math.Float32frombits(binary.NativeEndian.Uint32(data[4*i:]))
	}
	return out
}

// distance is the root of the squared differences over that of the squares.
func distance(got, want []float32) float64 {
	var apart, size float64
	for i, w := range want {
		d := float64(got[i]) - float64(w)
		apart, size = apart+d*d, size+float64(w)*float64(w)
	}
	return math.Sqrt(apart / size)
}
