package conformance

import (
	"bytes"
	"math"
	"reflect"
	"slices"
	"strings"

	"hgld/internal/img"
	"hgld/train/device"
)

// call is one operation, or one with its gradient, on fixed arrays.
type call struct {
	ops []string // names of the device.Backend methods that it calls
	run func()
	out []device.Array // arrays that it writes; it may read them first

	before [][]byte // contents of out before the call

	cardsDiffer bool // sums of a tensor core, which each kind of GPU rounds differently
}

// named adds a call of the operations in ops, separated by spaces.
func (c *caller) named(ops string, out []device.Array, run func()) {
	call := call{ops: strings.Fields(ops), run: run, out: out}
	for _, a := range out {
		call.before = append(call.before, c.bytes(a))
	}
	c.list = append(c.list, call)
}

// caller builds calls of all operations of a backend, with activations of the suite's type. The shapes
// need several blocks and tiles, of which the last is partial.
type caller struct {
	*suite
	b    device.Backend
	n    int // images of most operations on images
	list []call
}

// calls returns calls that cover every operation of b, with activations of each type that b supports
// among F32 and BF16.
func (s *suite) calls(b device.Backend) []call { return s.callsOf(b, fewImages) }

// fewImages fill several blocks of a card, and manyImages several spans of a processor's threads.
const fewImages, manyImages = 2, 12

func (s *suite) callsOf(b device.Backend, images int) []call {
	c := &caller{suite: s, b: b, n: images}
	c.memory()
	c.masters()
	c.steps()
	c.rankings()
	c.pairs()
	of := c.dtype
	for _, c.dtype = range []device.DType{device.F32, device.BF16} {
		if b.Supports(c.dtype) {
			c.activations()
		}
	}
	c.dtype = of
	return c.list
}

func (c *caller) f32(dims ...int) device.Array { return c.put(device.F32, c.master(dims...)) }

// given returns random activations, and result an array of activations full of NaN. none returns one
// of F32.
func (c *caller) given(dims ...int) device.Array  { return c.put(c.dtype, c.activation(dims...)) }
func (c *caller) result(dims ...int) device.Array { return c.alloc(c.dtype, dims...) }
func (c *caller) none(dims ...int) device.Array   { return c.alloc(device.F32, dims...) }

// positive returns an F32 array of positive numbers.
func (c *caller) positive(dims ...int) device.Array {
	a := c.master(dims...)
	return c.put(device.F32, filled(func(i int) float64 { return float64(float32(math.Abs(a.V[i]) + 0.1)) }, dims...))
}

func (c *caller) ints(limit int, dims ...int) device.Array {
	return c.put(device.I32, filled(func(int) float64 { return float64(c.r.IntN(limit)) }, dims...))
}

// products is like named, for operations whose sums over BF16 may run on tensor cores, which GPUs
// may round differently.
func (c *caller) products(ops string, out []device.Array, run func()) {
	c.named(ops, out, run)
	c.list[len(c.list)-1].cardsDiffer = c.dtype != device.F32
}

func (c *caller) memory() {
	x, back := c.f32(130, 257), c.none(130, 257)
	half, filled := c.alloc(device.BF16, 130, 257), c.alloc(device.I32, 130, 257)
	c.named("Copy", []device.Array{half, back}, func() { c.b.Copy(half, x); c.b.Copy(back, half) })
	c.named("Fill", []device.Array{filled}, func() { c.b.Fill(filled, 7) })
}

