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
// dst, gamma, beta and residual may be absent.
func (b *Backend) Norm(dst, stats, x, gamma, beta, residual device.Array, o device.NormKind) {
	rows, c := x.Rows(), x.Cols()
	if !device.FitsMoments(dst, stats, x, gamma, beta, residual) {
		panic(shapes("Norm", dst, stats, x, gamma, beta, residual))
	}
	st := f32(stats)
	if !o.Frozen {
		b.channelStats(st, f32(x), rows, c)
	}
	if dst.Absent() {
		return
	}
	scale, shift := scratch[float32](b, "norm.scale", c), scratch[float32](b, "norm.shift", c)
	g, bias := f32(gamma), f32(beta)
	for j := range scale {
		scale[j], shift[j] = float32(gain(g, j)/math.Sqrt(float64(st[c+j])+float64(o.Eps))), 0
		if bias != nil {
			shift[j] = bias[j]
		}
	}
	split(b, rows, rowGrain(c), normTask{f32(dst), f32(x), f32(residual), st[:c], scale, shift, c, o.ReLU})
}

// channelStats writes mean and biased variance of each channel to stats. It uses one pass of
// vec.ColumnMoments around the first row.
func (b *Backend) channelStats(stats, x []float32, rows, c int) {
	grain := rowGrain(c)
	parts := scratch[float64](b, "norm.parts", max(1, ceil(rows, grain))*2*c)
	clear(parts[:2*c]) // remains if there are no rows
	split(b, rows, grain, momentsTask{x, x[:min(len(x), c)], parts, grain})
	total(parts, 2*c)
	n := float64(rows)
	for j := range c {
		sum, squares, shift := parts[j], parts[c+j], 0.0
		if rows > 0 {
			shift = float64(x[j])
		}
		stats[j] = float32(shift + sum/n)
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

// NormGrad is the gradient of Norm without residual and ReLU: see device.Image.
func (b *Backend) NormGrad(dx, dgamma, dbeta, dy, x, gamma, stats, sums device.Array, o device.NormKind, acc float32) {
	rows, c := x.Rows(), x.Cols()
	if dy.Len() != x.Len() || dy.Cols() != c || !dx.Absent() && dx.Len() != x.Len() || stats.Len() != 2*c ||
		!sums.Absent() && sums.Len() != 2*c || !device.AreVectors(c, gamma, dgamma, dbeta) {
		panic(shapes("NormGrad", dx, dgamma, dbeta, dy, x, gamma, stats, sums))
	}
	st, g := f32(stats), f32(gamma)
	var total []float64 // Σ dy, then Σ dy·(x − mean)
	switch {
	case !sums.Absent():
		total = scratch[float64](b, "norm.sums", 2*c)
		for j, v := range f32(sums) {
			total[j] = float64(v)
		}
	case !o.Frozen || !dgamma.Absent() || !dbeta.Absent():
		total = b.gradSums(nil, f32(dy), nil, f32(x), st[:c], rows)
	default:
		total = scratch[float64](b, "norm.sums", 2*c)
		clear(total)
	}
	t := normGradTask{
		dx: f32(dx), dy: f32(dy), x: f32(x), mean: st[:c], c: c,
		scale:  scratch[float32](b, "norm.scale", c),
		along:  scratch[float32](b, "norm.along", c),
		offset: scratch[float32](b, "norm.shift", c),
	}
	for j := range t.scale {
		rstd := 1 / math.Sqrt(float64(st[c+j])+float64(o.Eps))
		total[c+j] *= rstd // becomes Σ dy·x̂
		t.scale[j] = float32(gain(g, j) * rstd)
		t.along[j], t.offset[j] = 0, 0
		if !o.Frozen {
			t.along[j] = float32(total[c+j] / float64(rows) * rstd)
			t.offset[j] = float32(total[j] / float64(rows))
		}
	}
	join(f32(dbeta), total[:c], c, acc)
	join(f32(dgamma), total[c:2*c], c, acc)
	if !dx.Absent() {
		split(b, rows, rowGrain(c), t)
	}
}

type normGradTask struct {
	dx, dy, x            []float32
	mean                 []float32
	scale, along, offset []float32 // dx = scale·(dy − offset − (x − mean)·along)
	c                    int
}

func (t *normGradTask) span(_, lo, hi int) {
	lo, hi = lo*t.c, hi*t.c
	vec.NormBack(t.dx[lo:hi], t.dy[lo:hi], t.x[lo:hi], nil, t.mean, t.scale, t.along, t.offset)
}

// gradSums returns Σ dz and Σ dz·(x − mean) [2,C] of rows of dz: dy, masked by y unless that is
// nil. It stores dz in kept unless that is nil.
func (b *Backend) gradSums(kept, dy, y, x, mean []float32, rows int) []float64 {
	c := len(mean)
	grain := rowGrain(c)
	t := gradSumsTask{kept, dy, y, x, mean, scratch[float64](b, "norm.parts", max(1, ceil(rows, grain))*2*c), grain}
	clear(t.parts[:2*c]) // remains if there are no rows
	split(b, rows, grain, t)
	total(t.parts, 2*c)
	return t.parts[:2*c]
}

type gradSumsTask struct {
	kept, dy, y, x, mean []float32
	parts                []float64 // both sums per span
	grain                int
}

func (t *gradSumsTask) span(_, lo, hi int) {
	c := len(t.mean)
	sums := t.parts[lo/t.grain*2*c:][:2*c]
	clear(sums)
	lo, hi = lo*c, hi*c
	vec.NormSums(sums[c:], sums[:c], part(t.kept, lo, hi), t.dy[lo:hi], t.x[lo:hi], part(t.y, lo, hi), t.mean)
}
