package cuda_test

import (
	"fmt"
	"slices"
	"strings"

	"hgld/internal/img"
	"hgld/train/device"
)

// cases returns the operations at training shapes: the stages of a ResNet with 64 images of
// 224 pixels, a ViT-S with the same images, and a batch of 256 against a memory of 16,384.
func (m *measure) cases() []benchCase {
	for _, m.dtype = range []device.DType{device.F32, device.BF16} {
		m.matrices()
		m.convolutions()
		m.activations()
		m.tokens()
	}
	m.dtype = device.F32
	m.updates()
	m.rankings()
	return m.list
}

// size returns n, or small on the emulator.
func (m *measure) size(n, small int) int {
	if m.small {
		return small
	}
	return n
}

// f32 returns an array of normal numbers.
func (m *measure) f32(dims ...int) device.Array {
	a := device.New(m.b, device.F32, dims...)
	key := put(m, m.b, []int32{1, int32(len(m.list))}, 2)
	m.b.Random(a, key, 1, device.Dist{Kind: device.Normal, B: 1})
	return a
}

// array is f32 in the type of activations.
func (m *measure) array(dims ...int) device.Array {
	a := m.f32(dims...)
	if m.dtype == device.F32 {
		return a
	}
	short := device.New(m.b, m.dtype, dims...)
	m.b.Copy(short, a)
	m.b.Free(a.Buf)
	return short
}

// title marks the operations on BF16 arrays.
func (m *measure) title(name string) string {
	if m.dtype == device.BF16 {
		return name + ", BF16"
	}
	return name
}

// streams adds an operation that makes one pass over arrays.
func (m *measure) streams(name string, run func(), arrays ...device.Array) {
	bytes := 0
	for _, a := range arrays {
		bytes += a.Len() * a.Type.Size()
	}
	m.list = append(m.list, benchCase{name: m.title(name), bytes: float64(bytes), run: run})
}

// multiplies adds an operation with a given number of multiply-adds.
func (m *measure) multiplies(name string, products int, run func()) {
	m.list = append(m.list, benchCase{
		name: m.title(name), flops: 2 * float64(products), run: run,
		tensor: m.dtype == device.BF16 && !strings.HasPrefix(name, "RaggedAttention"),
	})
}

func (m *measure) matrices() {
	for _, s := range [][3]int{
		{m.size(2048, 128), m.size(2048, 128), m.size(2048, 96)},
		{m.size(256, 64), m.size(512, 64), m.size(2048, 512)},
	} {
		rows, cols, inner := s[0], s[1], s[2]
		dst := m.array(rows, cols)
		for _, t := range [][2]bool{{false, false}, {false, true}, {true, false}, {true, true}} {
			x, y := m.array(rows, inner), m.array(inner, cols)
			if t[0] {
				x = x.Reshape(inner, rows)
			}
			if t[1] {
				y = y.Reshape(cols, inner)
			}
			o := device.Mul{TransA: t[0], TransB: t[1], Alpha: 1}
			name := fmt.Sprintf("MatMul %d×%d×%d%s", rows, inner, cols, letters(t))
			m.multiplies(name, rows*cols*inner, func() { m.b.MatMul(dst, x, y, o) })
		}
	}
	q, g, d := m.size(256, 32), m.size(60000, 200), m.size(2048, 64)
	scores, query, gallery := m.f32(q, g), m.array(q, d), m.array(g, d)
	name := fmt.Sprintf("Scores %d×%d, %d", q, g, d)
	m.multiplies(name, q*g*d, func() { m.b.Scores(scores, query, gallery) })
}

// letters writes which matrices are transposed.
func letters(transposed [2]bool) string {
	return map[[2]bool]string{{false, true}: " nt", {true, false}: " tn", {true, true}: " tt"}[transposed]
}

