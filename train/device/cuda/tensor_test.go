package cuda_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"hgld/internal/half"
	"hgld/internal/testing/effort"
	"hgld/internal/testing/must"
	"hgld/train/device"
	"hgld/train/device/cuda"
)

// productDifference bounds the relative difference in L2 of two products of the same BF16
// numbers, both rounded to BF16: sums in another order (1e-6) now and then round to the other
// neighbour, 2⁻⁸ apart. A wrong element changes it by more.
const productDifference = 1e-3

// pair is an array in BF16 and the same numbers in F32.
type pair struct{ short, full device.Array }

// drawn returns normal numbers that are exact in BF16.
func drawn(b *cuda.Backend, seed uint32, dims ...int) (p pair) {
	p = pair{device.New(b, device.BF16, dims...), device.New(b, device.F32, dims...)}
	key := device.New(b, device.I32, 2)
	b.Upload(key, binary.LittleEndian.AppendUint64(nil, 7))
	b.Random(p.full, key, seed, device.Dist{Kind: device.Normal, B: 1})
	b.Copy(p.short, p.full)
	b.Copy(p.full, p.short)
	return p
}

// agree compares the results of the kernels for BF16 and for F32.
func (p pair) agree(t *testing.T, b *cuda.Backend, what string) {
	t.Helper()
	p.within(t, b, what, productDifference)
}

// within is agree with another bound.
func (p pair) within(t *testing.T, b *cuda.Backend, what string, bound float64) {
	t.Helper()
	rounded := device.New(b, p.short.Type, p.full.Shape()...)
	b.Copy(rounded, p.full)
	got, want := values(t, b, p.short), values(t, b, rounded)
	diff, norm := 0.0, 0.0
	for i := range got {
		if math.IsInf(want[i], -1) && got[i] == want[i] {
			continue
		}
		diff += (got[i] - want[i]) * (got[i] - want[i])
		norm += want[i] * want[i]
	}
	if !(math.Sqrt(diff) <= bound*math.Sqrt(norm)) || norm == 0 {
		t.Errorf("%s: relative difference %.2g of %.3g", what, math.Sqrt(diff/norm), math.Sqrt(norm))
	}
}

func values(t *testing.T, b *cuda.Backend, a device.Array) (v []float64) {
	t.Helper()
	data := make([]byte, a.Len()*a.Type.Size())
	must.Do(t, b.Wait(b.Download(data, a)))
	for ; len(data) > 0; data = data[a.Type.Size():] {
		if a.Type == device.BF16 {
			v = append(v, float64(half.BF16(binary.NativeEndian.Uint16(data))))
		} else {
			v = append(v, float64(math.Float32frombits(binary.NativeEndian.Uint32(data))))
		}
	}
	return v
}

// large makes products take tiles of 128. Unasked they do where there are 264 such tiles: if tests are
// exhaustive, large returns many, and otherwise it chooses them and returns few.
func large(t *testing.T, b *cuda.Backend, few, many int) int {
	if effort.Exhaustive() {
		return many
	}
	b.Choose(cuda.Choices{Tile: 128})
	return few
}

// The conformance suite's products have tiles of 64. Partial tiles of 128 and a step that is cut short
// are among these.
func TestLargeTilesOfMatricesAgreeWithF32(t *testing.T) {
	b := emulated(t)
	batch := large(t, b, 2, 66)
	const rows, cols, inner = 136, 130, 40
	for trans := range 4 {
		m := device.Mul{TransA: trans&1 != 0, TransB: trans&2 != 0, Alpha: 0.5, Act: device.GELU}
		x, y, out := drawn(b, 1, batch, rows, inner), drawn(b, 2, batch, inner, cols), drawn(b, 3, batch, rows, cols)
		if m.TransA {
			x = drawn(b, 1, batch, inner, rows)
		}
		if m.TransB {
			y = drawn(b, 2, batch, cols, inner)
		}
		b.MatMul(out.short, x.short, y.short, m)
		b.MatMul(out.full, x.full, y.full, m)
		out.agree(t, b, fmt.Sprintf("%+v", m))
	}
}

