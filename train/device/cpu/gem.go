package cpu

import (
	"math"

	"hgld/train/device"
)

// GeM is the generalised mean over each image of x [N,H,W,C],
//
//	dst[n,c] = (1/HW Σ max(x, eps)^p)^(1/p),
//
// p one number. The powers are float64: eps^p is a denormal float32 from p = 6.3.
func (b *Backend) GeM(dst, x, p device.Array, eps float32) {
	t := gemTask{f32(dst), f32(x), gemShape(x, dst, p), float64(f32(p)[0]), float64(eps)}
	split(b, t.n*t.blocks(), 1, t)
}

// gem is the geometry of GeM: n images of hw pixels with c channels.
type gem struct{ n, hw, c int }

func gemShape(x, y, p device.Array) gem {
	if x.N != 4 || y.Len() != x.Dims[0]*x.Dims[3] || p.Len() != 1 {
		panic(shapes("GeM", y, x, p))
	}
	return gem{x.Dims[0], x.Dims[1] * x.Dims[2], x.Dims[3]}
}

// gemChannels is how many channels of an image make a span.
const gemChannels = 64

func (g gem) blocks() int { return ceil(g.c, gemChannels) }

// block returns the image and the channels of a span.
func (g gem) block(at int) (image, from, to int) {
	from = at % g.blocks() * gemChannels
	return at / g.blocks(), from, min(from+gemChannels, g.c)
}

// moments returns S = Σ max(x, eps)^p of a channel and, if asked for, Σ of it
// times the logarithm.
func (g gem) moments(x []float32, p, eps float64, withLog bool) (s, sLog float64) {
	for i := range g.hw {
		l := math.Log(max(float64(x[i*g.c]), eps))
		v := math.Exp(p * l)
		s += v
		if withLog {
			sLog += v * l
		}
	}
	return s, sLog
}

type gemTask struct {
	dst, x []float32
	gem
	p, eps float64
}

func (t *gemTask) span(_, lo, hi int) {
	for at := lo; at < hi; at++ {
		n, from, to := t.block(at)
		for c := from; c < to; c++ {
			s, _ := t.moments(t.x[n*t.hw*t.c+c:], t.p, t.eps, false)
			t.dst[n*t.c+c] = float32(math.Exp(math.Log(s/float64(t.hw)) / t.p))
		}
	}
}

// GeMGrad is the gradient of GeM. With v = max(x, eps) and M = mean v^p, y^p = M:
//
//	dx = dy/HW · y·v^(p−1)/M where x ≥ eps, else 0
//	dp = Σ dy·y·(mean(v^p ln v)/(p·M) − ln(M)/p²)
//
// It computes M again in float64. dx and dp may be absent; y is not read.
func (b *Backend) GeMGrad(dx, dp, dy, x, y, p device.Array, eps, acc float32) {
	t := gemGradTask{dx: f32(dx), dy: f32(dy), x: f32(x), gem: gemShape(x, dy, p), p: float64(f32(p)[0]), eps: float64(eps)}
	if !dx.Absent() && dx.Len() != x.Len() || !dp.Absent() && dp.Len() != 1 {
		panic(shapes("GeMGrad", dx, dp, dy, x))
	}
	t.parts = scratch[float64](b, "gem", t.n*t.blocks())
	split(b, t.n*t.blocks(), 1, t)
	join(f32(dp), t.parts, 1, acc)
}

type gemGradTask struct {
	dx, dy, x []float32
	parts     []float64 // dp of each span
	gem
	p, eps float64
}

func (t *gemGradTask) span(_, lo, hi int) {
	for at := lo; at < hi; at++ {
		n, from, to := t.block(at)
		t.parts[at] = 0
		for c := from; c < to; c++ {
			base, dy := n*t.hw*t.c+c, float64(t.dy[n*t.c+c])
			s, sLog := t.moments(t.x[base:], t.p, t.eps, true)
			mean := s / float64(t.hw)
			y := math.Exp(math.Log(mean) / t.p)
			t.parts[at] += dy * y * (sLog/(t.p*s) - math.Log(mean)/(t.p*t.p))
			if t.dx == nil {
				continue
			}
			for i := range t.hw {
				v, d := float64(t.x[base+i*t.c]), 0.0
				if v >= t.eps {
					d = dy * y / s * math.Exp((t.p-1)*math.Log(v))
				}
				t.dx[base+i*t.c] = float32(d)
			}
		}
	}
}
