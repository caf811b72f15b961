package nn

import (
	"fmt"
	"math"

	"hgld/train/device"
	"hgld/train/grad"
)

// Rescale resizes images [N,H,W,C] bilinearly to ⌊H·scale⌋ × ⌊W·scale⌋. It places pixels by scale
// itself and not by the ratio of the sizes, like torch's interpolate with a scale_factor. It is
// only for evaluations and has no gradient.
func Rescale(t *grad.Tape, x *grad.Var, scale float64, alignCorners bool) *grad.Var {
	if !t.Evaluating() {
		panic(fmt.Sprintf("nn: %v needs a gradient, which Rescale does not have", x.Value))
	}
	side := func(n int) int { return int(math.Floor(float64(n) * scale)) }
	y := t.New(x.Value.Type, x.Value.Dims[0], side(x.Value.Dims[1]), side(x.Value.Dims[2]), x.Value.Dims[3])
	o := device.Interpolation{AlignCorners: alignCorners, ScaleH: scale, ScaleW: scale}
	t.Do(func(b device.Backend) { b.Interpolate(y.Value, x.Value, o) })
	return y
}
