package cpu

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"hgld/internal/blas"
	"hgld/internal/img"
	"hgld/internal/testing/effort"
	"hgld/train/device"
)

// call is one operation on fixed arrays. It writes the arrays in out.
type call struct {
	name string
	run  func(b *Backend)
	out  []device.Array
}

// maker allocates arrays of random values.
type maker struct {
	b *Backend
	r *rand.Rand
}

func (m *maker) f32(dims ...int) device.Array {
	a := device.New(m.b, device.F32, dims...)
	for i := range f32(a) {
		f32(a)[i] = float32(m.r.NormFloat64())
	}
	return a
}

func (m *maker) i32(limit, n int) device.Array {
	a := device.New(m.b, device.I32, n)
	for i := range i32(a) {
		i32(a)[i] = int32(m.r.IntN(limit))
	}
	return a
}

// resampling returns the taps and the table of n copies of an image that is resized to a square.
func (m *maker) resampling(n, width, height, side int) (taps, images device.Array) {
	var list []int32
	row := make([]int32, device.ImageCols)
	row[device.ImageWidth], row[device.ImageHeight] = int32(width), int32(height)
	for at, inputs := range map[int]int{device.AcrossAt: width, device.DownAt: height} {
		var t img.Taps
		t.Set(inputs, side, img.Bicubic, img.Whole(side))
		row[at], row[at+1] = int32(len(list)), int32(t.Width)
		list = slices.Concat(list, t.First, t.Count, t.Weight)
	}
	taps, images = m.i32(1, len(list)), m.i32(1, n*len(row)).Reshape(n, len(row))
	copy(i32(taps), list)
	copy(i32(images), slices.Repeat(row, n))
	return taps, images
}

// calls returns calls of every operation of Memory, Dense, Image and Update, large enough for several
// spans.
func calls(m *maker) []call {
	return slices.Concat(denseCalls(m), tokenCalls(m), stepCalls(m), imageCalls(m))
}

func tokenCalls(m *maker) []call {
	x, y, dx := m.f32(300, 257), m.f32(300, 257), m.f32(300, 257)
	qkv, dqkv, out, dout, lse := m.f32(3, 200, 3*2*24), m.f32(3, 200, 3*2*24), m.f32(3, 200, 2*24), m.f32(3, 200, 2*24),
		m.f32(3, 2, 200)
	length, key, o := m.i32(200, 3), m.i32(1000, 2), device.Heads{Heads: 2, Causal: true}
	image, small, resize := m.f32(3, 24, 25, 16), m.f32(3, 7, 11, 16), device.Interpolation{AlignCorners: true}
	return []call{
		{"Softmax", func(b *Backend) {
			b.Softmax(y, x, true)
			b.SoftmaxGrad(dx, x, y, true)
		}, []device.Array{y, dx}},
		{"Attention", func(b *Backend) {
			b.Attention(out, lse, qkv, length, o)
			b.AttentionGrad(dqkv, dout, out, lse, qkv, length, o)
		}, []device.Array{out, lse, dqkv}},
		{"Random", func(b *Backend) { b.Random(y, key, 1, device.Dist{Kind: device.TruncatedNormal, B: 1}) },
			[]device.Array{y}},
		{"Interpolate", func(b *Backend) { b.Interpolate(small, image, resize) }, []device.Array{small}},
	}
}