// masters adds the operations on arrays that are F32 whatever the activations are, and those on bytes.
func (c *caller) masters() {
	x, w := c.f32(130, 257), c.f32(129, 257)
	scores := c.none(130, 129)
	c.named("Scores", []device.Array{scores}, func() { c.b.Scores(scores, x, w) })
	squares := c.f32(257)
	c.named("Sums", []device.Array{squares}, func() { c.b.Sums(squares, x, device.SquaresCols, 1) })
	index, gathered, added := c.ints(129, 130), c.f32(130, 257), c.f32(129, 257)
	c.named("Gather", []device.Array{gathered}, func() { c.b.Gather(gathered, w, index) })
	c.named("ScatterAdd", []device.Array{added}, func() { c.b.ScatterAdd(added, x, index, 1) })
	drawn, key := c.none(130, 257), c.ints(1000, 2)
	c.named("Random", []device.Array{drawn}, func() {
		c.b.Random(drawn, key, 1, device.Dist{Kind: device.Normal, B: 1})
	})
	filters, dwf, dbf := c.f32(120, 3, 3, 16), c.f32(120, 3, 3, 16), c.f32(120)
	gamma, mean, variance := c.f32(120), c.f32(120), c.positive(120)
	dw, dgamma, dbeta := c.f32(120, 3, 3, 16), c.f32(120), c.f32(120)
	c.named("FoldNormGrad", []device.Array{dw, dgamma, dbeta}, func() {
		c.b.FoldNormGrad(dw, dgamma, dbeta, dwf, dbf, filters, gamma, mean, variance, 1e-5, 1)
	})
	data, taps, table := packImages([]resampling{c.resized(img.Bicubic, [2]int{40, 70}, [2]int{17, 35}), {},
		c.part(img.Lanczos, [2]int{90, 9}, [2]int{17, 35}), c.resized(img.Bilinear, [2]int{1, 1}, [2]int{17, 35})})
	packed, weights, images := c.put(device.U8, data), c.put(device.I32, taps), c.put(device.I32, table)
	resampled := c.alloc(device.U8, 4, 17, 35, 3)
	c.named("Resample", []device.Array{resampled}, func() { c.b.Resample(resampled, packed, weights, images) })
}

func (c *caller) activations() {
	c.matrices()
	c.tokens()
	c.images()
}

func (c *caller) matrices() {
	x, y, w, out := c.given(130, 257), c.given(130, 257), c.given(129, 257), c.result(130, 129)
	bias, row, one, each := c.f32(129), c.given(257), c.f32(1), c.f32(130)
	c.products("MatMul", []device.Array{out}, func() {
		c.b.MatMul(out, x, w, device.Mul{TransB: true, Alpha: 1, Bias: bias, Act: device.GELU})
	})
	wide, dw := c.given(640, 136), c.f32(136, 136)
	c.products("MatMul", []device.Array{dw}, func() { // split, and from any type to F32
		c.b.MatMul(dw, wide, wide, device.Mul{TransA: true, Alpha: 1, Beta: 1})
	})
	sum := c.result(130, 257)
	c.named("Axpby", []device.Array{sum}, func() { c.b.Axpby(sum, 2, x, 3, y); c.b.Axpby(sum, 1, sum, 1, row) })
	scaled := c.result(130, 257)
	c.named("Scale", []device.Array{scaled}, func() { c.b.Scale(scaled, x, each); c.b.Scale(scaled, scaled, one) })
	all, rows, columns := c.none(1), c.none(130), c.none(257)
	c.named("Sums", []device.Array{all, rows, columns}, func() {
		c.b.Sums(all, x, device.SquaresAll, 0)
		c.b.Sums(rows, x, device.SumRows, 0)
		c.b.Sums(columns, x, device.SumCols, 0)
	})
	act, slope, dact := c.result(130, 257), c.result(130, 257), c.result(130, 257)
	c.named("Act ActSlope", []device.Array{act, slope, dact}, func() {
		c.b.Act(dact, x, device.GELU)
		c.b.ActSlope(act, slope, x, device.GELU)
		c.b.Scale(dact, y, slope)
	})
	bent, factor := c.result(130, 257), c.given(130, 129)
	c.products("MatMul", []device.Array{bent}, func() {
		c.b.MatMul(bent, factor, w, device.Mul{Alpha: 1, Factor: y})
	})
}

