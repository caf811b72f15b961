package cpu

import (
	"math"

	"hgld/train/device"
)

// Norm is batch normalisation of x [..., C], channel by channel:
//
//	dst = γ(x − mean)/√(variance + eps) + β (+ residual) (then ReLU)
//
// stats [2,C] are mean and biased variance: computed in two passes, or given if
// o.Frozen. gamma, beta and residual may be absent.
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
		s := (float64(st[j]) - mean[j]) * r // what the mean lost when it was rounded
		if bias != nil {
			s += float64(bias[j])
		}
		scale[j], shift[j] = float32(r), float32(s)
	}
	split(b, rows, rowGrain(c), normTask{f32(dst), f32(x), f32(residual), st[:c], scale, shift, c, o.ReLU})
}

// channelStats writes mean and biased variance of each channel to stats, and the
// mean before rounding.
func (b *Backend) channelStats(stats []float32, mean []float64, x []float32, rows, c int) {
	grain := rowGrain(c)
	parts := scratch[float64](b, "norm.parts", max(1, ceil(rows, grain))*c)
	split(b, rows, grain, sumColumnsTask{x: x, parts: parts, width: c, stride: c, grain: grain})
	total(parts, c)
	for j := range mean {
		mean[j] = parts[j] / float64(rows)
		stats[j] = float32(mean[j])
	}
	split(b, rows, grain, varianceTask{x, mean, parts, grain})
	total(parts, c)
	for j := range mean {
		stats[c+j] = float32(parts[j] / float64(rows))
	}
}

// varianceTask sums squared distances from the mean.
type varianceTask struct {
	x           []float32
	mean, parts []float64
	grain       int
}

func (t *varianceTask) span(_, lo, hi int) {
	c := len(t.mean)
	part := t.parts[lo/t.grain*c:][:c]
	clear(part)
	for i := lo; i < hi; i++ {
		for j, v := range t.x[i*c:][:c] {
			d := float64(v) - t.mean[j]
			part[j] += d * d
		}
	}
}

type normTask struct {
	dst, x, residual   []float32
	mean, scale, shift []float32
	c                  int
	relu               bool
}

func (t *normTask) span(_, lo, hi int) {
	for i := lo; i < hi; i++ {
		dst, x := t.dst[i*t.c:][:t.c], t.x[i*t.c:][:t.c]
		mean, scale, shift := t.mean[:len(x)], t.scale[:len(x)], t.shift[:len(x)]
		dst = dst[:len(x)]
		for j, v := range x {
			dst[j] = (v-mean[j])*scale[j] + shift[j]
		}
		if t.residual != nil {
			axpby(dst, 1, dst, 1, t.residual[i*t.c:][:t.c])
		}
		if t.relu {
			activate(dst, dst, device.ReLU)
		}
	}
}