func (m *measure) convolutions() {
	n := m.size(64, 1)
	for _, c := range []struct {
		name                           string
		side, from, to, window, stride int
	}{
		{"stem 7×7", m.size(224, 32), 4, 64, 7, 2},
		{"1×1 wide", m.size(56, 8), m.size(256, 64), 64, 1, 1},
		{"3×3", m.size(56, 8), 64, 64, 3, 1},
		{"3×3 strided", m.size(28, 8), m.size(128, 32), m.size(128, 32), 3, 2},
		{"3×3 deep", 7, m.size(512, 64), m.size(512, 64), 3, 1},
	} {
		pad, out := c.window/2, (c.side-1)/c.stride+1
		shape := device.ConvShape{StrideH: c.stride, StrideW: c.stride, PadH: pad, PadW: pad}
		x, w := m.array(n, c.side, c.side, c.from), m.array(c.to, c.window, c.window, c.from)
		y := m.array(n, out, out, c.to)
		dw := m.f32(w.Shape()...)
		products := n * out * out * c.to * c.window * c.window * c.from
		name := fmt.Sprintf(" %s, %d→%d at %d²", c.name, c.from, c.to, c.side)
		m.multiplies("Conv"+name, products, func() { m.b.Conv(y, x, w, shape, device.Epilogue{Act: device.ReLU}) })
		m.multiplies("ConvGradX"+name, products, func() { m.b.ConvGradX(x, y, w, shape, device.GradEpilogue{}) })
		m.multiplies("ConvGradW"+name, products, func() { m.b.ConvGradW(dw, y, x, shape, 0) })
	}
	w, wf := m.f32(512, 3, 3, m.size(512, 8)), m.array(512, 3, 3, m.size(512, 8))
	gamma, beta, mean, variance, bf := m.f32(512), m.f32(512), m.f32(512), m.f32(512), m.f32(512)
	m.b.Fill(variance, 1)
	m.streams("FoldNorm", func() { m.b.FoldNorm(wf, bf, w, gamma, beta, mean, variance, 1e-5) }, w, wf)
	dw, dwf := m.f32(w.Shape()...), m.f32(w.Shape()...)
	m.streams("FoldNormGrad", func() {
		m.b.FoldNormGrad(dw, gamma, beta, dwf, bf, w, mean, mean, variance, 1e-5, 0)
	}, dw, dwf, w)
}

