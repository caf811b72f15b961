// Package observe puts someone before a backend by whom its operations pass: a
// profiler, who measures them, a plan of memory, which leaves them out, or a test, which
// does them later.
package observe

import "hgld/train/device"

// Operations returns b with its operations observed. seen is told of each, with the
// floating-point operations of its products (0 where it has none), and does it or not.
//
// What b can do besides is observed too. A program that is recorded is kept as what
// makes its operations, so that every run of it passes by again.
func Operations(b device.Backend, seen func(op string, flops float64, do func())) device.Backend {
	o := &observer{Backend: b, seen: seen}
	if r, able := b.(device.Ragged); able {
		return &raggedObserver{o, r}
	}
	return o
}

// observer is a backend whose operations pass by seen.
type observer struct {
	device.Backend
	seen func(op string, flops float64, do func())
}

func (o *observer) MatMul(dst, a, b device.Array, m device.Mul) {
	o.seen("MatMul", products(dst, inner(a, m.TransA)), func() { o.Backend.MatMul(dst, a, b, m) })
}

func (o *observer) Scores(dst, q, g device.Array) {
	o.seen("Scores", products(dst, q.Cols()), func() { o.Backend.Scores(dst, q, g) })
}

func (o *observer) Axpby(dst device.Array, a float32, x device.Array, b float32, y device.Array) {
	o.seen("Axpby", 0, func() { o.Backend.Axpby(dst, a, x, b, y) })
}

func (o *observer) Scale(dst, x, s device.Array) {
	o.seen("Scale", 0, func() { o.Backend.Scale(dst, x, s) })
}

func (o *observer) Sums(dst, x device.Array, k device.Sum, acc float32) {
	o.seen("Sums", 0, func() { o.Backend.Sums(dst, x, k, acc) })
}

func (o *observer) Act(dst, x device.Array, f device.Func) {
	o.seen("Act", 0, func() { o.Backend.Act(dst, x, f) })
}

func (o *observer) ActGrad(dx, dy, x device.Array, f device.Func) {
	o.seen("ActGrad", 0, func() { o.Backend.ActGrad(dx, dy, x, f) })
}

func (o *observer) Normalize(dst, norm, x device.Array, eps float32) {
	o.seen("Normalize", 0, func() { o.Backend.Normalize(dst, norm, x, eps) })
}

func (o *observer) NormalizeGrad(dx, dy, y, norm device.Array) {
	o.seen("NormalizeGrad", 0, func() { o.Backend.NormalizeGrad(dx, dy, y, norm) })
}

func (o *observer) LayerNorm(dst, stats, x, gamma, beta device.Array, eps float32) {
	o.seen("LayerNorm", 0, func() { o.Backend.LayerNorm(dst, stats, x, gamma, beta, eps) })
}

func (o *observer) LayerNormGrad(dx, dgamma, dbeta, dy, x, gamma, stats device.Array, acc float32) {
	o.seen("LayerNormGrad", 0, func() { o.Backend.LayerNormGrad(dx, dgamma, dbeta, dy, x, gamma, stats, acc) })
}

func (o *observer) Softmax(dst, x device.Array, log bool) {
	o.seen("Softmax", 0, func() { o.Backend.Softmax(dst, x, log) })
}

func (o *observer) SoftmaxGrad(dx, dy, y device.Array, log bool) {
	o.seen("SoftmaxGrad", 0, func() { o.Backend.SoftmaxGrad(dx, dy, y, log) })
}

func (o *observer) Attention(dst, lse, qkv, length device.Array, h device.Heads) {
	o.seen("Attention", attention(dst, 2), func() { o.Backend.Attention(dst, lse, qkv, length, h) })
}

func (o *observer) AttentionGrad(dqkv, dy, y, lse, qkv, length device.Array, h device.Heads) {
	o.seen("AttentionGrad", attention(dy, 5), func() { o.Backend.AttentionGrad(dqkv, dy, y, lse, qkv, length, h) })
}

func (o *observer) SoftmaxLoss(loss, dz, z, target device.Array, s device.Softmax) {
	o.seen("SoftmaxLoss", 0, func() { o.Backend.SoftmaxLoss(loss, dz, z, target, s) })
}

func (o *observer) Gather(dst, x, index device.Array) {
	o.seen("Gather", 0, func() { o.Backend.Gather(dst, x, index) })
}

