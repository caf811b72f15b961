package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"hgld/internal/blas"
	"hgld/train/device"
)

// gflops reports a rate for n multiply-adds a call.
func gflops(b *testing.B, n float64) {
	b.ReportMetric(2*n*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}

func benchLibraries(b *testing.B) map[string]blas.Library {
	libs := map[string]blas.Library{"native": blas.Native(), "gonum": blas.Gonum()}
	if lib, err := blas.Open("openblas"); err == nil {
		libs["openblas"] = lib
	} else {
		b.Log(err)
	}
	return libs
}

// BenchmarkMatMul is on all threads.
func BenchmarkMatMul(b *testing.B) {
	for name, lib := range benchLibraries(b) {
		for _, n := range []int{256, 1024, 2048} {
			if name == "gonum" && n > 1024 {
				continue
			}
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				back := NewWith(0, lib)
				m := maker{back, rand.New(rand.NewPCG(1, 1))}
				dst, x, y := m.f32(n, n), m.f32(n, n), m.f32(n, n)
				for b.Loop() {
					back.MatMul(dst, x, y, device.Mul{TransB: true, Alpha: 1})
				}
				gflops(b, float64(n)*float64(n)*float64(n))
			})
		}
	}
}

// benchLayers are those of ResNet-18 on images of 64 × 64, a batch of 32.
var benchLayers = []struct {
	name                     string
	size, in, out, k, stride int
}{
	{"stem", 64, 4, 64, 7, 2}, {"layer1", 16, 64, 64, 3, 1}, {"layer2s2", 16, 64, 128, 3, 2}, {"layer2", 8, 128, 128, 3, 1},
	{"layer3", 4, 256, 256, 3, 1}, {"layer4", 2, 512, 512, 3, 1}, {"down", 16, 64, 128, 1, 2}, {"expand", 16, 64, 256, 1, 1},
}

func BenchmarkConv(b *testing.B) {
	const n = 32
	for name, lib := range benchLibraries(b) {
		if name == "gonum" {
			continue
		}
		for _, l := range benchLayers {
			back := NewWith(0, lib)
			m := maker{back, rand.New(rand.NewPCG(1, 1))}
			shape := device.ConvShape{StrideH: l.stride, StrideW: l.stride, PadH: l.k / 2, PadW: l.k / 2}
			out := outSize(l.size, l.k, l.stride, l.k/2, 1)
			x, w, y := m.f32(n, l.size, l.size, l.in), m.f32(l.out, l.k, l.k, l.in), m.f32(n, out, out, l.out)
			work := float64(n*out*out*l.out) * float64(l.k*l.k*l.in)
			for _, pass := range []struct {
				name string
				run  func()
			}{
				{"forward", func() { back.Conv(y, x, w, shape, device.Epilogue{}) }},
				{"dx", func() { back.ConvGradX(x, y, w, shape) }},
				{"dw", func() { back.ConvGradW(w, y, x, shape, 0) }},
			} {
				b.Run(fmt.Sprintf("%s/%s/%s", name, l.name, pass.name), func(b *testing.B) {
					for b.Loop() {
						pass.run()
					}
					gflops(b, work)
				})
			}
		}
	}
}

func BenchmarkNorm(b *testing.B) {
	back := New(0)
	m := maker{back, rand.New(rand.NewPCG(1, 1))}
	const c, rows = 64, 32 * 32 * 32
	x, y, dy, gamma, beta, stats := m.f32(rows, c), m.f32(rows, c), m.f32(rows, c), m.f32(c), m.f32(c), m.f32(2, c)
	kind := device.NormKind{Eps: 1e-5, ReLU: true}
	b.Run("forward", func(b *testing.B) {
		b.SetBytes(4 * rows * c)
		for b.Loop() {
			back.Norm(y, stats, x, gamma, beta, device.Array{}, kind)
		}
	})
	b.Run("gradient", func(b *testing.B) {
		b.SetBytes(4 * rows * c)
		for b.Loop() {
			back.NormGrad(dy, device.Array{}, gamma, beta, dy, x, y, gamma, stats, kind, 0)
		}
	})
}
