package observe

import "hgld/train/device"

// whole passes on an operation without products that moves each of its arrays once, and more bytes.
func (obs *observer) whole(op string, results int, more float64, all arrays, do func()) {
	for _, a := range all {
		more += moved(*a)
	}
	obs.seen(Call{op, 0, more, results, all}, do)
}

func (obs *observer) Copy(dst, src device.Array) {
	obs.whole("Copy", 1, 0, arrays{&dst, &src}, func() { obs.Backend.Copy(dst, src) })
}

func (obs *observer) Fill(dst device.Array, v float32) {
	obs.whole("Fill", 1, 0, arrays{&dst}, func() { obs.Backend.Fill(dst, v) })
}

func (obs *observer) MatMul(dst, a, b device.Array, m device.Mul) {
	bytes := moved(dst, m.Sums, a, b, m.Bias, m.Factor) + added(m.Beta, joined(dst, m))
	used := arrays{&dst, &m.Sums, &a, &b, &m.Bias, &m.Short, &m.Add, &m.Factor}
	obs.seen(Call{"MatMul", products(dst, inner(a, m.TransA)), bytes, 2, used},
		func() { obs.Backend.MatMul(dst, a, b, m) })
}

func (obs *observer) Scores(dst, q, g device.Array) {
	obs.seen(Call{"Scores", products(dst, q.Cols()), moved(dst, q, g), 1, arrays{&dst, &q, &g}},
		func() { obs.Backend.Scores(dst, q, g) })
}

func (obs *observer) Axpby(dst device.Array, a float32, x device.Array, b float32, y device.Array) {
	obs.seen(Call{"Axpby", 0, axpbyBytes(dst, x, b, y), 1, arrays{&dst, &x, &y}},
		func() { obs.Backend.Axpby(dst, a, x, b, y) })
}

func (obs *observer) Scale(dst, x, s device.Array) {
	obs.whole("Scale", 1, 0, arrays{&dst, &x, &s}, func() { obs.Backend.Scale(dst, x, s) })
}

func (obs *observer) Sums(dst, x device.Array, k device.Sum, acc float32) {
	obs.whole("Sums", 1, added(acc, dst), arrays{&dst, &x}, func() { obs.Backend.Sums(dst, x, k, acc) })
}

func (obs *observer) Act(dst, x device.Array, f device.Func) {
	obs.whole("Act", 1, 0, arrays{&dst, &x}, func() { obs.Backend.Act(dst, x, f) })
}

func (obs *observer) ActSlope(dst, slope, x device.Array, f device.Func) {
	obs.whole("ActSlope", 2, 0, arrays{&dst, &slope, &x}, func() { obs.Backend.ActSlope(dst, slope, x, f) })
}

func (obs *observer) Normalize(dst, norm, x device.Array, eps float32) {
	obs.whole("Normalize", 2, 0, arrays{&dst, &norm, &x}, func() { obs.Backend.Normalize(dst, norm, x, eps) })
}

func (obs *observer) NormalizeGrad(dx, dy, y, norm device.Array) {
	obs.whole("NormalizeGrad", 1, 0, arrays{&dx, &dy, &y, &norm}, func() { obs.Backend.NormalizeGrad(dx, dy, y, norm) })
}

func (obs *observer) LayerNorm(dst, stats, x, gamma, beta device.Array, eps float32) {
	obs.whole("LayerNorm", 2, 0, arrays{&dst, &stats, &x, &gamma, &beta},
		func() { obs.Backend.LayerNorm(dst, stats, x, gamma, beta, eps) })
}

func (obs *observer) LayerNormGrad(dx, dgamma, dbeta, dy, x, gamma, stats, add device.Array, acc float32) {
	obs.whole("LayerNormGrad", 3, added(acc, dgamma, dbeta), arrays{&dx, &dgamma, &dbeta, &dy, &x, &gamma, &stats, &add},
		func() { obs.Backend.LayerNormGrad(dx, dgamma, dbeta, dy, x, gamma, stats, add, acc) })
}

