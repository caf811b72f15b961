package cpu

import (
	"math"

	"hgld/internal/vec"
	"hgld/train/device"
)

// GeM computes the generalised mean over each image of x [N,H,W,C],
//
//	dst[n,c] = (1/HW Σ max(x, eps)^p)^(1/p),
//
// where p is one number. It computes powers in float64, because eps^p is a denormal float32
// from p = 6.3 on.
func (b *Backend) GeM(dst, x, p device.Array, eps float32) {
	t := gemTask{f32(dst), f32(x), gemShape(x, dst, p, eps)}
	split(b, t.n*t.blocks(), 1, t)
}

// gem is the geometry of GeM: n images of hw pixels with c channels.
type gem struct {
	n, hw, c int
	p, eps   float64
}

func gemShape(x, y, p device.Array, eps float32) gem {
	if x.N != 4 || y.Len() != x.Dims[0]*x.Dims[3] || p.Len() != 1 {
		panic(shapes("GeM", y, x, p))
	}
	return gem{n: x.Dims[0], hw: x.Dims[1] * x.Dims[2], c: x.Dims[3], p: float64(f32(p)[0]), eps: float64(eps)}
}

// gemChannels is the number of channels of an image in a span.
const gemChannels = 64

func (g gem) blocks() int { return ceil(g.c, gemChannels) }

// block returns the image and the channels of a span.
func (g gem) block(at int) (image, from, to int) {
	from = at % g.blocks() * gemChannels
	return at / g.blocks(), from, min(from+gemChannels, g.c)
}

// moments sums max(x, eps)^p, and its product with the logarithm, for the channels [from, to)
// of an image. It stores the results in s and sLog.
func (g *gem) moments(s, sLog *[gemChannels]float64, x []float32, image, from, to int) {
	sum, along := s[:to-from], sLog[:to-from]
	clear(sum)
	clear(along)
	for i := range g.hw {
		vec.PowerSums(sum, along, x[(image*g.hw+i)*g.c:][from:to], g.p, g.eps)
	}
}

type gemTask struct {
	dst, x []float32
	gem
}

func (t *gemTask) span(_, lo, hi int) {
	var s, sLog [gemChannels]float64
	for at := lo; at < hi; at++ {
		n, from, to := t.block(at)
		t.moments(&s, &sLog, t.x, n, from, to)
		for c := from; c < to; c++ {
			t.dst[n*t.c+c] = float32(math.Exp(math.Log(s[c-from]/float64(t.hw)) / t.p))
		}
	}
}

// GeMGrad computes the gradient of GeM. With v = max(x, eps) and M = mean v^p, y^p = M:
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
	split(b, t.n*t.blocks(), 1, t)
	join(f32(dp), t.parts, 1, acc)
}

type gemGradTask struct {
	dx, dy, x []float32
	parts     []float64 // dp of each span
	gem
}

func (t *gemGradTask) span(_, lo, hi int) {
	var s, sLog [gemChannels]float64
	for at := lo; at < hi; at++ {
		n, from, to := t.block(at)
		t.moments(&s, &sLog, t.x, n, from, to)
		dp := 0.0
		for c := from; c < to; c++ {
			sum, dy := s[c-from], float64(t.dy[n*t.c+c])
			logMean := math.Log(sum / float64(t.hw))
			y := math.Exp(logMean / t.p)
			dp += dy * y * (sLog[c-from]/(t.p*sum) - logMean/(t.p*t.p))
			s[c-from] = dy * y / sum // now the factor of x^(p−1)
		}
		t.parts[at] = dp
		if t.dx == nil {
			continue
		}
		for i := range t.hw {
			pixel := (n*t.hw + i) * t.c
			vec.PowerScale(t.dx[pixel:][from:to], t.x[pixel:][from:to], s[:to-from], t.p-1, t.eps)
		}
	}
}
