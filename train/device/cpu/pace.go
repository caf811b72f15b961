package cpu

import (
	"math"

	"hgld/train/device"
)

// Pace counts an update and writes the constants that depend on the number of updates.
func (b *Backend) Pace(dst, count, flag device.Array, o device.PaceKind) {
	want := 3
	if o.Kind == device.Mean {
		want = 1
	}
	if dst.Len() != want || !dst.Contiguous() || count.Len() != 1 {
		panic(shapes("Pace", dst, count))
	}
	if isSet(flag) {
		return
	}
	i32(count)[0]++
	t, out := float64(i32(count)[0]), f32(dst)
	if o.Kind == device.Mean {
		d := o.Decay
		if o.Rise {
			d = min(d, (1+t)/(10+t))
		}
		out[0] = float32(1 - d)
		return
	}
	out[0], out[1], out[2] = float32(1-math.Pow(float64(o.Beta1), t)), float32(1-math.Pow(float64(o.Beta2), t)), 0
	if t == 1 {
		out[2] = 1
	}
}
