package conformance

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"hgld/internal/img"
	"hgld/internal/testing/effort"
	"hgld/train/device"
)

// manyRows exceeds 65,535, the largest second dimension of a grid, and has no convenient
// divisors. manyBlocks elements fill more than 65,535 blocks of 256.
const (
	manyRows   = 70001
	manyBlocks = 17_000_001
)

// rowwise is an operation that treats the rows of its arrays independently. run computes a
// range of rows of all arrays.
type rowwise struct {
	name string
	out  []device.Array
	run  func(out []device.Array, rows func(device.Array) device.Array)
}

// someRows covers the first and last rows and the points where a row number exceeds 15 and 16
// bits.
var someRows = [][2]int{{0, 64}, {32700, 32800}, {65500, 65600}, {manyRows - 64, manyRows}}

// testManyRows runs operations on many rows. It compares some rows with the result of the same
// operation on those rows alone, which other tests compare with the reference. It checks that
// all other rows were written. Unless tests are long, it runs two cheap operations: neither an
// emulated GPU nor the CPU has the limits of a GPU.
func testManyRows(s *suite, b device.Backend) {
	if !s.fits(3 * manyRows) {
		return
	}
	c := &caller{suite: s, b: b}
	if !OnCard() && !effort.Long() {
		for _, r := range c.manyVectors() {
			if r.name == "Sums of rows" || r.name == "Gather" {
				s.manyRowsOf(c, &r)
			}
		}
		return
	}
	for _, list := range [][]rowwise{c.manyVectors(), c.manyTokens(), c.manyImages(), c.manyQueries()} {
		for _, r := range list {
			s.manyRowsOf(c, &r)
		}
	}
	s.manyRowsIntoOne(b)
	s.manyMatrices(b)
	s.manyBlocks(b)
}

func (s *suite) manyRowsOf(c *caller, r *rowwise) {
	s.Helper()
	var whole []device.Array
	for _, a := range r.out {
		whole = append(whole, c.alloc(a.Type, a.Shape()...))
	}
	r.run(whole, func(a device.Array) device.Array { return a })
	for i, a := range whole {
		if at := slices.IndexFunc(s.get(a), math.IsNaN); at >= 0 {
			s.Fatalf("%s of many rows: element %d of result %d was not written", r.name, at, i)
		}
	}
	for _, cut := range someRows {
		some := func(a device.Array) device.Array { return a.RowRange(cut[0], cut[1]) }
		var parts []device.Array
		for _, a := range r.out {
			dims := append([]int{cut[1] - cut[0]}, a.Shape()[1:]...)
			parts = append(parts, c.alloc(a.Type, dims...))
		}
		r.run(parts, some)
		for i, a := range whole {
			what := fmt.Sprintf("%s of many rows, result %d, rows %v", r.name, i, cut)
			s.near(what, s.get(some(a)), s.get(parts[i]), elementTolerance, denormal)
		}
	}
}

// shape returns an array with the shape of a result but without memory.
func shape(t device.DType, dims ...int) device.Array { return device.Make(nil, 0, t, dims...) }

func (c *caller) manyVectors() []rowwise {
	const n = manyRows
	x, y, w, each, row, index := c.f32(n, 3), c.f32(n, 3), c.f32(5, 3), c.f32(n), c.f32(3), c.ints(5, n)
	m, column := []device.Array{shape(device.F32, n, 3)}, []device.Array{shape(device.F32, n)}
	type rows = func(device.Array) device.Array
	return []rowwise{
		{"Copy", []device.Array{shape(device.BF16, n, 3)}, func(out []device.Array, of rows) {
			c.b.Copy(out[0], of(x))
		}},
		{"Fill", m, func(out []device.Array, _ rows) { c.b.Fill(out[0], 3) }},
		{"MatMul", []device.Array{shape(device.F32, n, 5)}, func(out []device.Array, of rows) {
			c.b.MatMul(out[0], of(x), w, device.Mul{TransB: true, Alpha: 1})
		}},
		{"Scores", []device.Array{shape(device.F32, n, 5)}, func(out []device.Array, of rows) {
			c.b.Scores(out[0], of(x), w)
		}},
		{"Axpby", m, func(out []device.Array, of rows) { c.b.Axpby(out[0], 2, of(x), 3, row) }},
		{"Scale", m, func(out []device.Array, of rows) { c.b.Scale(out[0], of(x), of(each)) }},
		{"Sums of rows", column, func(out []device.Array, of rows) { c.b.Sums(out[0], of(x), device.SumRows, 0) }},
		{"ActSlope Scale", append(m, m...), func(out []device.Array, of rows) {
			c.b.ActSlope(out[0], out[1], of(x), device.GELU)
			c.b.Scale(out[1], out[1], of(y))
		}},
		{"Gather", m, func(out []device.Array, of rows) { c.b.Gather(out[0], w, of(index)) }},
		{"ReluGrad", m, func(out []device.Array, of rows) {
			c.b.ReluGrad(out[0], of(x), device.GradEpilogue{Mask: of(y)}, 0)
		}},
	}
}