func TestLargeTilesOfConvolutionsAgreeWithF32(t *testing.T) {
	b := emulated(t)
	images, side, channels := large(t, b, 1, 4), large(t, b, 16, 64), large(t, b, 136, 16904)
	shape := device.ConvShape{PadH: 1, PadW: 1}
	x, w, y := drawn(b, 1, images, side, 66, 8), drawn(b, 2, 136, 3, 3, 8), drawn(b, 3, images, side, 66, 136)
	residual := drawn(b, 4, images, side, 66, 136)
	b.Conv(y.short, x.short, w.short, shape, device.Epilogue{Residual: residual.short, Act: device.ReLU})
	b.Conv(y.full, x.full, w.full, shape, device.Epilogue{Residual: residual.full, Act: device.ReLU})
	y.agree(t, b, "Conv")

	dx, dy, wx := drawn(b, 1, images, side, 66, 136), drawn(b, 2, images, side, 66, 8), drawn(b, 3, 8, 3, 3, 136)
	b.ConvGradX(dx.short, dy.short, wx.short, shape, device.GradEpilogue{Add: dx.short})
	b.ConvGradX(dx.full, dy.full, wx.full, shape, device.GradEpilogue{Add: dx.full})
	dx.agree(t, b, "ConvGradX")

	one := device.ConvShape{}
	px, py := drawn(b, 1, 1, 8, 9, channels), drawn(b, 2, 1, 8, 9, 136)
	dw := pair{device.New(b, device.F32, 136, 1, 1, channels), device.New(b, device.F32, 136, 1, 1, channels)}
	b.ConvGradW(dw.short, py.short, px.short, one, 0)
	b.ConvGradW(dw.full, py.full, px.full, one, 0)
	dw.agree(t, b, "ConvGradW")
}

// A stem computes pairs of pixels. The statistics of its result, joined in two stages, are those of a pass over it.
func TestStatisticsOfPairedPixelsAreThoseOfTheResult(t *testing.T) {
	b := emulated(t)
	const filters = 64
	x, w := drawn(b, 1, 1, 256, 260, 4), drawn(b, 2, filters, 1, 1, 4)
	y := device.New(b, device.BF16, 1, 128, 130, filters)
	got, want := device.New(b, device.F32, 2, filters), device.New(b, device.F32, 2, filters)
	none := device.Array{}
	b.Conv(y, x.short, w.short, device.ConvShape{StrideH: 2, StrideW: 2}, device.Epilogue{Stats: got})
	b.Norm(none, want, y, none, none, none, device.NormKind{})
	number := func(data []byte) float32 { return math.Float32frombits(binary.NativeEndian.Uint32(data)) }
	all, all2 := download(t, b, got), download(t, b, want)
	for i := 0; i < len(all); i += 4 {
		g, v := number(all[i:]), number(all2[i:])
		if d := float64(g - v); !(math.Abs(d) <= 0x1p-23*max(1, math.Abs(float64(v)))) { // sums in another order
			t.Errorf("statistic %d is %v, want %v", i/4, g, v)
		}
	}
}

// Kernels divide by a product and a shift. Multiples and their neighbours are where an inexact
// factor would show first.
func TestDivisionByAFactorIsExact(t *testing.T) {
	const end = 1 << 31
	r := rand.New(rand.NewPCG(1, 2))
	check := func(d uint32) {
		for _, q := range []uint32{0, 1, 2, 3, r.Uint32() % (end / d), r.Uint32() % (end / d), end/d - 1, end / d} {
			for _, n := range []uint32{q*d - 1, q * d, q*d + 1, q*d + d - 1, r.Uint32() % end, end - 1} {
				if n < end && cuda.Divide(n, d) != n/d {
					t.Fatalf("%d/%d = %d, want %d", n, d, cuda.Divide(n, d), n/d)
				}
			}
		}
	}
	for d := uint32(1); d < 1<<16; d++ {
		check(d)
		check(r.Uint32()%(end-1) + 1)
	}
	for shift := range 31 {
		for d := max(uint32(1)<<shift, 2) - 1; d <= 1<<shift+1; d++ {
			check(d)
		}
	}
	check(end - 1)
}
