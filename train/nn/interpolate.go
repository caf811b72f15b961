package nn

import (
	"math"

	"hgld/train/device"
	"hgld/train/grad"
)

// Interpolate resizes images [N,H,W,C] bilinearly to h × w.
func Interpolate(t *grad.Tape, x *grad.Var, h, w int, o device.Interpolation) *grad.Var {
	y := t.New(x.Value.Type, x.Value.Dims[0], h, w, x.Value.Dims[3])
	t.Do(func(b device.Backend) { b.Interpolate(y.Value, x.Value, o) })
	t.Back(func(b device.Backend) {
		if dx := t.Into(x); !dx.Absent() {
			b.InterpolateGrad(dx, t.Grad(y), o)
		}
	})
	return y
}

// Rescale is Interpolate to ⌊H·scale⌋ × ⌊W·scale⌋, pixels placed by scale itself
// and not by the ratio of the sizes: torch's interpolate with a scale_factor.
func Rescale(t *grad.Tape, x *grad.Var, scale float64, alignCorners bool) *grad.Var {
	side := func(n int) int { return int(math.Floor(float64(n) * scale)) }
	o := device.Interpolation{AlignCorners: alignCorners, ScaleH: scale, ScaleW: scale}
	return Interpolate(t, x, side(x.Value.Dims[1]), side(x.Value.Dims[2]), o)
}