func (obs *observer) Softmax(dst, x device.Array, log bool) {
	obs.whole("Softmax", 1, 0, arrays{&dst, &x}, func() { obs.Backend.Softmax(dst, x, log) })
}

func (obs *observer) SoftmaxGrad(dx, dy, y device.Array, log bool) {
	obs.whole("SoftmaxGrad", 1, 0, arrays{&dx, &dy, &y}, func() { obs.Backend.SoftmaxGrad(dx, dy, y, log) })
}

func (obs *observer) Attention(dst, lse, qkv, length device.Array, o device.Heads) {
	obs.seen(Call{"Attention", attention(dst, 2), moved(dst, lse, qkv, length), 2, arrays{&dst, &lse, &qkv, &length}},
		func() { obs.Backend.Attention(dst, lse, qkv, length, o) })
}

func (obs *observer) AttentionGrad(dqkv, dy, y, lse, qkv, length device.Array, o device.Heads) {
	obs.seen(Call{"AttentionGrad", attention(dy, 5), moved(dqkv, dy, y, lse, qkv, length),
		1, arrays{&dqkv, &dy, &y, &lse, &qkv, &length}},
		func() { obs.Backend.AttentionGrad(dqkv, dy, y, lse, qkv, length, o) })
}

func (obs *observer) SoftmaxLoss(loss, dz, z, target device.Array, o device.Softmax) {
	obs.whole("SoftmaxLoss", 2, 0, arrays{&loss, &dz, &z, &target},
		func() { obs.Backend.SoftmaxLoss(loss, dz, z, target, o) })
}

func (obs *observer) Gather(dst, x, index device.Array) {
	obs.seen(Call{"Gather", 0, 2*moved(dst) + moved(index), 1, arrays{&dst, &x, &index}},
		func() { obs.Backend.Gather(dst, x, index) })
}

func (obs *observer) ScatterAdd(dst, x, index device.Array, acc float32) {
	obs.seen(Call{"ScatterAdd", 0, (2+float64(acc))*moved(x) + moved(index), 1, arrays{&dst, &x, &index}},
		func() { obs.Backend.ScatterAdd(dst, x, index, acc) })
}

func (obs *observer) Random(dst, key device.Array, stream uint32, d device.Dist) {
	obs.whole("Random", 1, 0, arrays{&dst, &key}, func() { obs.Backend.Random(dst, key, stream, d) })
}

func (obs *observer) Adam(w, m, v, dw, shadow, hyper, flag device.Array, o device.AdamKind) {
	obs.whole("Adam", 4, moved(w, m, v), arrays{&w, &m, &v, &shadow, &dw, &hyper, &flag},
		func() { obs.Backend.Adam(w, m, v, dw, shadow, hyper, flag, o) })
}

func (obs *observer) SGD(w, m, dw, shadow, hyper, flag device.Array, o device.SGDKind) {
	obs.whole("SGD", 3, moved(w, m), arrays{&w, &m, &shadow, &dw, &hyper, &flag},
		func() { obs.Backend.SGD(w, m, dw, shadow, hyper, flag, o) })
}

func (obs *observer) Pace(dst, count, flag device.Array, o device.PaceKind) {
	obs.whole("Pace", 2, 0, arrays{&dst, &count, &flag}, func() { obs.Backend.Pace(dst, count, flag, o) })
}

func (obs *observer) Average(dst, x, rate, flag device.Array) {
	obs.seen(Call{"Average", 0, 2*moved(dst) + moved(x, rate, flag), 1, arrays{&dst, &x, &rate, &flag}},
		func() { obs.Backend.Average(dst, x, rate, flag) })
}

func (obs *observer) Track(running, stats, rate, flag device.Array, unbiased float32) {
	obs.whole("Track", 2, moved(running, flag), arrays{&running, &flag, &stats, &rate},
		func() { obs.Backend.Track(running, stats, rate, flag, unbiased) })
}

func (obs *observer) Guard(flag, x device.Array) {
	obs.whole("Guard", 1, 0, arrays{&flag, &x}, func() { obs.Backend.Guard(flag, x) })
}