// layerNorm adds LayerNorm and its gradient for x and dy.
func (c *caller) layerNorm(x, dy device.Array) {
	rows, d := x.Rows(), x.Cols()
	y, stats, gamma, beta := c.result(rows, d), c.none(rows, 2), c.f32(d), c.f32(d)
	dx, dgamma, dbeta := c.result(rows, d), c.f32(d), c.f32(d)
	c.named("LayerNorm LayerNormGrad", []device.Array{y, stats, dx, dgamma, dbeta}, func() {
		c.b.LayerNorm(y, stats, x, gamma, beta, 1e-5)
		c.b.LayerNormGrad(dx, dgamma, dbeta, dy, x, gamma, stats, absent, 1)
		c.b.LayerNormGrad(dx, dgamma, dbeta, dy, x, gamma, stats, dx, 1)
	})
}

func (c *caller) tokens() {
	x, dy := c.given(130, 257), c.given(130, 257)
	unit, norm, dunit := c.result(130, 257), c.none(130), c.result(130, 257)
	c.named("Normalize NormalizeGrad", []device.Array{unit, norm, dunit}, func() {
		c.b.Normalize(unit, norm, x, 1e-12)
		c.b.NormalizeGrad(dunit, dy, unit, norm)
	})
	c.layerNorm(x, dy)
	c.layerNorm(c.given(133, 192), c.given(133, 192))
	soft, dsoft := c.result(130, 257), c.result(130, 257)
	c.named("Softmax SoftmaxGrad", []device.Array{soft, dsoft}, func() {
		c.b.Softmax(soft, x, true)
		c.b.SoftmaxGrad(dsoft, dy, soft, true)
	})
	loss, dz, target := c.none(130), c.result(130, 257), c.ints(257, 130)
	c.named("SoftmaxLoss", []device.Array{loss, dz}, func() {
		c.b.SoftmaxLoss(loss, dz, x, target, device.Softmax{Temperature: 0.1, Smoothing: 0.1})
	})
	qkv, length, o := c.given(3, 70, 3*2*24), c.ints(70, 3), device.Heads{Heads: 2}
	mixed, lse := c.result(3, 70, 2*24), c.none(3, 2, 70)
	dqkv, dmixed := c.result(3, 70, 3*2*24), c.given(3, 70, 2*24)
	c.products("Attention AttentionGrad", []device.Array{mixed, lse, dqkv}, func() {
		c.b.Attention(mixed, lse, qkv, length, o)
		c.b.AttentionGrad(dqkv, dmixed, mixed, lse, qkv, length, o)
	})
	odd, oddLength := c.given(2, 40, 3*9), c.ints(40, 2) // heads at odd addresses
	oddMixed, oddLSE, oddGrad, oddSlope := c.result(2, 40, 9), c.none(2, 3, 40), c.result(2, 40, 27), c.given(2, 40, 9)
	c.named("Attention AttentionGrad", []device.Array{oddMixed, oddLSE, oddGrad}, func() {
		c.b.Attention(oddMixed, oddLSE, odd, oddLength, device.Heads{Heads: 3, Causal: true})
		c.b.AttentionGrad(oddGrad, oddSlope, oddMixed, oddLSE, odd, oddLength, device.Heads{Heads: 3, Causal: true})
	})
}