// activations adds the operations on the first stage of a ResNet, [64, 56, 56, 256].
func (m *measure) activations() {
	n, side, c := m.size(64, 2), m.size(56, 9), m.size(256, 64)
	x, y := m.array(n, side, side, c), m.array(n, side, side, c)
	z, dx := m.array(n, side, side, c), m.array(n, side, side, c)
	stats, gamma, beta, one := m.f32(2, c), m.f32(c), m.f32(c), m.f32(1)
	train, frozen := device.NormKind{Eps: 1e-5, ReLU: true}, device.NormKind{Eps: 1e-5, ReLU: true, Frozen: true}
	m.streams("Norm, batch statistics", func() { m.b.Norm(y, stats, x, gamma, beta, z, train) }, x, x, y, z)
	none, mean := device.Array{}, stats.RowRange(0, 1)
	m.streams("NormGrad, batch statistics", func() {
		m.b.NormGrad(dx, gamma, beta, y, x, gamma, stats, none, train, 0)
	}, x, y, x, y, dx)
	m.streams("NormGrad with sums", func() {
		m.b.NormGrad(dx, gamma, beta, y, x, gamma, stats, stats, train, 0)
	}, x, y, dx)
	m.streams("Norm, frozen", func() { m.b.Norm(y, stats, x, gamma, beta, z, frozen) }, x, y, z)
	m.streams("ReluGrad", func() { m.b.ReluGrad(dx, x, device.GradEpilogue{Mask: y, Sums: beta}, 0) }, dx, x, y)
	m.streams("ReluGrad, sums along an array", func() {
		m.b.ReluGrad(dx, x, device.GradEpilogue{Mask: y, X: z, Mean: mean, Sums: stats}, 0)
	}, dx, x, y, z)
	m.streams("ReluGrad without a bias", func() { m.b.ReluGrad(dx, x, device.GradEpilogue{Mask: y}, 0) }, dx, x, y)
	m.streams("Act GELU", func() { m.b.Act(y, x, device.GELU) }, x, y)
	m.streams("ActSlope GELU", func() { m.b.ActSlope(y, dx, x, device.GELU) }, dx, x, y)
	m.streams("Scale by element", func() { m.b.Scale(dx, y, x) }, dx, x, y)
	m.streams("Axpby", func() { m.b.Axpby(dx, 1, x, 1, y) }, dx, x, y)
	m.streams("Scale", func() { m.b.Scale(dx, x, one) }, dx, x)
	m.streams("Fill", func() { m.b.Fill(dx, 0) }, dx)
	full, half := m.f32(n, side, side, c), device.New(m.b, device.BF16, n, side, side, c)
	bytes := device.New(m.b, device.U8, n, side, side, c)
	m.streams("Copy to BF16", func() { m.b.Copy(half, full) }, half, full)
	m.streams("Fill of BF16", func() { m.b.Fill(half, 0) }, half)
	m.streams("Fill of U8", func() { m.b.Fill(bytes, 0) }, bytes)
	rows := x.Reshape(n*side*side, c)
	sums := m.f32(rows.Rows())
	m.streams("Sums of all", func() { m.b.Sums(one, rows, device.SquaresAll, 0) }, rows)
	m.streams("Sums of rows", func() { m.b.Sums(sums, rows, device.SumRows, 0) }, rows)
	m.streams("Sums of columns", func() { m.b.Sums(beta, rows, device.SumCols, 0) }, rows)

	out := (side + 1) / 2
	window := device.PoolShape{H: 3, W: 3, StrideH: 2, StrideW: 2, PadH: 1, PadW: 1}
	pooled, small := m.array(n, out, out, c), m.array(n, out+3, out+3, c)
	m.streams("Pool 3×3", func() { m.b.Pool(pooled, x, window) }, pooled, x)
	m.streams("PoolGrad 3×3", func() { m.b.PoolGrad(dx, pooled, x, pooled, window) }, dx, pooled, x, pooled)
	m.streams("Interpolate", func() { m.b.Interpolate(small, x, device.Interpolation{}) }, small, x)
	means, p := m.array(n, c), m.f32(1)
	m.b.Fill(p, 3)
	m.streams("GeM", func() { m.b.GeM(means, x, p, 1e-6) }, x)
	m.streams("GeMGrad", func() { m.b.GeMGrad(dx, one, means, x, means, p, 1e-6, 0) }, dx, x)
	side = m.size(224, 17)
	raw, crop := device.New(m.b, device.U8, n, side+8, side+8, 3), put(m, m.b, make([]int32, 3*n), n, 3)
	pixels := m.array(n, side, side, 4)
	m.b.Fill(raw, 100)
	if m.dtype == device.F32 { // no activations
		m.resampling(n, m.size(500, 40), m.size(400, 30), side)
	}
	m.streams("Pixels", func() { m.b.Pixels(pixels, raw, crop, device.Pixel{Std: [3]float32{1, 1, 1}}) }, pixels, raw)
}

// resampling adds images of one size that are resized to squares.
func (m *measure) resampling(n, width, height, side int) {
	var list []int32
	row := make([]int32, device.ImageCols)
	row[device.ImageWidth], row[device.ImageHeight] = int32(width), int32(height)
	for _, axis := range [][2]int{{device.AcrossAt, width}, {device.DownAt, height}} {
		var t img.Taps
		t.Set(axis[1], side, img.Bilinear, img.Whole(side))
		row[axis[0]], row[axis[0]+1] = int32(len(list)), int32(t.Width)
		list = slices.Concat(list, t.First, t.Count, t.Weight)
	}
	bytes := (3*width*height + device.ImageUnit - 1) / device.ImageUnit * device.ImageUnit
	var rows []int32
	for i := range n {
		row[device.ImageAt] = int32(i * bytes / device.ImageUnit)
		rows = append(rows, row...)
	}
	data, dst := device.New(m.b, device.U8, n*bytes), device.New(m.b, device.U8, n, side, side, 3)
	m.b.Fill(data, 100)
	taps, images := put(m, m.b, list, len(list)), put(m, m.b, rows, n, device.ImageCols)
	name := fmt.Sprintf("Resample %d×%d to %d²", width, height, side)
	m.streams(name, func() { m.b.Resample(dst, data, taps, images) }, dst, data)
}

