package reference

import (
	"math"

	"hgld/train/device"
)

// Interpolate resizes images [N,H,W,C] to [N,h,w,C]. A hat function of width 1 around the
// position of each output pixel weighs the input pixels.
func Interpolate(x *Array, h, w int, o device.Interpolation) *Array {
	n, c := x.Dims[0], x.Dims[3]
	place := func(i, out, in int, scale float64) float64 {
		if o.AlignCorners {
			return float64(i) * float64(in-1) / math.Max(float64(out-1), 1)
		}
		if scale == 0 {
			scale = float64(out) / float64(in)
		}
		return min(max((float64(i)+0.5)/scale-0.5, 0), float64(in-1))
	}
	y := Zeros(n, h, w, c)
	for i := range y.V {
		row, col := place(i/c/w%h, h, x.Dims[1], o.ScaleH), place(i/c%w, w, x.Dims[2], o.ScaleW)
		for a := range x.Dims[1] {
			for b := range x.Dims[2] {
				share := max(0, 1-math.Abs(row-float64(a))) * max(0, 1-math.Abs(col-float64(b)))
				if share > 0 {
					y.V[i] += share * x.V[((i/c/w/h*x.Dims[1]+a)*x.Dims[2]+b)*c+i%c]
				}
			}
		}
	}
	return y
}
