package cpu

import (
	"math"

	"hgld/train/device"
)

// mix composes an output pixel along one axis: (1 − w) times input pixel lo plus w times
// input pixel hi.
type mix struct {
	lo, hi int
	w      float32
}

// mixes places n output pixels on an axis of in input pixels, in float64. A scale of 0
// means n/in.
func mixes(list []mix, in int, align bool, scale float64) {
	n := len(list)
	if scale == 0 {
		scale = float64(n) / float64(in)
	}
	for i := range list {
		at := max((float64(i)+0.5)/scale-0.5, 0)
		if align {
			at = 0
			if n > 1 {
				at = float64(i) * (float64(in-1) / float64(n-1))
			}
		}
		lo := min(int(math.Floor(at)), in-1)
		list[i] = mix{lo, min(lo+1, in-1), float32(min(at-float64(lo), 1))}
	}
}

// resize is the geometry of an Interpolate.
type resize struct {
	h, w, outH, outW, c int
	down, across        []mix
}

func (b *Backend) resizeOf(op string, y, x device.Array, o device.Interpolation) resize {
	if x.N != 4 || y.N != 4 || x.Dims[0] != y.Dims[0] || x.Dims[3] != y.Dims[3] || x.Dims[1]*x.Dims[2] == 0 ||
		o.ScaleH < 0 || o.ScaleW < 0 {
		panic(shapes(op, y, x))
	}
	r := resize{h: x.Dims[1], w: x.Dims[2], outH: y.Dims[1], outW: y.Dims[2], c: x.Dims[3]}
	all := scratch[mix](b, "interpolate", r.outH+r.outW)
	r.down, r.across = all[:r.outH], all[r.outH:]
	mixes(r.down, r.h, o.AlignCorners, o.ScaleH)
	mixes(r.across, r.w, o.AlignCorners, o.ScaleW)
	return r
}

// Interpolate resizes images bilinearly.
func (b *Backend) Interpolate(dst, x device.Array, o device.Interpolation) {
	t := interpolateTask{b.resizeOf("Interpolate", dst, x, o), f32(dst), f32(x)}
	split(b, x.Dims[0]*t.outH, 1, t)
}

type interpolateTask struct {
	resize
	dst, x []float32
}

func (t *interpolateTask) span(_, lo, hi int) {
	for r := lo; r < hi; r++ {
		image, v := t.x[r/t.outH*t.h*t.w*t.c:], t.down[r%t.outH]
		top, bottom := image[v.lo*t.w*t.c:][:t.w*t.c], image[v.hi*t.w*t.c:][:t.w*t.c]
		for j, u := range t.across {
			dst := t.dst[(r*t.outW+j)*t.c:][:t.c]
			a, b := top[u.lo*t.c:][:t.c], top[u.hi*t.c:][:t.c]
			c, d := bottom[u.lo*t.c:][:t.c], bottom[u.hi*t.c:][:t.c]
			for k := range dst {
				upper := (1-u.w)*a[k] + u.w*b[k]
				lower := (1-u.w)*c[k] + u.w*d[k]
				dst[k] = (1-v.w)*upper + v.w*lower
			}
		}
	}
}