// tokens adds the operations on a ViT-S: [64·197, 384], six heads.
func (m *measure) tokens() {
	n, t, d, heads := m.size(64, 2), m.size(197, 33), m.size(384, 64), m.size(6, 1)
	x, y, dx := m.array(n*t, d), m.array(n*t, d), m.array(n*t, d)
	stats, norm, gamma, beta, each := m.f32(n*t, 2), m.f32(n*t), m.f32(d), m.f32(d), m.f32(n*t)
	m.streams("LayerNorm", func() { m.b.LayerNorm(y, stats, x, gamma, beta, 1e-6) }, x, y)
	m.streams("LayerNormGrad", func() {
		m.b.LayerNormGrad(dx, gamma, beta, y, x, gamma, stats, device.Array{}, 0)
	}, dx, y, x)
	m.layerNorms(n * t)
	m.streams("Normalize", func() { m.b.Normalize(y, norm, x, 1e-12) }, x, y)
	m.streams("NormalizeGrad", func() { m.b.NormalizeGrad(dx, x, y, norm) }, dx, x, y)
	m.streams("Softmax", func() { m.b.Softmax(y, x, false) }, x, y)
	m.streams("SoftmaxGrad", func() { m.b.SoftmaxGrad(dx, x, y, false) }, dx, x, y)
	m.streams("Scale by rows", func() { m.b.Scale(dx, x, each) }, dx, x)
	target := put(m, m.b, make([]int32, n*t), n*t)
	m.streams("SoftmaxLoss", func() {
		m.b.SoftmaxLoss(norm, dx, x, target, device.Softmax{Temperature: 1})
	}, x, dx)
	index := make([]int32, n*t)
	for i := range index {
		index[i] = int32((i*7919 + 1) % len(index))
	}
	rows := put(m, m.b, index, n*t)
	m.streams("Gather", func() { m.b.Gather(y, x, rows) }, y, x)
	sum, added := m.f32(n*t, d), m.f32(n*t, d)
	m.streams("ScatterAdd", func() { m.b.ScatterAdd(sum, added, rows, 1) }, sum, sum, added)
	m.attention("", n, t, heads, d/heads)
	m.attention(" with heads of 80", m.size(16, 1), m.size(257, 33), m.size(16, 1), 80)
	qkv := m.array(n, t, 3*d)
	keys, spans := make([]int32, n*t), make([]int32, 0, 2*n*t)
	for i := range keys {
		keys[i] = int32(i)
		spans = append(spans, int32(i/t*t), int32(i/t*t+t))
	}
	keyRows, spanOf := put(m, m.b, keys, n*t), put(m, m.b, spans, n*t, 2)
	m.multiplies("RaggedAttention", 2*n*t*t*d, func() {
		m.b.RaggedAttention(y, qkv.Reshape(n*t, 3*d), device.Array{}, keyRows, spanOf, heads)
	})
}

// layerNorms adds LayerNorm for the kernels of rows that warps hold.
func (m *measure) layerNorms(rows int) {
	for _, d := range []int{m.size(768, 96), m.size(1024, 128)} {
		x, y, dx := m.array(rows, d), m.array(rows, d), m.array(rows, d)
		stats, gamma, beta := m.f32(rows, 2), m.f32(d), m.f32(d)
		name := fmt.Sprint(" of ", d)
		m.streams("LayerNorm"+name, func() { m.b.LayerNorm(y, stats, x, gamma, beta, 1e-6) }, x, y)
		m.streams("LayerNormGrad"+name, func() {
			m.b.LayerNormGrad(dx, gamma, beta, y, x, gamma, stats, dx, 0)
		}, dx, dx, y, x)
	}
}

// attention adds the attention of t tokens, with heads of the given size.
func (m *measure) attention(name string, n, t, heads, size int) {
	d, o := heads*size, device.Heads{Heads: heads}
	qkv, mixed, lse := m.array(n, t, 3*d), m.array(n, t, d), m.f32(n, heads, t)
	dqkv, dmixed := m.array(n, t, 3*d), m.array(n, t, d)
	m.multiplies("Attention"+name, 2*n*t*t*d, func() { m.b.Attention(mixed, lse, qkv, device.Array{}, o) })
	m.multiplies("AttentionGrad"+name, 5*n*t*t*d,
		func() { m.b.AttentionGrad(dqkv, dmixed, mixed, lse, qkv, device.Array{}, o) })
}

