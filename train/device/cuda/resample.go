package cuda

import "hgld/train/device"

// resampling is the argument of the kernel.
type resampling struct{ h, w, bands, tiles int32 }

// Resample resamples images. The table of images is not checked.
func (b *Backend) Resample(dst, bytes, taps, images device.Array) {
	if dst.N != 4 || dst.Dims[3] != 3 || images.N != 2 || images.Dims[0] != dst.Dims[0] ||
		images.Dims[1] != device.ImageCols || !images.Contiguous() {
		panic(shapes("Resample", dst, bytes, taps, images))
	}
	const columns, lines = 32, 8 // of a block
	n, h, w := dst.Dims[0], dst.Dims[1], dst.Dims[2]
	o := resampling{int32(h), int32(w), int32(blocks(h, lines)), int32(blocks(w, columns))}
	structure(b.op("Resample").ptr(u8(dst)).ptr(u8(bytes)).ptr(i32(taps)).ptr(i32(images)), &o).
		run("resample", "resample", n*int(o.bands)*int(o.tiles), 256, 0)
}