// NormGrad is the gradient of Norm. With dz = dy, where y is positive if o.ReLU,
// x̂ = (x − mean)·r, r = 1/√(variance + eps) and n values in a channel:
//
//	dβ = Σ dz, dγ = Σ dz·x̂, dres = dz
//	dx = γr(dz − dβ/n − x̂·dγ/n), or γr·dz if o.Frozen
//
// dx, dres, dgamma and dbeta may be absent.
func (b *Backend) NormGrad(dx, dres, dgamma, dbeta, dy, x, y, gamma, stats device.Array, o device.NormKind, acc float32) {
	rows, c := x.Rows(), x.Cols()
	if dy.Len() != x.Len() || dy.Cols() != c || !dx.Absent() && dx.Len() != x.Len() || !dres.Absent() && dres.Len() != x.Len() ||
		o.ReLU && y.Len() != x.Len() || stats.Len() != 2*c || !isVector(gamma, c) || !isVector(dgamma, c) || !isVector(dbeta, c) {
		panic(shapes("NormGrad", dx, dres, dgamma, dbeta, dy, x, y, gamma, stats))
	}
	st, g := f32(stats), f32(gamma)
	grain := rowGrain(c)
	t := normGradTask{
		dx: f32(dx), dres: f32(dres), dy: f32(dy), x: f32(x), mean: st[:c],
		rstd:  scratch[float32](b, "norm.rstd", c),
		parts: scratch[float64](b, "norm.parts", max(1, ceil(rows, grain))*2*c),
		c:     c, grain: grain,
	}
	if o.ReLU {
		t.y, t.row = f32(y), scratch[float32](b, "norm.row", b.threads*c)
	}
	for j := range t.rstd {
		t.rstd[j] = float32(1 / math.Sqrt(float64(st[c+j])+float64(o.Eps)))
	}
	if !o.Frozen || !dgamma.Absent() || !dbeta.Absent() {
		clear(t.parts[:2*c]) // in case there are no rows
		split(b, rows, grain, normSumsTask(t))
		joinPairs(f32(dgamma), f32(dbeta), t.parts, c, acc)
	}
	if dx.Absent() && dres.Absent() {
		return
	}
	t.scale, t.along, t.offset = scratch[float32](b, "norm.scale", c), scratch[float32](b, "norm.along", c), scratch[float32](b, "norm.shift", c)
	for j := range t.scale {
		t.scale[j] = float32(gain(g, j) * float64(t.rstd[j]))
		t.along[j], t.offset[j] = 0, 0
		if !o.Frozen {
			t.along[j] = float32(t.parts[j] / float64(rows) * float64(t.rstd[j]))
			t.offset[j] = float32(t.parts[c+j] / float64(rows))
		}
	}
	split(b, rows, grain, t)
}

type normGradTask struct {
	dx, dres, dy, x, y   []float32 // y is nil without ReLU
	mean, rstd           []float32
	scale, along, offset []float32 // dx = scale·(dz − offset − (x − mean)·along)
	parts                []float64 // dγ and dβ of each span
	row                  []float32 // for each worker
	c, grain             int
}

func (t *normGradTask) span(_, lo, hi int) {
	for i := lo; i < hi; i++ {
		at := i * t.c
		dz := t.dy[at:][:t.c]
		if t.y != nil && t.dres != nil {
			slope(t.dres[at:][:t.c], dz, t.y[at:][:t.c], device.ReLU)
			dz = t.dres[at:][:t.c]
		} else if t.dres != nil {
			copy(t.dres[at:][:t.c], dz)
		}
		if t.dx == nil {
			continue
		}
		dx := t.dx[at:][:t.c]
		if t.y != nil && t.dres == nil {
			slope(dx, dz, t.y[at:][:t.c], device.ReLU)
			dz = dx
		}
		x, mean := t.x[at:][:len(dz)], t.mean[:len(dz)]
		scale, along, offset := t.scale[:len(dz)], t.along[:len(dz)], t.offset[:len(dz)]
		dx = dx[:len(dz)]
		for j, d := range dz {
			dx[j] = scale[j] * (d - offset[j] - (x[j]-mean[j])*along[j])
		}
	}
}

// normSumsTask is the first pass of NormGrad: Σ dz·x̂ and Σ dz.
type normSumsTask normGradTask

func (t *normSumsTask) span(worker, lo, hi int) {
	part := t.parts[lo/t.grain*2*t.c:][:2*t.c]
	clear(part)
	along, sum := part[:t.c], part[t.c:]
	for i := lo; i < hi; i++ {
		dy, x := t.dy[i*t.c:][:t.c], t.x[i*t.c:][:t.c]
		if t.y == nil {
			t.add(along, sum, dy, x)
			continue
		}
		masked := t.row[worker*t.c:][:t.c]
		slope(masked, dy, t.y[i*t.c:][:t.c], device.ReLU)
		t.add(along, sum, masked, x)
	}
}

// add takes one row into Σ dz·x̂ and Σ dz.
func (t *normSumsTask) add(along, sum []float64, dz, x []float32) {
	mean, rstd := t.mean[:len(dz)], t.rstd[:len(dz)]
	along, sum, x = along[:len(dz)], sum[:len(dz)], x[:len(dz)]
	for j, d := range dz {
		along[j] += float64(d) * float64((x[j]-mean[j])*rstd[j])
		sum[j] += float64(d)
	}
}