// updates adds the updates of 25 million parameters, a ResNet-50.
func (m *measure) updates() {
	n := m.size(25<<20, 10_000)
	w, g, a, v := m.f32(n), m.f32(n), m.f32(n), m.f32(n)
	m.b.Fill(v, 1)
	settings := slices.Repeat([]float32{0.1}, device.HyperLen)
	hyper := put(m, m.b, settings, device.HyperLen)
	flag, rate := put(m, m.b, []int32{0}, 1), put(m, m.b, []float32{0.1}, 1)
	m.streams("Adam", func() {
		m.b.Adam(w, a, v, g, device.Array{}, hyper, flag, device.AdamKind{Beta1: 0.9, Beta2: 0.999, Eps: 1e-8})
	}, w, w, a, a, v, v, g)
	m.streams("SGD", func() {
		m.b.SGD(w, a, g, device.Array{}, hyper, flag, device.SGDKind{Momentum: 0.9})
	}, w, w, a, a, g)
	m.streams("Average", func() { m.b.Average(a, w, rate, flag) }, a, a, w)
	found := put(m, m.b, []int32{0}, 1)
	running, stats := m.f32(2, 2048), m.f32(2, 2048)
	m.streams("Track", func() { m.b.Track(running, stats, rate, found, 1) }, running, running, stats)
	m.streams("Guard", func() { m.b.Guard(found, w) }, w)
	count, paced := put(m, m.b, []int32{0}, 1), m.f32(3)
	m.streams("Pace", func() { m.b.Pace(paced, count, flag, device.PaceKind{Beta1: 0.9, Beta2: 0.99}) }, paced)
	key := put(m, m.b, []int32{1, 2}, 2)
	m.streams("Random", func() { m.b.Random(w, key, 1, device.Dist{Kind: device.TruncatedNormal, B: 1}) }, w)
	ints, wide := put(m, m.b, make([]int32, n), n), device.New(m.b, device.I32, n)
	m.streams("Gather of 4-byte rows", func() { m.b.Gather(wide, ints, ints) }, wide, ints, ints)
	bytes, chosen := device.New(m.b, device.U8, n), device.New(m.b, device.U8, n)
	m.b.Fill(bytes, 1)
	m.streams("Gather of bytes", func() { m.b.Gather(chosen, bytes, ints) }, chosen, bytes, ints)
}

// rankings adds the operations on a batch against a memory, and on an evaluation. Their rates
// count scores, levels and results once, since most of the work is arithmetic.
func (m *measure) rankings() {
	q, g := m.size(256, 8), m.size(16384, 600)
	for _, c := range rankCalls(m, m.b, q, g, m.size(200, 20)) {
		read := []device.Array{device.Make(nil, 0, device.F32, q, g), device.Make(nil, 0, device.U8, q, g)}
		m.streams(fmt.Sprintf("%s %d×%d", c.name, q, g), c.run, append(read, c.results...)...)
	}
	for name, h := range rankLossSteps() {
		for _, positives := range []int{m.size(50, 20), g / 4} {
			c := rankLossCase(m, m.b, g, slices.Repeat([]int{positives}, q), h, -1)
			scores := []device.Array{device.Make(nil, 0, device.F32, q, g), device.Make(nil, 0, device.U8, q, g)}
			m.streams(fmt.Sprintf("RankLoss %s %d×%d, %d positives", name, q, g, positives), c.run,
				append(scores, c.results...)...)
		}
	}
	ql, gl := put(m, m.b, make([]int32, 3*q), q, 3), put(m, m.b, make([]int32, 3*g), g, 3)
	self, sh := put(m, m.b, make([]int32, q), q), device.New(m.b, device.U8, q, g)
	m.streams("Shared", func() { m.b.Shared(sh, ql, gl, self, device.SharedKind{Self: device.SelfAbsent}) }, sh)
}
