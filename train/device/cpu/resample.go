package cpu

import (
	"fmt"

	"hgld/internal/img"
	"hgld/train/device"
)

// Resample resamples images with the arithmetic of package img. It panics if the table of images
// points outside the arrays.
func (b *Backend) Resample(dst, bytes, taps, images device.Array) {
	if dst.N != 4 || dst.Dims[3] != 3 || images.N != 2 || images.Dims[0] != dst.Dims[0] ||
		images.Dims[1] != device.ImageCols || !images.Contiguous() {
		panic(shapes("Resample", dst, bytes, taps, images))
	}
	t := resampleTask{dst: u8(dst), bytes: u8(bytes), taps: i32(taps), images: i32(images), to: dst.Dims}
	t.workers = scratch[img.Resampler](b, "resample", b.Threads())
	split(b, dst.Dims[0], 1, t)
}

type resampleTask struct {
	dst, bytes   []uint8
	taps, images []int32
	workers      []img.Resampler
	to           [4]int
}

func (t *resampleTask) span(worker, lo, hi int) {
	h, w := t.to[1], t.to[2]
	for n := lo; n < hi; n++ {
		dst := t.dst[n*h*w*3:][: h*w*3 : h*w*3]
		image := t.images[n*device.ImageCols:][:device.ImageCols]
		if image[device.ImageHeight] == 0 {
			clear(dst)
			continue
		}
		src := img.RGB{W: int(image[device.ImageWidth]), H: int(image[device.ImageHeight])}
		at, size := int(image[device.ImageAt])*device.ImageUnit, 3*src.W*src.H
		if src.W <= 0 || src.H <= 0 || at < 0 || at+size > len(t.bytes) {
			panic(fmt.Sprintf("cpu: Resample: image %d has %d×%d pixels at byte %d of %d", n, src.W, src.H, at,
				len(t.bytes)))
		}
		src.Pix = t.bytes[at : at+size]
		across := t.axis(w, image[device.AcrossAt], image[device.AcrossWidth])
		down := t.axis(h, image[device.DownAt], image[device.DownWidth])
		t.workers[worker].Apply(&img.RGB{W: w, H: h, Pix: dst}, &src, src.Bounds(), &across, &down)
	}
}

// axis returns the taps of the given number of outputs.
func (t *resampleTask) axis(outputs int, at, width int32) img.Taps {
	list := t.taps[at:]
	return img.Taps{First: list[:outputs], Count: list[outputs:][:outputs], Weight: list[2*outputs:][:outputs*int(width)],
		Width: int(width)}
}