func (c *caller) images() {
	x, w, dy, residual := c.given(c.n, 17, 16, 16), c.given(24, 3, 3, 16), c.given(c.n, 9, 8, 24), c.given(c.n, 9, 8, 24)
	shape, bias := device.ConvShape{StrideH: 2, StrideW: 2, PadH: 1, PadW: 1}, c.f32(24)
	y, dx, dw := c.result(c.n, 9, 8, 24), c.given(c.n, 17, 16, 16), c.f32(24, 3, 3, 16)
	dmasked, columns := c.result(c.n, 17, 16, 16), c.none(16)
	along, both, convStats := c.result(c.n, 17, 16, 16), c.none(2, 16), c.none(2, 24)
	c.products("Conv ConvGradX ConvGradW", []device.Array{y, convStats, dx, dmasked, columns, along, both, dw}, func() {
		c.b.Conv(y, x, w, shape, device.Epilogue{Bias: bias, Residual: residual, Act: device.ReLU, Stats: convStats})
		c.b.ConvGradX(dx, dy, w, shape, device.GradEpilogue{Add: dx})
		c.b.ConvGradX(dmasked, dy, w, shape, device.GradEpilogue{Add: dx, Mask: x, Sums: columns})
		c.b.ConvGradX(along, dy, w, shape, device.GradEpilogue{Add: dx, X: x, Mean: columns, Sums: both})
		c.b.ConvGradW(dw, dy, x, shape, 1)
	})
	master, scale, offset, mean, variance := c.f32(120, 3, 3, 16), c.f32(120), c.f32(120), c.f32(120), c.positive(120)
	wf, bf := c.result(120, 3, 3, 16), c.none(120)
	c.named("FoldNorm", []device.Array{wf, bf}, func() {
		c.b.FoldNorm(wf, bf, master, scale, offset, mean, variance, 1e-5)
	})
	gamma, beta := c.f32(24), c.f32(24)
	normed, stats := c.result(c.n, 9, 8, 24), c.none(2, 24)
	dnormed, dgiven := c.result(c.n, 9, 8, 24), c.result(c.n, 9, 8, 24)
	dg, db, kind := c.f32(24), c.f32(24), device.NormKind{Eps: 1e-5, ReLU: true}
	c.named("Norm NormGrad", []device.Array{normed, stats, dnormed, dgiven, dg, db}, func() {
		c.b.Norm(normed, stats, dy, gamma, beta, residual, kind)
		c.b.NormGrad(dnormed, dg, db, residual, dy, gamma, stats, absent, kind, 1)
		c.b.NormGrad(dgiven, absent, absent, residual, dy, gamma, stats, stats, kind, 0)
	})
	masked, dbias := c.result(c.n, 9, 8, 24), c.f32(24)
	alongDy, sums := c.result(c.n, 9, 8, 24), c.f32(2, 24)
	c.named("ReluGrad", []device.Array{masked, dbias, alongDy, sums}, func() {
		c.b.ReluGrad(masked, dy, device.GradEpilogue{Mask: residual, Sums: dbias}, 1)
		c.b.ReluGrad(alongDy, dy, device.GradEpilogue{Mask: residual, X: residual, Mean: dbias, Sums: sums}, 1)
	})
	pooled, dpooled, up := c.result(c.n, 5, 4, 24), c.result(c.n, 9, 8, 24), c.given(c.n, 5, 4, 24)
	window := device.PoolShape{H: 3, W: 3, StrideH: 2, StrideW: 2, PadH: 1, PadW: 1}
	c.named("Pool PoolGrad", []device.Array{pooled, dpooled}, func() {
		c.b.Pool(pooled, dy, window)
		c.b.PoolGrad(dpooled, up, dy, pooled, window)
	})
	means, dmeans, p := c.result(c.n, 24), c.given(c.n, 24), c.put(device.F32, flag(3))
	dm, dp := c.result(c.n, 9, 8, 24), c.f32(1)
	c.named("GeM GeMGrad", []device.Array{means, dm, dp}, func() {
		c.b.GeM(means, dy, p, 1e-6)
		c.b.GeMGrad(dm, dp, dmeans, dy, means, p, 1e-6, 1)
	})
	small := c.result(c.n, 5, 7, 16)
	c.named("Interpolate", []device.Array{small}, func() {
		c.b.Interpolate(small, x, device.Interpolation{AlignCorners: true})
	})
	raw, pixels := c.put(device.U8, c.whole(3, 20, 19, 3)), c.result(3, 17, 16, 4)
	crop := c.put(device.I32, &array{Dims: []int{3, 3}, V: []float64{1, 2, 0, 0, 0, 1, 2, 1, 1}})
	c.named("Pixels", []device.Array{pixels}, func() {
		c.b.Pixels(pixels, raw, crop, device.Pixel{Std: [3]float32{1, 2, 3}})
	})
}