func (c *caller) manyTokens() []rowwise {
	const n = manyRows
	x, dy, gamma, beta, target := c.f32(n, 5), c.f32(n, 5), c.f32(5), c.f32(5), c.ints(5, n)
	qkv, dmixed := c.f32(n, 2, 3*4), c.f32(n, 2, 4)
	each, m := shape(device.F32, n), shape(device.F32, n, 5)
	attended := []device.Array{shape(device.F32, n, 2, 4), shape(device.F32, n, 2, 2), shape(device.F32, n, 2, 12)}
	type rows = func(device.Array) device.Array
	return []rowwise{
		{"Normalize NormalizeGrad", []device.Array{m, each, m}, func(out []device.Array, of rows) {
			c.b.Normalize(out[0], out[1], of(x), 1e-12)
			c.b.NormalizeGrad(out[2], of(dy), out[0], out[1])
		}},
		{"LayerNorm LayerNormGrad", []device.Array{m, shape(device.F32, n, 2), m}, func(out []device.Array, of rows) {
			c.b.LayerNorm(out[0], out[1], of(x), gamma, beta, 1e-5)
			c.b.LayerNormGrad(out[2], absent, absent, of(dy), of(x), gamma, out[1], absent, 0)
		}},
		{"Softmax SoftmaxGrad", []device.Array{m, m}, func(out []device.Array, of rows) {
			c.b.Softmax(out[0], of(x), false)
			c.b.SoftmaxGrad(out[1], of(dy), out[0], false)
		}},
		{"SoftmaxLoss", []device.Array{each, m}, func(out []device.Array, of rows) {
			c.b.SoftmaxLoss(out[0], out[1], of(x), of(target), device.Softmax{Temperature: 1})
		}},
		{"Attention AttentionGrad", attended, func(out []device.Array, of rows) {
			c.b.Attention(out[0], out[1], of(qkv), absent, device.Heads{Heads: 2})
			c.b.AttentionGrad(out[2], of(dmixed), out[0], out[1], of(qkv), absent, device.Heads{Heads: 2})
		}},
	}
}

// manyPictures returns the arrays of Resample for manyRows images, which repeat a few pictures.
func (c *caller) manyPictures() (data, taps, images device.Array) {
	var list []resampling
	for side := range 7 {
		list = append(list, c.resized(img.Bilinear, [2]int{side + 1, 4}, [2]int{2, 2}))
	}
	pixels, weights, table := packImages(list)
	rows := slices.Repeat(table.V, manyRows/len(list)+1)[:manyRows*device.ImageCols]
	return c.put(device.U8, pixels), c.put(device.I32, weights),
		c.put(device.I32, &array{Dims: []int{manyRows, device.ImageCols}, V: rows})
}