func (obs *observer) Conv(dst, x, w device.Array, c device.ConvShape, e device.Epilogue) {
	obs.seen(Call{"Conv", products(dst, w.Len()/w.Dims[0]), moved(dst, e.Stats, x, w, e.Bias, e.Residual),
		2, arrays{&dst, &e.Stats, &x, &w, &e.Bias, &e.Residual}},
		func() { obs.Backend.Conv(dst, x, w, c, e) })
}

func (obs *observer) ConvGradX(dx, dy, w device.Array, c device.ConvShape, e device.GradEpilogue) {
	obs.seen(Call{"ConvGradX", products(dy, w.Len()/w.Dims[0]), moved(dx, e.Sums, dy, w, e.Add, e.Mask, e.X, e.Mean),
		2, arrays{&dx, &e.Sums, &dy, &w, &e.Add, &e.Mask, &e.X, &e.Mean}},
		func() { obs.Backend.ConvGradX(dx, dy, w, c, e) })
}

func (obs *observer) ConvGradW(dw, dy, x device.Array, c device.ConvShape, acc float32) {
	obs.seen(Call{"ConvGradW", products(dy, dw.Len()/dw.Dims[0]), moved(dw, dy, x) + added(acc, dw),
		1, arrays{&dw, &dy, &x}},
		func() { obs.Backend.ConvGradW(dw, dy, x, c, acc) })
}

func (obs *observer) FoldNorm(wf, bf, w, gamma, beta, mean, variance device.Array, eps float32) {
	obs.whole("FoldNorm", 2, 0, arrays{&wf, &bf, &w, &gamma, &beta, &mean, &variance},
		func() { obs.Backend.FoldNorm(wf, bf, w, gamma, beta, mean, variance, eps) })
}

func (obs *observer) FoldNormGrad(dw, dgamma, dbeta, dwf, dbf, w, gamma, mean, variance device.Array,
	eps, acc float32) {
	obs.whole("FoldNormGrad", 3, added(acc, dw, dgamma, dbeta),
		arrays{&dw, &dgamma, &dbeta, &dwf, &dbf, &w, &gamma, &mean, &variance},
		func() { obs.Backend.FoldNormGrad(dw, dgamma, dbeta, dwf, dbf, w, gamma, mean, variance, eps, acc) })
}

func (obs *observer) Norm(dst, stats, x, gamma, beta, residual device.Array, o device.NormKind) {
	obs.whole("Norm", 2, unless(o.Frozen, x), arrays{&dst, &stats, &x, &gamma, &beta, &residual},
		func() { obs.Backend.Norm(dst, stats, x, gamma, beta, residual, o) })
}

func (obs *observer) NormGrad(dx, dgamma, dbeta, dy, x, gamma, stats, sums device.Array, o device.NormKind,
	acc float32) {
	obs.whole("NormGrad", 3, added(acc, dgamma, dbeta)+unless(!sums.Absent(), dy, x),
		arrays{&dx, &dgamma, &dbeta, &dy, &x, &gamma, &stats, &sums},
		func() { obs.Backend.NormGrad(dx, dgamma, dbeta, dy, x, gamma, stats, sums, o, acc) })
}

func (obs *observer) ReluGrad(dx, dy device.Array, e device.GradEpilogue, acc float32) {
	obs.whole("ReluGrad", 2, added(acc, e.Sums), arrays{&dx, &e.Sums, &dy, &e.Add, &e.Mask, &e.X, &e.Mean},
		func() { obs.Backend.ReluGrad(dx, dy, e, acc) })
}

func (obs *observer) Pool(dst, x device.Array, p device.PoolShape) {
	obs.whole("Pool", 1, 0, arrays{&dst, &x}, func() { obs.Backend.Pool(dst, x, p) })
}

func (obs *observer) PoolGrad(dx, dy, x, y device.Array, p device.PoolShape) {
	obs.whole("PoolGrad", 1, 0, arrays{&dx, &dy, &x, &y}, func() { obs.Backend.PoolGrad(dx, dy, x, y, p) })
}

