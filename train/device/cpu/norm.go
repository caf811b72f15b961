package cpu

import (
	"math"

	"hgld/internal/vec"
	"hgld/train/device"
)

// Norm is batch normalisation of x [..., C], channel by channel:
//
//	dst = γ(x − mean)/√(variance + eps) + β (+ residual) (then ReLU)
//
// stats [2,C] holds mean and biased variance. It is an input if o.Frozen, else an output.
// gamma, beta and residual may be absent.
func (b *Backend) Norm(dst, stats, x, gamma, beta, residual device.Array, o device.NormKind) {
	rows, c := x.Rows(), x.Cols()
	if dst.Len() != x.Len() || dst.Cols() != c || stats.Len() != 2*c || !isVector(gamma, c) || !isVector(beta, c) ||
		!residual.Absent() && residual.Len() != x.Len() || !x.Contiguous() || !dst.Contiguous() || !stats.Contiguous() {
		panic(shapes("Norm", dst, stats, x, gamma, beta, residual))
	}
	mean := scratch[float64](b, "norm.mean", c)
	st := f32(stats)
	if o.Frozen {
		for j := range mean {
			mean[j] = float64(st[j])
		}
	} else {
		b.channelStats(st, mean, f32(x), rows, c)
	}
	scale, shift := scratch[float32](b, "norm.scale", c), scratch[float32](b, "norm.shift", c)
	g, bias := f32(gamma), f32(beta)
	for j := range scale {
		r := gain(g, j) / math.Sqrt(float64(st[c+j])+float64(o.Eps))
		s := (float64(st[j]) - mean[j]) * r // rounding error of the stored mean
		if bias != nil {
			s += float64(bias[j])
		}
		scale[j], shift[j] = float32(r), float32(s)
	}
	split(b, rows, rowGrain(c), normTask{f32(dst), f32(x), f32(residual), st[:c], scale, shift, c, o.ReLU})
}

// channelStats writes mean and biased variance of each channel to stats, and the unrounded
// mean to mean. It uses one pass of vec.ColumnMoments around the first row.
func (b *Backend) channelStats(stats []float32, mean []float64, x []float32, rows, c int) {
	grain := rowGrain(c)
	parts := scratch[float64](b, "norm.parts", max(1, ceil(rows, grain))*2*c)
	clear(parts[:2*c]) // remains if there are no rows
	split(b, rows, grain, momentsTask{x, x[:min(len(x), c)], parts, grain})
	total(parts, 2*c)
	n := float64(rows)
	for j := range mean {
		sum, squares, shift := parts[j], parts[c+j], 0.0
		if rows > 0 {
			shift = float64(x[j])
		}
		mean[j] = shift + sum/n
		stats[j] = float32(mean[j])
		stats[c+j] = float32(nonNegative((squares - sum*sum/n) / n))
	}
}

// nonNegative replaces a v that rounding made negative by 0. It returns NaN unchanged.
func nonNegative(v float64) float64 {
	if v < 0 {
		return 0
	}
	return v
}

// momentsTask sums the differences from the first row and their squares.
type momentsTask struct {
	x, shift []float32
	parts    []float64 // both sums per span
	grain    int
}

func (t *momentsTask) span(_, lo, hi int) {
	c := len(t.shift)
	part := t.parts[lo/t.grain*2*c:][:2*c]
	clear(part)
	vec.ColumnMoments(part[:c], part[c:], t.shift, t.x[lo*c:hi*c])
}

type normTask struct {
	dst, x, residual   []float32
	mean, scale, shift []float32
	c                  int
	relu               bool
}

func (t *normTask) span(_, lo, hi int) {
	lo, hi = lo*t.c, hi*t.c
	vec.Affine(t.dst[lo:hi], t.x[lo:hi], part(t.residual, lo, hi), t.mean, t.scale, t.shift, t.relu)
}

// part returns x[lo:hi], or nil if x is nil.
func part(x []float32, lo, hi int) []float32 {
	if x == nil {
		return nil
	}
	return x[lo:hi]
}

