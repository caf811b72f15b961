package cuda

import "hgld/train/device"

// Interpolate resizes images bilinearly.
func (b *Backend) Interpolate(dst, x device.Array, o device.Interpolation) {
	if x.N != 4 || dst.N != 4 || x.Dims[0] != dst.Dims[0] || x.Dims[3] != dst.Dims[3] || x.Dims[1]*x.Dims[2] == 0 ||
		o.ScaleH < 0 || o.ScaleW < 0 {
		panic(shapes("Interpolate", dst, x))
	}
	b.op("Interpolate").active(dst).active(x).i64(x.Dims[0]).i32(x.Dims[1]).i32(x.Dims[2]).i64(x.Dims[3]).
		i32(dst.Dims[1]).i32(dst.Dims[2]).flag(o.AlignCorners).f64(o.ScaleH).f64(o.ScaleW).
		run("interpolate", "interpolate", blocks(dst.Len(), 256), 256, 0)
}