func (obs *observer) GeM(dst, x, p device.Array, eps float32) {
	obs.whole("GeM", 1, 0, arrays{&dst, &x, &p}, func() { obs.Backend.GeM(dst, x, p, eps) })
}

func (obs *observer) GeMGrad(dx, dp, dy, x, y, p device.Array, eps, acc float32) {
	obs.whole("GeMGrad", 2, added(acc, dx, dp), arrays{&dx, &dp, &dy, &x, &y, &p},
		func() { obs.Backend.GeMGrad(dx, dp, dy, x, y, p, eps, acc) })
}

func (obs *observer) Interpolate(dst, x device.Array, o device.Interpolation) {
	obs.whole("Interpolate", 1, 0, arrays{&dst, &x}, func() { obs.Backend.Interpolate(dst, x, o) })
}

func (obs *observer) Resample(dst, bytes, taps, images device.Array) {
	obs.whole("Resample", 1, 0, arrays{&dst, &bytes, &taps, &images},
		func() { obs.Backend.Resample(dst, bytes, taps, images) })
}

func (obs *observer) Pixels(dst, bytes, crop device.Array, o device.Pixel) {
	obs.whole("Pixels", 1, 0, arrays{&dst, &bytes, &crop}, func() { obs.Backend.Pixels(dst, bytes, crop, o) })
}

func (obs *observer) Shared(sh, ql, gl, self device.Array, o device.SharedKind) {
	obs.whole("Shared", 1, 0, arrays{&sh, &ql, &gl, &self}, func() { obs.Backend.Shared(sh, ql, gl, self, o) })
}

func (obs *observer) Relevance(rel, cnt, weight, sh device.Array, o device.RelKind) {
	obs.whole("Relevance", 3, 0, arrays{&rel, &cnt, &weight, &sh},
		func() { obs.Backend.Relevance(rel, cnt, weight, sh, o) })
}

func (obs *observer) RankScore(loss, drank, dplus, rank, plus, sh, rel, cnt device.Array, o *device.Score) {
	obs.whole("RankScore", 3, 0, arrays{&loss, &drank, &dplus, &rank, &plus, &sh, &rel, &cnt},
		func() { obs.Backend.RankScore(loss, drank, dplus, rank, plus, sh, rel, cnt, o) })
}

func (obs *observer) RankLoss(loss, ds, s, sh, rel, cnt device.Array, h *device.Steps, o *device.Score) {
	obs.whole("RankLoss", 2, 0, arrays{&loss, &ds, &s, &sh, &rel, &cnt},
		func() { obs.Backend.RankLoss(loss, ds, s, sh, rel, cnt, h, o) })
}

func (obs *observer) Ranks(rank, s, sh device.Array, least uint8) {
	obs.whole("Ranks", 1, 0, arrays{&rank, &s, &sh}, func() { obs.Backend.Ranks(rank, s, sh, least) })
}

func (obs *observer) Ranked(shared, order, s, sh device.Array) {
	obs.whole("Ranked", 1, 0, arrays{&shared, &order, &s, &sh}, func() { obs.Backend.Ranked(shared, order, s, sh) })
}

func (obs *observer) RanksGrad(ds, drank, s, sh device.Array, lambda float32) {
	obs.whole("RanksGrad", 1, 0, arrays{&ds, &drank, &s, &sh},
		func() { obs.Backend.RanksGrad(ds, drank, s, sh, lambda) })
}

func (obs *observer) BinLoss(loss, ds, s, sh device.Array, o *device.Bins) {
	obs.whole("BinLoss", 2, 0, arrays{&loss, &ds, &s, &sh}, func() { obs.Backend.BinLoss(loss, ds, s, sh, o) })
}

func (obs *observer) PairLoss(loss, cnt, ds, s, sh device.Array, o *device.Pairs) {
	obs.whole("PairLoss", 3, 0, arrays{&loss, &cnt, &ds, &s, &sh},
		func() { obs.Backend.PairLoss(loss, cnt, ds, s, sh, o) })
}
