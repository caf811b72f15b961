package img

import "math"

// axis maps an interval of n inputs to outputs along one direction, as Pillow does:
//
//	scale = (hi − lo)/out, f = max(scale, 1), centre = lo + (i + ½)·scale
//	weight(j) ∝ filter((j − centre + ½)/f)
type axis struct {
	n                             int
	lo, scale, support, narrowing float64
	filter                        Filter
}

// newAxis converts the interval to float32, as Pillow does.
func newAxis(n, out int, lo, hi float32, filter Filter) axis {
	scale := float64(hi-lo) / float64(out)
	widen := max(scale, 1)
	return axis{n: n, lo: float64(lo), scale: scale, support: filter.support() * widen, narrowing: 1 / widen,
		filter: filter}
}

// width returns the greatest number of inputs that one output uses.
func (a *axis) width() int { return int(math.Ceil(a.support))*2 + 1 }

// weights fills dst with the weights of output i, which add up to 1. They belong to the inputs
// from, from + 1, … from + count − 1.
func (a *axis) weights(dst []float64, i int) (from, count int) {
	centre := a.lo + float64((float64(i)+0.5)*a.scale)
	from = max(int(centre-a.support+0.5), 0)
	count = min(int(centre+a.support+0.5), a.n) - from
	sum := 0.0
	for j := range count {
		w := a.filter.weight((float64(from+j) - centre + 0.5) * a.narrowing)
		dst[j] = w
		sum += w
	}
	if sum != 0 {
		for j := range count {
			dst[j] /= sum
		}
	}
	return from, count
}

// ResizePlane resizes a plane of n×n vectors to m×m, as torch's interpolate does with antialias. It
// uses Pillow's kernels and does not round between the passes. plane is [n·n·depth].
func ResizePlane(plane []float32, n, m, depth int, f Filter) []float32 {
	a := newAxis(n, m, 0, float32(n), f)
	weights := make([]float64, a.width())
	across := make([]float64, n*m*depth)
	for x := range m {
		from, count := a.weights(weights, x)
		for y := range n {
			out := across[(y*m+x)*depth:][:depth]
			for j, w := range weights[:count] {
				for d, v := range plane[(y*n+from+j)*depth:][:depth] {
					out[d] += float64(w * float64(v))
				}
			}
		}
	}
	resized := make([]float32, m*m*depth)
	sums := make([]float64, m*depth)
	for y := range m {
		from, count := a.weights(weights, y)
		clear(sums)
		for j, w := range weights[:count] {
			for d, v := range across[(from+j)*m*depth:][:m*depth] {
				sums[d] += float64(w * v)
			}
		}
		for d, v := range sums {
			resized[y*m*depth+d] = float32(v)
		}
	}
	return resized
}