func denseCalls(m *maker) []call {
	x, y, w, out := m.f32(300, 257), m.f32(300, 257), m.f32(129, 257), m.f32(300, 129)
	half, row, all := device.New(m.b, device.BF16, 300, 257), m.f32(257), m.f32(1)
	norm, stats, gamma, beta, dgamma, dbeta := m.f32(300), m.f32(300, 2), m.f32(257), m.f32(257), m.f32(257), m.f32(257)
	dst, loss, target, index := m.f32(300, 257), m.f32(300), m.i32(257, 300), m.i32(129, 300)
	cc, sums := m.f32(129), m.f32(129, 257)
	return []call{
		{"Copy", func(b *Backend) { b.Copy(half, x); b.Copy(dst, half) }, []device.Array{half, dst}},
		{"Fill", func(b *Backend) { b.Fill(dst, 2) }, []device.Array{dst}},
		{"MatMul", func(b *Backend) {
			b.MatMul(out, x, w, device.Mul{TransB: true, Alpha: 1, Bias: cc, Act: device.ReLU})
		}, []device.Array{out}},
		{"Scores", func(b *Backend) { b.Scores(out, x, w) }, []device.Array{out}},
		{"Axpby", func(b *Backend) { b.Axpby(dst, 2, x, 3, y); b.Axpby(dst, 1, dst, 1, row) }, []device.Array{dst}},
		{"Scale", func(b *Backend) { b.Scale(dst, x, norm); b.Scale(dst, dst, all) }, []device.Array{dst}},
		{"Sums", func(b *Backend) {
			b.Sums(all, x, device.SquaresAll, 0)
			b.Sums(norm, x, device.SumRows, 0)
			b.Sums(dgamma, x, device.SumCols, 0)
		}, []device.Array{all, norm, dgamma}},
		{"Act", func(b *Backend) { b.Act(dst, x, device.GELU); b.ActGrad(dst, dst, x, device.GELU) }, []device.Array{dst}},
		{"Normalize", func(b *Backend) {
			b.Normalize(dst, norm, x, 1e-12)
			b.NormalizeGrad(y, x, dst, norm)
		}, []device.Array{dst, norm, y}},
		{"LayerNorm", func(b *Backend) {
			b.LayerNorm(dst, stats, x, gamma, beta, 1e-5)
			b.LayerNormGrad(y, dgamma, dbeta, x, dst, gamma, stats, y, 0)
		}, []device.Array{dst, stats, y, dgamma, dbeta}},
		{"SoftmaxLoss", func(b *Backend) {
			b.SoftmaxLoss(loss, dst, x, target, device.Softmax{Temperature: 0.1, Smoothing: 0.1})
		}, []device.Array{loss, dst}},
		{"Gather", func(b *Backend) { b.Gather(dst, sums, index) }, []device.Array{dst}},
		{"ScatterAdd", func(b *Backend) { b.ScatterAdd(sums, x, index, 0) }, []device.Array{sums}},
	}
}

func stepCalls(m *maker) []call {
	w, moment, second, dw := m.f32(100000), m.f32(100000), m.f32(100000), m.f32(100000)
	hyper, rate, flag := m.f32(device.HyperLen), m.f32(1), device.New(m.b, device.I32, 1)
	for i := range f32(second) {
		f32(second)[i] *= f32(second)[i]
	}
	for i := range f32(hyper) {
		f32(hyper)[i] = 0.5
	}
	count := device.New(m.b, device.I32, 1)
	i32(flag)[0], i32(count)[0] = 0, 0
	return []call{
		{"Adam", func(b *Backend) {
			b.Adam(w, moment, second, dw, device.Array{}, hyper, flag, device.AdamKind{Beta1: 0.9, Beta2: 0.99, Eps: 1e-8})
		}, []device.Array{w, moment, second}},
		{"SGD", func(b *Backend) {
			b.SGD(w, moment, dw, device.Array{}, hyper, flag, device.SGDKind{Momentum: 0.9})
		}, []device.Array{w, moment}},
		{"Pace", func(b *Backend) { b.Pace(hyper.RowRange(3, 6), count, flag, device.PaceKind{Beta1: 0.9, Beta2: 0.99}) },
			[]device.Array{hyper, count}},
		{"Average", func(b *Backend) { b.Average(w, dw, rate, flag) }, []device.Array{w}},
		{"Guard", func(b *Backend) { b.Guard(flag, w) }, []device.Array{flag}},
	}
}