func (c *caller) steps() {
	const n = 33000
	m, v, dw, free := c.f32(n), c.positive(n), c.f32(n), c.put(device.I32, flag(0))
	w, slow, momentum, mean, rate := c.f32(n), c.f32(n), c.f32(n), c.f32(n), c.put(device.F32, flag(0.25))
	constants := c.put(device.F32, hyper(3, 0.1, 0.01, 0.5, 0.9, 0.99))
	c.named("Adam", []device.Array{w, m, v}, func() {
		c.b.Adam(w, m, v, dw, absent, constants, free, device.AdamKind{Beta1: 0.9, Beta2: 0.99, Eps: 1e-8})
	})
	c.named("SGD", []device.Array{slow, momentum}, func() {
		c.b.SGD(slow, momentum, dw, absent, constants, free, device.SGDKind{Momentum: 0.9, Nesterov: true})
	})
	c.named("Average", []device.Array{mean}, func() { c.b.Average(mean, dw, rate, free) })
	running, stats, sound := c.f32(2, 700), c.positive(2, 700), c.put(device.I32, flag(0))
	c.named("Track", []device.Array{running, sound}, func() { c.b.Track(running, stats, rate, sound, 1.25) })
	paced, count := c.none(3), c.put(device.I32, flag(4))
	c.named("Pace", []device.Array{paced, count}, func() {
		c.b.Pace(paced, count, free, device.PaceKind{Beta1: 0.9, Beta2: 0.99})
	})
	broken, found := c.master(n), c.put(device.I32, flag(2))
	broken.V[5], broken.V[n-1] = math.NaN(), math.Inf(1)
	x := c.put(device.F32, broken)
	c.named("Guard", []device.Array{found}, func() { c.b.Guard(found, x) })
}

// Half of the rows of a ranking have many positives, the others few.
func (c *caller) rankings() {
	d := c.ranking(rankCase{q: 9, g: 600, levels: 2, positives: 0.02})
	for i := range d.shared.V[:5*d.g] {
		if d.shared.V[i] == 0 && c.r.IntN(2) == 0 {
			d.shared.V[i] = 1
		}
	}
	d.recount()
	s, sh, rel, cnt := c.onDevice(d)
	steps, plain := rankSteps()[1].Steps, &device.Score{}
	recall := &device.Score{Kind: device.ScoreRecall, At: []float32{1, 8}, Temp: []float32{1, 2}}
	for _, o := range []*device.Score{plain, recall} {
		loss, ds := c.none(d.q), c.none(d.q, d.g)
		c.named("RankLoss", []device.Array{loss, ds}, func() { c.b.RankLoss(loss, ds, s, sh, rel, cnt, steps, o) })
	}
	rank, plus := definedRanks(d, steps)
	r, p, scored, u, v := c.put(device.F32, rank), c.put(device.F32, plus), c.none(d.q), c.none(d.q, d.g), c.none(d.q, d.g)
	c.named("RankScore", []device.Array{scored, u, v}, func() {
		c.b.RankScore(scored, u, v, r, p, sh, rel, cnt, plain)
	})
	places, moved, drank := c.none(d.q, d.g), c.none(d.q, d.g), c.f32(d.q, d.g)
	c.named("Ranks RanksGrad", []device.Array{places, moved}, func() {
		c.b.Ranks(places, s, sh, 1)
		c.b.RanksGrad(moved, drank, s, sh, 4)
	})
	levels, order := c.alloc(device.U8, d.q, 50), c.alloc(device.I32, d.q, 50)
	c.named("Ranked", []device.Array{levels, order}, func() { c.b.Ranked(levels, order, s, sh) })
	table, counted, weight := c.none(d.q, 3), c.alloc(device.I32, d.q, 3), c.none(d.q)
	c.named("Relevance", []device.Array{table, counted, weight}, func() {
		c.b.Relevance(table, counted, weight, sh, device.RelKind{Mode: device.RelPop, Alpha: 1, Divisor: 2})
	})
	ql, gl, self, shared := c.ints(5, 9, 3), c.ints(5, 600, 3), c.ints(600, 9), c.alloc(device.U8, 9, 600)
	c.named("Shared", []device.Array{shared}, func() {
		c.b.Shared(shared, ql, gl, self, device.SharedKind{Self: device.SelfAbsent})
	})
}