func (o *observer) ScatterAdd(dst, x, index device.Array, acc float32) {
	o.seen("ScatterAdd", 0, func() { o.Backend.ScatterAdd(dst, x, index, acc) })
}

func (o *observer) Random(dst, key device.Array, stream uint32, d device.Dist) {
	o.seen("Random", 0, func() { o.Backend.Random(dst, key, stream, d) })
}

func (o *observer) Adam(w, m, v, dw, shadow, hyper, flag device.Array, k device.AdamKind) {
	o.seen("Adam", 0, func() { o.Backend.Adam(w, m, v, dw, shadow, hyper, flag, k) })
}

func (o *observer) SGD(w, m, dw, shadow, hyper, flag device.Array, k device.SGDKind) {
	o.seen("SGD", 0, func() { o.Backend.SGD(w, m, dw, shadow, hyper, flag, k) })
}

func (o *observer) Pace(dst, count, flag device.Array, k device.PaceKind) {
	o.seen("Pace", 0, func() { o.Backend.Pace(dst, count, flag, k) })
}

func (o *observer) Average(dst, x, rate, flag device.Array) {
	o.seen("Average", 0, func() { o.Backend.Average(dst, x, rate, flag) })
}

func (o *observer) Guard(flag, x device.Array) {
	o.seen("Guard", 0, func() { o.Backend.Guard(flag, x) })
}

func (o *observer) Conv(dst, x, w device.Array, c device.ConvShape, e device.Epilogue) {
	o.seen("Conv", products(dst, w.Len()/w.Dims[0]), func() { o.Backend.Conv(dst, x, w, c, e) })
}

func (o *observer) ConvGradX(dx, dy, w device.Array, c device.ConvShape, acc float32) {
	o.seen("ConvGradX", products(dy, w.Len()/w.Dims[0]), func() { o.Backend.ConvGradX(dx, dy, w, c, acc) })
}

func (o *observer) ConvGradW(dw, dy, x device.Array, c device.ConvShape, acc float32) {
	o.seen("ConvGradW", products(dy, dw.Len()/dw.Dims[0]), func() { o.Backend.ConvGradW(dw, dy, x, c, acc) })
}

func (o *observer) FoldNorm(wf, bf, w, gamma, beta, mean, variance device.Array, eps float32) {
	o.seen("FoldNorm", 0, func() { o.Backend.FoldNorm(wf, bf, w, gamma, beta, mean, variance, eps) })
}

func (o *observer) FoldNormGrad(dw, dgamma, dbeta, dwf, dbf, w, gamma, mean, variance device.Array, eps, acc float32) {
	o.seen("FoldNormGrad", 0, func() { o.Backend.FoldNormGrad(dw, dgamma, dbeta, dwf, dbf, w, gamma, mean, variance, eps, acc) })
}

func (o *observer) Norm(dst, stats, x, gamma, beta, residual device.Array, k device.NormKind) {
	o.seen("Norm", 0, func() { o.Backend.Norm(dst, stats, x, gamma, beta, residual, k) })
}

func (o *observer) NormGrad(dx, dres, dgamma, dbeta, dy, x, y, gamma, stats device.Array, k device.NormKind, acc float32) {
	o.seen("NormGrad", 0, func() { o.Backend.NormGrad(dx, dres, dgamma, dbeta, dy, x, y, gamma, stats, k, acc) })
}

func (o *observer) ReluGrad(dx, dbias, dy, y device.Array, acc float32) {
	o.seen("ReluGrad", 0, func() { o.Backend.ReluGrad(dx, dbias, dy, y, acc) })
}

func (o *observer) Pool(dst, x device.Array, p device.PoolShape) {
	o.seen("Pool", 0, func() { o.Backend.Pool(dst, x, p) })
}

func (o *observer) PoolGrad(dx, dy, x, y device.Array, p device.PoolShape) {
	o.seen("PoolGrad", 0, func() { o.Backend.PoolGrad(dx, dy, x, y, p) })
}

func (o *observer) GeM(dst, x, p device.Array, eps float32) {
	o.seen("GeM", 0, func() { o.Backend.GeM(dst, x, p, eps) })
}

func (o *observer) GeMGrad(dx, dp, dy, x, y, p device.Array, eps, acc float32) {
	o.seen("GeMGrad", 0, func() { o.Backend.GeMGrad(dx, dp, dy, x, y, p, eps, acc) })
}