func (c *caller) manyImages() []rowwise {
	const n = manyRows
	x, w, dy := c.f32(n, 2, 2, 4), c.f32(3, 2, 2, 4), c.f32(n, 1, 1, 3)
	gamma, beta, p := c.f32(4), c.f32(4), c.put(device.F32, flag(3))
	mean := c.master(2, 4)
	for i := range 4 {
		mean.V[4+i] = 1 + float64(i)
	}
	stats, up, raw := c.put(device.F32, mean), c.f32(n, 4), c.put(device.U8, c.whole(n, 2, 2, 3))
	data, taps, images := c.manyPictures()
	image, pooled := shape(device.F32, n, 2, 2, 4), shape(device.F32, n, 1, 1, 4)
	type rows = func(device.Array) device.Array
	return []rowwise{
		{"Conv ConvGradX", []device.Array{shape(device.F32, n, 1, 1, 3), image}, func(out []device.Array, of rows) {
			c.b.Conv(out[0], of(x), w, device.ConvShape{}, device.Epilogue{})
			c.b.ConvGradX(out[1], of(dy), w, device.ConvShape{}, device.GradEpilogue{})
		}},
		{"Norm of given statistics", []device.Array{image}, func(out []device.Array, of rows) {
			c.b.Norm(out[0], stats, of(x), gamma, beta, absent, device.NormKind{Eps: 1e-5, Frozen: true})
		}},
		{"Pool PoolGrad", []device.Array{pooled, image}, func(out []device.Array, of rows) {
			c.b.Pool(out[0], of(x), device.PoolShape{H: 2, W: 2})
			c.b.PoolGrad(out[1], of(up).Reshape(out[0].Shape()...), of(x), out[0], device.PoolShape{H: 2, W: 2})
		}},
		{"GeM GeMGrad", []device.Array{shape(device.F32, n, 4), image}, func(out []device.Array, of rows) {
			c.b.GeM(out[0], of(x), p, 1e-6)
			c.b.GeMGrad(out[1], absent, of(up), of(x), out[0], p, 1e-6, 0)
		}},
		{"Interpolate", []device.Array{shape(device.F32, n, 3, 1, 4)}, func(out []device.Array, of rows) {
			c.b.Interpolate(out[0], of(x), device.Interpolation{AlignCorners: true})
		}},
		{"Resample", []device.Array{shape(device.U8, n, 2, 2, 3)}, func(out []device.Array, of rows) {
			c.b.Resample(out[0], data, taps, of(images))
		}},
		{"Pixels", []device.Array{image}, func(out []device.Array, of rows) {
			c.b.Pixels(out[0], of(raw), absent, device.Pixel{Std: [3]float32{1, 1, 1}})
		}},
	}
}

func (c *caller) manyQueries() []rowwise {
	const n, g = manyRows, 3
	d := c.ranking(rankCase{q: n, g: g, levels: 1, positives: 0.5})
	s, sh, rel, cnt := c.onDevice(d)
	rank, plus := definedRanks(d, rankSteps()[0].Steps)
	r, p, drank := c.put(device.F32, rank), c.put(device.F32, plus), c.f32(n, g)
	ql, gl := c.ints(3, n, 2), c.ints(3, g, 2)
	each, m, levels := shape(device.F32, n), shape(device.F32, n, g), shape(device.U8, n, g)
	type rows = func(device.Array) device.Array
	return []rowwise{
		{"Shared", []device.Array{levels}, func(out []device.Array, of rows) {
			c.b.Shared(out[0], of(ql), gl, absent, device.SharedKind{})
		}},
		{"Relevance", []device.Array{shape(device.F32, n, 2), shape(device.I32, n, 2)}, func(out []device.Array, of rows) {
			c.b.Relevance(out[0], out[1], c.none(out[0].Dims[0]), of(sh), device.RelKind{Mode: device.RelPop, Alpha: 1,
				Divisor: 1})
		}},
		{"RankLoss", []device.Array{each, m}, func(out []device.Array, of rows) {
			c.b.RankLoss(out[0], out[1], of(s), of(sh), of(rel), of(cnt), rankSteps()[0].Steps, &device.Score{})
		}},
		{"RankScore", []device.Array{each, m, m}, func(out []device.Array, of rows) {
			c.b.RankScore(out[0], out[1], out[2], of(r), of(p), of(sh), of(rel), of(cnt), &device.Score{})
		}},
		{"Ranks RanksGrad", []device.Array{m, m}, func(out []device.Array, of rows) {
			c.b.Ranks(out[0], of(s), of(sh), 0)
			c.b.RanksGrad(out[1], of(drank), of(s), of(sh), 1)
		}},
		{"Ranked", []device.Array{levels, shape(device.I32, n, g)}, func(out []device.Array, of rows) {
			c.b.Ranked(out[0], out[1], of(s), of(sh))
		}},
		{"BinLoss", []device.Array{each, m}, func(out []device.Array, of rows) {
			c.b.BinLoss(out[0], out[1], of(s), of(sh), &device.Bins{N: 5, Min: -1, Max: 1})
		}},
		{"PairLoss", []device.Array{each, shape(device.I32, n, 2), m}, func(out []device.Array, of rows) {
			c.b.PairLoss(out[0], out[1], out[2], of(s), of(sh), &device.Pairs{Kind: device.Contrastive, PosMargin: 0.1})
			// The mean covers the queries of the call.
			share := float32(out[0].Dims[0])
			c.b.Axpby(out[0], share, out[0], 0, absent)
			c.b.Axpby(out[2], share, out[2], 0, absent)
		}},
	}
}

