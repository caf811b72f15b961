package cpu

import (
	"math"

	"hgld/internal/vec"
	"hgld/train/device"
)

// LayerNorm computes dst = γ(x − mean)/√(variance + eps) + β over the last axis. It computes
// the biased variance in two passes. stats [rows,2] receives mean and 1/√(variance + eps).
// gamma and beta have one row and may be absent.
func (b *Backend) LayerNorm(dst, stats, x, gamma, beta device.Array, eps float32) {
	rows, width := x.Rows(), x.Cols()
	if dst.Len() != x.Len() || dst.Cols() != width || stats.Len() != 2*rows || !device.AreVectors(width, gamma, beta) {
		panic(shapes("LayerNorm", dst, stats, x, gamma, beta))
	}
	split(b, rows, rowGrain(width), layerNormTask{matrixOf(dst), matrixOf(x), f32(stats),
		b.orConstant(f32(gamma), "layernorm.gamma", width, 1), b.orConstant(f32(beta), "layernorm.beta", width, 0),
		float64(eps)})
}

type layerNormTask struct {
	dst, x             matrix
	stats, gamma, beta []float32
	eps                float64
}

func (t *layerNormTask) span(_, lo, hi int) {
	n := float64(t.x.width)
	for i := lo; i < hi; i++ {
		x := t.x.row(i)
		mean := vec.Sum(x) / n
		r := 1 / math.Sqrt(vec.Spread(x, mean)/n+t.eps)
		t.stats[2*i], t.stats[2*i+1] = float32(mean), float32(r)
		vec.LayerRow(t.dst.row(i), x, t.gamma, t.beta, mean, r)
	}
}

// orConstant returns x. If x is absent, it returns n copies of v, cached under name.
func (b *Backend) orConstant(x []float32, name string, n int, v float32) []float32 {
	if x != nil {
		return x
	}
	x = scratch[float32](b, name, n)
	for i := range x {
		x[i] = v
	}
	return x
}

// LayerNormGrad computes the gradient of LayerNorm. With x̂ = (x − mean)·r and g = γ·dy:
//
//	dx = add + r(g − mean(g) − x̂·mean(g·x̂)), dγ = Σ dy·x̂, dβ = Σ dy over the rows.
//
// dgamma, dbeta and add may be absent.
func (b *Backend) LayerNormGrad(dx, dgamma, dbeta, dy, x, gamma, stats, add device.Array, acc float32) {
	rows, width := x.Rows(), x.Cols()
	if dx.Len() != x.Len() || dy.Len() != x.Len() || dx.Cols() != width || dy.Cols() != width || stats.Len() != 2*rows ||
		!device.AreVectors(width, gamma, dgamma, dbeta) ||
		!add.Absent() && (add.Len() != x.Len() || add.Cols() != width) {
		panic(shapes("LayerNormGrad", dx, dgamma, dbeta, dy, x, gamma, stats, add))
	}
	grain := rowGrain(width)
	parts := scratch[float64](b, "layernorm", (rows+grain-1)/grain*2*width)
	split(b, rows, grain, layerNormGradTask{matrixOf(dx), matrixOf(dy), matrixOf(x), matrixOf(add),
		b.orConstant(f32(gamma), "layernorm.gamma", width, 1), f32(stats), parts, grain})
	joinPairs(f32(dgamma), f32(dbeta), parts, width, acc)
}

// joinPairs adds up runs of 2·width sums. The first half of a run belongs to dgamma, the
// second to dbeta.
func joinPairs(dgamma, dbeta []float32, parts []float64, width int, acc float32) {
	total(parts, 2*width)
	if len(parts) == 0 {
		join(dgamma, nil, width, acc)
		join(dbeta, nil, width, acc)
		return
	}
	join(dgamma, parts[:width], width, acc)
	join(dbeta, parts[width:2*width], width, acc)
}

type layerNormGradTask struct {
	dx, dy, x, add matrix
	gamma, stats   []float32
	parts          []float64 // dγ and dβ of each span
	grain          int
}

func (t *layerNormGradTask) span(_, lo, hi int) {
	width := t.x.width
	part := t.parts[lo/t.grain*2*width:][:2*width]
	clear(part)
	dgamma, dbeta := part[:width], part[width:]
	n := float64(width)
	for i := lo; i < hi; i++ {
		dx, dy, x, add := t.dx.row(i), t.dy.row(i), t.x.row(i), t.add.row(i)
		mean, r := float64(t.stats[2*i]), float64(t.stats[2*i+1])
		sum, along := vec.LayerSums(dgamma, dbeta, dy, x, t.gamma, mean, r)
		if add == nil {
			vec.LayerBack(dx, dy, x, t.gamma, mean, r, sum/n, along/n)
			continue
		}
		for lo := 0; lo < width; lo += len(layerRun{}) {
			var run layerRun
			hi := min(lo+len(run), width)
			vec.LayerBack(run[:hi-lo], dy[lo:hi], x[lo:hi], t.gamma[lo:hi], mean, r, sum/n, along/n)
			for j, v := range run[:hi-lo] {
				dx[lo+j] = add[lo+j] + v
			}
		}
	}
}

// layerRun holds the gradient of some elements of a row before it is added to others: dx may be add.
type layerRun [512]float32

// gain returns γ of channel j, or 1 if gamma is absent.
func gain(gamma []float32, j int) float64 {
	if gamma == nil {
		return 1
	}
	return float64(gamma[j])
}
