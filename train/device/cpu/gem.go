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
	t := gemTask{f32(dst), f32(x), gemShape(x, dst, p, eps)}
	split(b, t.n*t.blocks(), 1, t)
}

// gem is the geometry of GeM: n images of hw pixels with c channels, and what is
// the same for all elements.
type gem struct {
	n, hw, c       int
	p, eps         float64
	logEps, powEps float64 // ln(eps), eps^p: what every x below eps gives
}

func gemShape(x, y, p device.Array, eps float32) gem {
	if x.N != 4 || y.Len() != x.Dims[0]*x.Dims[3] || p.Len() != 1 {
		panic(shapes("GeM", y, x, p))
	}
	g := gem{n: x.Dims[0], hw: x.Dims[1] * x.Dims[2], c: x.Dims[3], p: float64(f32(p)[0]), eps: float64(eps)}
	g.logEps = math.Log(g.eps)
	g.powEps = math.Exp(g.p * g.logEps)
	return g
}

// gemChannels is how many channels of an image make a span.
const gemChannels = 64

func (g gem) blocks() int { return ceil(g.c, gemChannels) }

// block returns the image and the channels of a span.
func (g gem) block(at int) (image, from, to int) {
	from = at % g.blocks() * gemChannels
	return at / g.blocks(), from, min(from+gemChannels, g.c)
}

// moments returns S = Σ max(x, eps)^p of a channel and Σ of it times the
// logarithm. It keeps the powers, unless there is no room for them.
func (g *gem) moments(powers []float64, x []float32) (s, sLog float64) {
	for i := range g.hw {
		l, v := g.logEps, g.powEps
		if wide := float64(x[i*g.c]); !(wide <= g.eps) { // NaN goes through
			l = math.Log(wide)
			v = math.Exp(g.p * l)
		}
		s += v
		sLog += v * l
		if powers != nil {
			powers[i] = v
		}
	}
	return s, sLog
}

type gemTask struct {
	dst, x []float32
	gem
}

func (t *gemTask) span(_, lo, hi int) {
	for at := lo; at < hi; at++ {
		n, from, to := t.block(at)
		for c := from; c < to; c++ {
			s, _ := t.moments(nil, t.x[n*t.hw*t.c+c:])
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
	t := gemGradTask{dx: f32(dx), dy: f32(dy), x: f32(x), gem: gemShape(x, dy, p, eps)}
	if !dx.Absent() && dx.Len() != x.Len() || !dp.Absent() && dp.Len() != 1 {
		panic(shapes("GeMGrad", dx, dp, dy, x))
	}
	t.parts = scratch[float64](b, "gem", t.n*t.blocks())
	t.powers = scratch[float64](b, "gem.powers", b.threads*t.hw)
	split(b, t.n*t.blocks(), 1, t)
	join(f32(dp), t.parts, 1, acc)
}

type gemGradTask struct {
	dx, dy, x []float32
	parts     []float64 // dp of each span
	powers    []float64 // of a channel, for each worker
	gem
}

func (t *gemGradTask) span(worker, lo, hi int) {
	powers := t.powers[worker*t.hw:][:t.hw]
	for at := lo; at < hi; at++ {
		n, from, to := t.block(at)
		t.parts[at] = 0
		for c := from; c < to; c++ {
			base, dy := n*t.hw*t.c+c, float64(t.dy[n*t.c+c])
			s, sLog := t.moments(powers, t.x[base:])
			logMean := math.Log(s / float64(t.hw))
			y := math.Exp(logMean / t.p)
			t.parts[at] += dy * y * (sLog/(t.p*s) - logMean/(t.p*t.p))
			if t.dx == nil {
				continue
			}
			for i, power := range powers {
				v, d := float64(t.x[base+i*t.c]), 0.0
				if v >= t.eps {
					d = dy * y / s * power / v
				}
				t.dx[base+i*t.c] = float32(d)
			}
		}
	}
}
