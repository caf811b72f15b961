package cuda

import (
	"math"

	"hgld/train/device"
)

// pixels is the argument of the kernel.
type pixels struct {
	mean, std                                       [3]float32
	n, fromH, fromW, h, w, c, middleTop, middleLeft int32
}

// Pixels converts bytes to activations. A window outside its image becomes NaN, which the
// guard of a training step detects.
func (b *Backend) Pixels(dst, bytes, crop device.Array, o device.Pixel) {
	if dst.N != 4 || bytes.N != 4 || bytes.Dims[3] != 3 || dst.Dims[3] < 3 || dst.Dims[0] != bytes.Dims[0] ||
		dst.Dims[1] > bytes.Dims[1] || dst.Dims[2] > bytes.Dims[2] || !crop.Absent() && crop.Len() != 3*dst.Dims[0] {
		panic(shapes("Pixels", dst, bytes, crop))
	}
	middle := func(length, window int) int32 { return int32(math.RoundToEven(float64(length-window) / 2)) }
	p := pixels{
		mean: o.Mean, std: o.Std,
		n: int32(dst.Dims[0]), fromH: int32(bytes.Dims[1]), fromW: int32(bytes.Dims[2]),
		h: int32(dst.Dims[1]), w: int32(dst.Dims[2]), c: int32(dst.Dims[3]),
		middleTop: middle(bytes.Dims[1], dst.Dims[1]), middleLeft: middle(bytes.Dims[2], dst.Dims[2]),
	}
	structure(b.op("Pixels").active(dst).ptr(u8(bytes)).ptr(i32(crop)), &p).
		run("pixels", "pixels", min(blocks(dst.Dims[0]*dst.Dims[1]*dst.Dims[2], 256), 8*wantedBlocks), 256, 0)
}