// manyRowsIntoOne compares sums over all rows, and ranks of many items, with the reference. A
// running sum of n numbers of size 1 grows to √n. Its n roundings of either sign leave an
// error of n·2^-24. A missing row would leave an error of 1.
func (s *suite) manyRowsIntoOne(b device.Backend) {
	const n, tolerance = manyRows, manyRows * 0x1p-24
	x, index := s.master(n, 3), zeros(n)
	sums, added := zeros(3), zeros(5, 3)
	for i := range n {
		index.V[i] = float64(s.r.IntN(5))
		for j, v := range x.Row(i) {
			sums.V[j] += v
			added.Row(int(index.V[i]))[j] += v
		}
	}
	dx, got := s.put(device.F32, x), s.alloc(device.F32, 3)
	b.Sums(got, dx, device.SumCols, 0)
	s.near("Sums of many rows", s.get(got), sums.V, 0, tolerance)
	scattered := s.alloc(device.F32, 5, 3)
	b.ScatterAdd(scattered, dx, s.put(device.I32, index), 0)
	s.near("ScatterAdd of many rows", s.get(scattered), added.V, 0, tolerance)
	score, places := zeros(1, n), zeros(1, n)
	for i, at := range s.r.Perm(n) {
		score.V[i], places.V[at] = float64(n-at), float64(i)
	}
	order, levels := s.alloc(device.I32, 1, n), s.alloc(device.U8, 1, n)
	b.Ranked(levels, order, s.put(device.F32, score), s.put(device.U8, zeros(1, n)))
	s.equal("Ranked of many items", order, places.V)
}

// manyMatrices multiplies a batch with more products than a grid's third dimension has blocks.
func (s *suite) manyMatrices(b device.Backend) {
	const n = manyRows
	x, y := s.master(n, 2, 1), s.master(n, 1, 2)
	want := zeros(n, 2, 2)
	for i := range want.V {
		want.V[i] = x.V[i/2] * y.V[i/4*2+i%2]
	}
	got := s.alloc(device.F32, n, 2, 2)
	b.MatMul(got, s.put(device.F32, x), s.put(device.F32, y), device.Mul{Alpha: 1})
	s.same("MatMul of many matrices", got, want.V, elementTolerance)
}

// manyBlocks computes arrays in which every element has the same value.
func (s *suite) manyBlocks(b device.Backend) {
	if !s.fits(manyBlocks) || !effort.Long() {
		return
	}
	x := s.alloc(device.F32, manyBlocks)
	b.Fill(x, 1.5)
	b.Axpby(x, 2, x, 0, absent)
	b.Act(x, x, device.ReLU)
	four := bytes.Repeat(encode(device.F32, []float64{3}), manyBlocks)
	if got := s.bytes(x); !bytes.Equal(got, four) {
		at := 0
		for got[at] == four[at] {
			at++
		}
		s.Errorf("Fill, Axpby and Act of %d elements: element %d is %g, want 3", manyBlocks, at/4,
			decode(device.F32, got)[at/4])
	}
}
