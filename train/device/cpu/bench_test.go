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

// BenchmarkMatMulTransformer has the products of DeiT-S on a batch of 16 images of
// 224 × 224, forward and backward, and those of one head's attention.
func BenchmarkMatMulTransformer(b *testing.B) {
	const rows = 16 * 197
	for name, lib := range benchLibraries(b) {
		if name == "gonum" {
			continue
		}
		for _, s := range []struct{ in, out int }{{384, 1152}, {384, 384}, {384, 1536}, {1536, 384}} {
			back := NewWith(0, lib)
			m := maker{back, rand.New(rand.NewPCG(1, 1))}
			x, w, y := m.f32(rows, s.in), m.f32(s.out, s.in), m.f32(rows, s.out)
			for _, pass := range []struct {
				name string
				run  func()
			}{
				{"forward", func() { back.MatMul(y, x, w, device.Mul{TransB: true, Alpha: 1}) }},
				{"dx", func() { back.MatMul(x, y, w, device.Mul{Alpha: 1}) }},
				{"dw", func() { back.MatMul(w, y, x, device.Mul{TransA: true, Alpha: 1}) }},
			} {
				b.Run(fmt.Sprintf("%s/%d-%d/%s", name, s.in, s.out, pass.name), func(b *testing.B) {
					for b.Loop() {
						pass.run()
					}
					gflops(b, rows*float64(s.in*s.out))
				})
			}
		}
		b.Run(name+"/scores", func(b *testing.B) {
			const heads, tokens, depth = 96, 197, 64
			back := NewWith(0, lib)
			m := maker{back, rand.New(rand.NewPCG(1, 1))}
			q, k, s := m.f32(heads, tokens, depth), m.f32(heads, tokens, depth), m.f32(heads, tokens, tokens)
			for b.Loop() {
				back.MatMul(s, q, k, device.Mul{TransB: true, Alpha: 1})
			}
			gflops(b, heads*tokens*tokens*depth)
		})
	}
}

// benchLayer is a convolution that occurs count times in a network.
type benchLayer struct {
	size, in, out, k, stride, count int
}

// resNet lists the distinct convolutions of ResNet-18 or, with bottlenecks,
// ResNet-50 on square images; the stem has four channels.
func resNet(size int, bottleneck bool) []benchLayer {
	at := size / 4
	list := []benchLayer{{size, 4, 64, 7, 2, 1}}
	if !bottleneck {
		list = append(list, benchLayer{at, 64, 64, 3, 1, 4})
		for c := 128; c <= 512; c *= 2 {
			list = append(list, benchLayer{at, c / 2, c, 3, 2, 1}, benchLayer{at / 2, c, c, 3, 1, 3},
				benchLayer{at, c / 2, c, 1, 2, 1})
			at /= 2
		}
		return list
	}
	list = append(list, benchLayer{at, 64, 64, 1, 1, 1}, benchLayer{at, 256, 64, 1, 1, 2},
		benchLayer{at, 64, 64, 3, 1, 3}, benchLayer{at, 64, 256, 1, 1, 4})
	for i, blocks := range []int{4, 6, 3} {
		c := 128 << i
		list = append(list, benchLayer{at, 2 * c, c, 1, 1, 1}, benchLayer{at, c, c, 3, 2, 1},
			benchLayer{at, 2 * c, 4 * c, 1, 2, 1})
		at /= 2
		list = append(list, benchLayer{at, 4 * c, c, 1, 1, blocks - 1}, benchLayer{at, c, c, 3, 1, blocks - 1},
			benchLayer{at, c, 4 * c, 1, 1, blocks})
	}
	return list
}

// BenchmarkConv runs every distinct convolution of ResNet-18 and ResNet-50, each
// way, on all threads; the time that a network spends in them is the sum of
// count × time, and the name begins with the count.
func BenchmarkConv(b *testing.B) {
	for name, lib := range benchLibraries(b) {
		if name == "gonum" {
			continue
		}
		for _, net := range []struct {
			name        string
			batch, size int
			bottleneck  bool
		}{{"resnet18-64", 32, 64, false}, {"resnet50-64", 32, 64, true}, {"resnet50-224", 16, 224, true}} {
			for _, l := range resNet(net.size, net.bottleneck) {
				benchConv(b, name+"/"+net.name, lib, net.batch, l)
			}
		}
	}
}

func benchConv(b *testing.B, name string, lib blas.Library, n int, l benchLayer) {
	back := NewWith(0, lib)
	m := maker{back, rand.New(rand.NewPCG(1, 1))}
	shape := device.ConvShape{StrideH: l.stride, StrideW: l.stride, PadH: l.k / 2, PadW: l.k / 2}
	out := outSize(l.size, l.k, l.stride, l.k/2, 1)
	x, w, y := m.f32(n, l.size, l.size, l.in), m.f32(l.out, l.k, l.k, l.in), m.f32(n, out, out, l.out)
	work := float64(n*out*out*l.out) * float64(l.k*l.k*l.in)
	name = fmt.Sprintf("%s/%dx_%dpx_%d-%d_k%ds%d", name, l.count, l.size, l.in, l.out, l.k, l.stride)
	for _, pass := range []struct {
		name string
		run  func()
	}{
		{"forward", func() { back.Conv(y, x, w, shape, device.Epilogue{}) }},
		{"dx", func() { back.ConvGradX(x, y, w, shape, device.GradEpilogue{}) }},
		{"dw", func() { back.ConvGradW(w, y, x, shape, 0) }},
	} {
		if pass.name == "dx" && l.in == 4 {
			continue // pixels take no gradient
		}
		b.Run(name+"/"+pass.name, func(b *testing.B) {
			for b.Loop() {
				pass.run()
			}
			gflops(b, work)
		})
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
			back.NormGrad(dy, gamma, beta, dy, x, gamma, stats, device.Array{}, kind, 0)
		}
	})
}