func imageCalls(m *maker) []call {
	x, w, y, dy, res := m.f32(3, 24, 24, 16), m.f32(32, 3, 3, 16), m.f32(3, 12, 12, 32), m.f32(3, 12, 12, 32),
		m.f32(3, 12, 12, 32)
	shape := device.ConvShape{StrideH: 2, StrideW: 2, PadH: 1, PadW: 1}
	dx, dw, wf := m.f32(3, 24, 24, 16), m.f32(32, 3, 3, 16), m.f32(32, 3, 3, 16)
	gamma, beta, mean, variance, bias, dgamma, dbeta := m.f32(32), m.f32(32), m.f32(32), m.f32(32), m.f32(32),
		m.f32(32), m.f32(32)
	stats, out, dres, sums := m.f32(2, 32), m.f32(3, 12, 12, 32), m.f32(3, 12, 12, 32), m.f32(16)
	for i := range f32(variance) {
		f32(variance)[i] *= f32(variance)[i]
	}
	pooled, dpooled, means, p, dp := m.f32(3, 6, 6, 32), m.f32(3, 6, 6, 32), m.f32(3, 32), m.f32(1), m.f32(1)
	f32(p)[0] = 3
	bytes, pixels := device.New(m.b, device.U8, 3, 30, 30, 3), m.f32(3, 24, 24, 4)
	resampled, packed := device.New(m.b, device.U8, 3, 24, 24, 3), device.New(m.b, device.U8, 50*40*3)
	taps, images := m.resampling(3, 40, 50, 24)
	for _, a := range []device.Array{bytes, packed} {
		for i := range u8(a) {
			u8(a)[i] = uint8(i)
		}
	}
	kind, window := device.NormKind{Eps: 1e-5, ReLU: true}, device.PoolShape{H: 2, W: 2, StrideH: 2, StrideW: 2}
	return []call{
		{"Conv", func(b *Backend) {
			b.Conv(y, x, w, shape, device.Epilogue{Bias: bias, Residual: res, Act: device.ReLU, Stats: stats})
		}, []device.Array{y, stats}},
		{"ConvGradX", func(b *Backend) {
			b.ConvGradX(dx, dy, w, shape, device.GradEpilogue{})
			b.ConvGradX(dx, dy, w, shape, device.GradEpilogue{Add: dx, Mask: x, Sums: sums})
		}, []device.Array{dx, sums}},
		{"ConvGradW", func(b *Backend) { b.ConvGradW(dw, dy, x, shape, 0) }, []device.Array{dw}},
		{"FoldNorm", func(b *Backend) {
			b.FoldNorm(wf, bias, w, gamma, beta, mean, variance, 1e-5)
			b.FoldNormGrad(dw, dgamma, dbeta, wf, bias, w, gamma, mean, variance, 1e-5, 0)
		}, []device.Array{wf, bias, dw, dgamma, dbeta}},
		{"Norm", func(b *Backend) {
			b.Norm(out, stats, y, gamma, beta, res, kind)
			b.NormGrad(dres, dgamma, dbeta, dy, y, gamma, stats, device.Array{}, kind, 0)
		}, []device.Array{out, stats, dres, dgamma, dbeta}},
		{"ReluGrad", func(b *Backend) {
			b.ReluGrad(dres, dy, device.GradEpilogue{Mask: y, Sums: bias}, 0)
			b.ReluGrad(dres, dy, device.GradEpilogue{Mask: y, X: out, Mean: bias, Sums: stats}, 0)
		}, []device.Array{dres, bias, stats}},
		{"Pool", func(b *Backend) { b.Pool(pooled, y, window); b.PoolGrad(dres, dpooled, y, pooled, window) },
			[]device.Array{pooled, dres}},
		{"GeM", func(b *Backend) { b.GeM(means, y, p, 1e-6); b.GeMGrad(dres, dp, means, y, means, p, 1e-6, 0) },
			[]device.Array{means, dres, dp}},
		{"Resample", func(b *Backend) { b.Resample(resampled, packed, taps, images) }, []device.Array{resampled}},
		{"Pixels", func(b *Backend) {
			b.Pixels(pixels, bytes, device.Array{}, device.Pixel{Std: [3]float32{1, 2, 3}})
		}, []device.Array{pixels}},
	}
}

func TestOperationsAllocateNothingInTheSteadyState(t *testing.T) {
	for _, lib := range []blas.Library{blas.Gonum(), blas.Native()} {
		b := NewWith(2, lib)
		for _, c := range calls(&maker{b, rand.New(rand.NewPCG(1, 1))}) {
			if n := testing.AllocsPerRun(5, func() { c.run(b) }); n != 0 {
				t.Errorf("%v: %s: %v allocations a call", lib, c.name, n)
			}
		}
	}
}

// The arrays start from the same values for every number of threads.
func TestBytesDoNotDependOnTheNumberOfThreads(t *testing.T) {
	libs := []blas.Library{blas.Gonum(), blas.Native()}
	if lib, err := blas.Open("openblas"); err == nil {
		libs = append(libs, lib)
	}
	for _, lib := range libs {
		want := map[string][]byte{}
		counts := []int{1, 3}
		if effort.Exhaustive() {
			counts = []int{1, 2, 3, 7}
		}
		for _, threads := range counts {
			b := NewWith(threads, lib)
			for _, c := range calls(&maker{b, rand.New(rand.NewPCG(1, 1))}) {
				c.run(b)
				var got []byte
				for _, a := range c.out {
					got = append(got, bytesOf(a)...)
				}
				if threads == 1 {
					want[c.name] = got
				} else if !bytes.Equal(got, want[c.name]) {
					t.Errorf("%v: %s differs between 1 and %d threads", lib, c.name, threads)
				}
			}
		}
	}
}