func (c *caller) pairs() {
	d := c.ranking(rankCase{q: 9, g: 300, levels: 2, positives: 0.3})
	s, sh, _, _ := c.onDevice(d)
	binned, dbinned, bins := c.none(d.q), c.none(d.q, d.g), &device.Bins{N: 20, Min: -1, Max: 1}
	c.named("BinLoss", []device.Array{binned, dbinned}, func() {
		c.b.BinLoss(binned, dbinned, s, sh, bins)
	})
	for _, o := range []device.Pairs{
		{Kind: device.Contrastive, Mean: device.MeanPairs, PosMargin: 0.1},
		{Kind: device.MultiSimilarity, PosScale: 2, NegScale: 40, Base: 0.5, Ceiling: 1, Mine: true, PosMargin: 0.1},
		{Kind: device.Triplet, Mean: device.MeanTerms, PosMargin: 0.05},
		{Kind: device.EasyTriplet, Mean: device.MeanTerms, PosMargin: 0.05},
		{Kind: device.Levels, PosScale: 32, Margins: []float32{0.25, 0.45}},
		{Kind: device.Angular, PosScale: 30, PosMargin: 0.5, Smoothing: 0.1},
	} {
		loss, cnt, ds := c.none(d.q), c.alloc(device.I32, d.q, 2), c.none(d.q, d.g)
		c.named("PairLoss", []device.Array{loss, cnt, ds}, func() { c.b.PairLoss(loss, cnt, ds, s, sh, &o) })
	}
}

// bytes downloads a in memory order, row by row.
func (s *suite) bytes(a device.Array) []byte {
	s.Helper()
	data := make([]byte, a.Len()*a.Type.Size())
	if err := s.b.Wait(s.b.Download(data, a)); err != nil {
		s.Fatal(err)
	}
	return data
}

// reset restores the arrays that a call writes to their previous contents.
func (s *suite) reset(c *call) {
	for i, a := range c.out {
		s.b.Upload(a, c.before[i])
	}
}

// results downloads the arrays that a call has written.
func (s *suite) results(c *call) (list [][]byte) {
	s.Helper()
	for _, a := range c.out {
		list = append(list, s.bytes(a))
	}
	return list
}

// sameResults compares the bytes of two runs of a call.
func (s *suite) sameResults(when string, c *call, got, want [][]byte) {
	s.Helper()
	for i, a := range c.out {
		if !bytes.Equal(got[i], want[i]) {
			at := 0
			for got[i][at] == want[i][at] {
				at++
			}
			at /= a.Type.Size()
			s.Errorf("%v %s: result %d, %v: element %d is %g, want %g", c.ops, when, i, a, at, decode(a.Type, got[i])[at],
				decode(a.Type, want[i])[at])
		}
	}
}

// everyOperation fails if no call covers some computing method of device.Backend.
func (s *suite) everyOperation(list []call) {
	s.Helper()
	var have []string
	for _, c := range list {
		have = append(have, c.ops...)
	}
	all := reflect.TypeFor[device.Backend]()
	for i := range all.NumMethod() {
		name := all.Method(i).Name
		_, memory := reflect.TypeFor[device.Memory]().MethodByName(name)
		if (!memory || name == "Copy" || name == "Fill") && !slices.Contains(have, name) {
			s.Errorf("no call in calls.go covers %s", name)
		}
	}
}