func (o *observer) Interpolate(dst, x device.Array, i device.Interpolation) {
	o.seen("Interpolate", 0, func() { o.Backend.Interpolate(dst, x, i) })
}

func (o *observer) Pixels(dst, bytes, crop device.Array, p device.Pixel) {
	o.seen("Pixels", 0, func() { o.Backend.Pixels(dst, bytes, crop, p) })
}

func (o *observer) Shared(sh, ql, gl, self device.Array, k device.SharedKind) {
	o.seen("Shared", 0, func() { o.Backend.Shared(sh, ql, gl, self, k) })
}

func (o *observer) Relevance(rel, cnt, weight, sh device.Array, k device.RelKind) {
	o.seen("Relevance", 0, func() { o.Backend.Relevance(rel, cnt, weight, sh, k) })
}

func (o *observer) RankScore(loss, drank, dplus, rank, plus, sh, rel, cnt device.Array, k *device.Score) {
	o.seen("RankScore", 0, func() { o.Backend.RankScore(loss, drank, dplus, rank, plus, sh, rel, cnt, k) })
}

func (o *observer) RankLoss(loss, ds, s, sh, rel, cnt device.Array, h *device.Steps, k *device.Score) {
	o.seen("RankLoss", 0, func() { o.Backend.RankLoss(loss, ds, s, sh, rel, cnt, h, k) })
}

func (o *observer) Ranks(rank, s, sh device.Array, least uint8) {
	o.seen("Ranks", 0, func() { o.Backend.Ranks(rank, s, sh, least) })
}

func (o *observer) Ranked(shared, order, s, sh device.Array) {
	o.seen("Ranked", 0, func() { o.Backend.Ranked(shared, order, s, sh) })
}

func (o *observer) RanksGrad(ds, drank, s, sh device.Array, lambda float32) {
	o.seen("RanksGrad", 0, func() { o.Backend.RanksGrad(ds, drank, s, sh, lambda) })
}

func (o *observer) BinLoss(loss, ds, s, sh device.Array, k *device.Bins) {
	o.seen("BinLoss", 0, func() { o.Backend.BinLoss(loss, ds, s, sh, k) })
}

func (o *observer) PairLoss(loss, cnt, ds, s, sh device.Array, k *device.Pairs) {
	o.seen("PairLoss", 0, func() { o.Backend.PairLoss(loss, cnt, ds, s, sh, k) })
}

func (o *observer) Copy(dst, src device.Array) {
	o.seen("Copy", 0, func() { o.Backend.Copy(dst, src) })
}

func (o *observer) Fill(dst device.Array, v float32) {
	o.seen("Fill", 0, func() { o.Backend.Fill(dst, v) })
}

// Pack is passed on: it is no operation of a step.
func (o *observer) Pack(w device.Array, transB bool) bool {
	p, able := o.Backend.(device.Packer)
	return able && p.Pack(w, transB)
}

// HostBuffer is passed on.
func (o *observer) HostBuffer(bytes int) device.HostBuffer {
	if p, able := o.Backend.(device.Pinned); able {
		return p.HostBuffer(bytes)
	}
	return nil
}

// Record keeps f itself, so that every operation of every run is observed.
func (o *observer) Record(f func()) (device.Program, error) { return observedProgram(f), nil }

type observedProgram func()

func (p observedProgram) Run() { p() }
func (observedProgram) Close() {}

// raggedObserver is an observer of a device that is Ragged.
type raggedObserver struct {
	*observer
	ragged device.Ragged
}

func (o *raggedObserver) RaggedAttention(dst, qkv, rows, keys, spans device.Array, heads int) {
	o.seen("RaggedAttention", 0, func() { o.ragged.RaggedAttention(dst, qkv, rows, keys, spans, heads) })
}

// products is the operations of a product of matrices: for every element of dst a
// multiplication and an addition for each of inner.
func products(dst device.Array, inner int) float64 { return 2 * float64(dst.Len()) * float64(inner) }

// inner is the dimension over which MatMul sums.
func inner(a device.Array, transposed bool) int {
	if transposed {
		return a.Dims[a.N-2]
	}
	return a.Cols()
}

// attention is the operations of so many products of tokens with tokens.
func attention(y device.Array, n int) float64 { return float64(n) * products(y, y.Dims[1]) }