// NormGrad is the gradient of Norm. dz is dy, or 0 where o.ReLU is set and y is not positive.
// With x̂ = (x − mean)·r, r = 1/√(variance + eps) and n values in a channel:
//
//	dβ = Σ dz, dγ = Σ dz·x̂, dres = dz
//	dx = γr(dz − dβ/n − x̂·dγ/n), or γr·dz if o.Frozen
//
// dx, dres, dgamma and dbeta may be absent.
func (b *Backend) NormGrad(dx, dres, dgamma, dbeta, dy, x, y, gamma, stats device.Array, o device.NormKind,
	acc float32) {
	rows, c := x.Rows(), x.Cols()
	if dy.Len() != x.Len() || dy.Cols() != c || !dx.Absent() && dx.Len() != x.Len() ||
		!dres.Absent() && dres.Len() != x.Len() ||
		o.ReLU && y.Len() != x.Len() || stats.Len() != 2*c || !isVector(gamma, c) || !isVector(dgamma, c) ||
		!isVector(dbeta, c) {
		panic(shapes("NormGrad", dx, dres, dgamma, dbeta, dy, x, y, gamma, stats))
	}
	st, g := f32(stats), f32(gamma)
	grain := rowGrain(c)
	t := normGradTask{
		dx: f32(dx), dres: f32(dres), dy: f32(dy), x: f32(x), mean: st[:c],
		parts: scratch[float64](b, "norm.parts", max(1, ceil(rows, grain))*2*c),
		c:     c, grain: grain,
	}
	if o.ReLU {
		t.y = f32(y)
	}
	clear(t.parts[:2*c]) // remains if there are no rows
	if !o.Frozen || !dgamma.Absent() || !dbeta.Absent() {
		split(b, rows, grain, normSumsTask(t))
		t.masked = true
		total(t.parts, 2*c)
	}
	t.scale, t.along, t.offset = scratch[float32](b, "norm.scale", c), scratch[float32](b, "norm.along", c),
		scratch[float32](b, "norm.shift", c)
	for j := range t.scale {
		rstd := 1 / math.Sqrt(float64(st[c+j])+float64(o.Eps))
		t.parts[j] *= rstd // becomes Σ dz·x̂
		t.scale[j] = float32(gain(g, j) * rstd)
		t.along[j], t.offset[j] = 0, 0
		if !o.Frozen {
			t.along[j] = float32(t.parts[j] / float64(rows) * rstd)
			t.offset[j] = float32(t.parts[c+j] / float64(rows))
		}
	}
	join(f32(dgamma), t.parts[:c], c, acc)
	join(f32(dbeta), t.parts[c:2*c], c, acc)
	if !dx.Absent() || !dres.Absent() && !t.masked {
		split(b, rows, grain, t)
	}
}

type normGradTask struct {
	dx, dres, dy, x, y   []float32 // y is nil without ReLU
	mean                 []float32
	scale, along, offset []float32 // dx = scale·(dz − offset − (x − mean)·along)
	parts                []float64 // Σ dz·(x − mean) and Σ dz per span
	c, grain             int
	masked               bool // dres already holds dz
}

func (t *normGradTask) span(_, lo, hi int) {
	lo, hi = lo*t.c, hi*t.c
	dz, y, dres := t.dy[lo:hi], part(t.y, lo, hi), part(t.dres, lo, hi)
	switch {
	case dres != nil && t.masked:
		dz, y = dres, nil
	case dres != nil && y != nil:
		vec.Mask(dres, dz, y)
		dz, y = dres, nil
	case dres != nil:
		copy(dres, dz)
	}
	if t.dx != nil {
		vec.NormBack(t.dx[lo:hi], dz, t.x[lo:hi], y, t.mean, t.scale, t.along, t.offset)
	}
}

// normSumsTask is the first pass of NormGrad. It computes Σ dz·(x − mean), Σ dz and dres.
type normSumsTask normGradTask

func (t *normSumsTask) span(_, lo, hi int) {
	sums := t.parts[lo/t.grain*2*t.c:][:2*t.c]
	clear(sums)
	lo, hi = lo*t.c, hi*t.c
	vec.NormSums(sums[:t.c], sums[t.c:], part(t.dres, lo, hi), t.dy[lo:hi], t.x[lo:hi], part(t.y, lo, hi), t.mean)
}
