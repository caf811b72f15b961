package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"hgld/internal/blas"
	"hgld/internal/testing/effort"
	"hgld/train/device"
)

// whole hides the BLAS's ability to split products, so that a Backend uses the plain path.
type whole struct{ blas.Library }

// panelCases cover every way in which patches reach a kernel: by address, copied because
// channels are few or pixels far apart, in place, and in parts of a pixel's channels. They
// include several tiles, few pixels, and groups.
var panelCases = []struct {
	n, h, w, c, k, r int
	shape            device.ConvShape
}{
	{3, 20, 18, 64, 70, 3, device.ConvShape{PadH: 1, PadW: 1}},
	{2, 21, 17, 32, 48, 3, device.ConvShape{PadH: 1, PadW: 1, StrideH: 2, StrideW: 2}},
	{8, 2, 2, 512, 130, 3, device.ConvShape{PadH: 1, PadW: 1}},
	{2, 9, 9, 400, 33, 3, device.ConvShape{PadH: 2, PadW: 2, DilationH: 2, DilationW: 2}},
	{4, 8, 8, 1024, 64, 1, device.ConvShape{}},
	{4, 9, 9, 1024, 64, 1, device.ConvShape{StrideH: 2, StrideW: 2}},
	{5, 16, 16, 96, 160, 1, device.ConvShape{StrideH: 2, StrideW: 2}},
	{2, 40, 40, 4, 64, 7, device.ConvShape{PadH: 3, PadW: 3, StrideH: 2, StrideW: 2}},
	{2, 12, 12, 96, 96, 3, device.ConvShape{PadH: 1, PadW: 1, Groups: 3}},
}

func TestConvolutionByPanelsEqualsThePlainOne(t *testing.T) {
	fast, plain := NewWith(2, blas.Native()), NewWith(2, whole{blas.Native()})
	for _, p := range panelCases {
		what := fmt.Sprintf("%+v", p)
		m := maker{fast, rand.New(rand.NewPCG(1, 1))}
		stride, dilation := max(1, p.shape.StrideH), max(1, p.shape.DilationH)
		outH := device.Windows(p.h, p.r, stride, p.shape.PadH, dilation)
		outW := device.Windows(p.w, p.r, stride, p.shape.PadW, dilation)
		x, w := m.f32(p.n, p.h, p.w, p.c), m.f32(p.k, p.r, p.r, p.c/max(1, p.shape.Groups))
		dy, bias, y := m.f32(p.n, outH, outW, p.k), m.f32(p.k), [2]device.Array{}
		dx, dw, dbias := [2]device.Array{}, [2]device.Array{}, [2]device.Array{m.f32(p.c), m.f32(p.c)}
		for i, b := range []*Backend{fast, plain} {
			b.Poison = true
			y[i], dx[i], dw[i] = device.New(b, device.F32, dy.Shape()...), device.New(b, device.F32, x.Shape()...),
				device.New(b, device.F32, w.Shape()...)
			b.Conv(y[i], x, w, p.shape, device.Epilogue{Bias: bias, Residual: dy, Act: device.ReLU})
			b.ConvGradX(dx[i], dy, w, p.shape, device.GradEpilogue{})
			b.ConvGradX(dx[i], dy, w, p.shape, device.GradEpilogue{Add: dx[i], Mask: x, Sums: dbias[i]})
			b.ConvGradW(dw[i], dy, x, p.shape, 0)
			b.ConvGradW(dw[i], dy, x, p.shape, 1)
		}
		nearly(t, what+" forward", y)
		nearly(t, what+" dx", dx)
		nearly(t, what+" dbias", dbias)
		nearly(t, what+" dw", dw)
	}
}

// nearly compares in relative L2: sums of the same float32 products, of up to
// 4,608 terms in another order, differ like a random walk of roundings of half a
// unit (3e-8).
func nearly(t *testing.T, what string, pair [2]device.Array) {
	t.Helper()
	var diff, size float64
	for i, v := range f32(pair[0]) {
		w := float64(f32(pair[1])[i])
		diff += (float64(v) - w) * (float64(v) - w)
		size += w * w
	}
	if e := math.Sqrt(diff / size); !(e <= 2e-6) {
		t.Errorf("%s: relative distance %g", what, e)
	}
}

// The second b is packed in two steps, and the third is wider than a whole pass may be.
func TestProductsByPanelsEqualSgemm(t *testing.T) {
	for i, shape := range [][3]int{{1000, 301, 530}, {580, 1500, 3000}, {580, 20000, 64}} {
		for trans := range 4 {
			if i > 0 && trans != 3*(i%2) && !effort.Exhaustive() {
				continue // the first shape has every form
			}
			testProductByPanels(t, shape[0], shape[1], shape[2],
				device.Mul{TransA: trans&1 != 0, TransB: trans&2 != 0, Alpha: -0.5, Beta: float32(trans & 1)})
		}
	}
}

func testProductByPanels(t *testing.T, rows, cols, k int, o device.Mul) {
	t.Helper()
	fast, plain := NewWith(2, blas.Native()), NewWith(2, whole{blas.Native()})
	m := maker{fast, rand.New(rand.NewPCG(1, 1))}
	a, b := [2]int{rows, k}, [2]int{k, cols}
	if o.TransA {
		a = [2]int{k, rows}
	}
	if o.TransB {
		b = [2]int{cols, k}
	}
	x, y, bias, dst := m.f32(a[:]...), m.f32(b[:]...), m.f32(cols), m.f32(rows, cols)
	other := device.New(plain, device.F32, rows, cols)
	copy(f32(other), f32(dst))
	o.Bias, o.Act = bias, device.ReLU
	fast.MatMul(dst, x, y, o)
	plain.MatMul(other, x, y, o)
	for i, v := range f32(dst) {
		if v != f32(other)[i] {
			t.Fatalf("%d × %d × %d, %+v: element %d is %v and %v", rows, cols, k, o, i, v, f32(other)[i])
		}
	}
}
