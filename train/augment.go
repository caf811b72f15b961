package train

import (
	"image"

	"hgld/internal/img"
	"hgld/internal/registry"
	"hgld/train/sample"
)

type filter = img.Filter

// filters names the kernels of resampling.
var filters = registry.Table[filter]{
	{Name: "bilinear", About: "triangle, torchvision's default", Value: img.Bilinear},
	{Name: "bicubic", About: "a = −0.5, what vision transformers are trained with", Value: img.Bicubic},
	{Name: "lanczos", About: "three lobes", Value: img.Lanczos},
}

// cropFunc writes a Size×Size image to dst.
type cropFunc func(w *cutter, dst, src *img.RGB, random *sample.Random)

// cropTable names the training crops.
var cropTable = registry.Table[cropFunc]{
	{Name: "resized", About: "a random part of the image at a random shape, resized", Value: (*cutter).resized},
	{Name: "padded", About: "the centre crop in a black frame of pad pixels, and a random window of it",
		Value: (*cutter).padded},
	{Name: "centre", About: "as in evaluation",
		Value: func(c *cutter, dst, src *img.RGB, _ *sample.Random) { c.centre(dst, src) }},
	{Name: "whole", About: "the whole image, without regard to its shape",
		Value: func(c *cutter, dst, src *img.RGB, _ *sample.Random) { c.whole(dst, src) }},
}

// cutter cuts and resizes images. It has its own scratch memory and serves one
// goroutine.
type cutter struct {
	in        Input
	filter    filter
	crop      cropFunc
	resampler img.Resampler
	small     img.RGB
}

// train writes the training crop of src to dst and reports whether to mirror it. The
// crop depends only on random.
func (c *cutter) train(dst, src *img.RGB, random *sample.Random) (flip bool) {
	flip = c.in.Flip && random.Uint64()&1 == 1
	c.crop(c, dst, src, random)
	c.in.Jitter.apply(dst, random)
	c.in.RandAugment.apply(dst, random)
	c.in.Erase.apply(dst, c.in.Mean, random)
	return flip
}

// resized is torchvision's RandomResizedCrop. Unlike in torchvision's recipes, an image
// whose short side exceeds Resize is not resized first. The crop is a share of the
// area, so it is the same with one resampling less.
func (c *cutter) resized(dst, src *img.RGB, random *sample.Random) {
	box := img.RandomCrop(src.W, src.H, c.in.Scale, c.in.Ratio, random.Float64)
	c.resampler.ResizeCrop(dst, src, box, c.in.Size, c.in.Size, c.filter)
}

// padded moves a window by up to Pad pixels in each direction over the centre crop, as
// CIFAR's recipes do. Pixels outside are black.
func (c *cutter) padded(dst, src *img.RGB, random *sample.Random) {
	c.centre(dst, src)
	dx, dy := random.IntN(2*c.in.Pad+1)-c.in.Pad, random.IntN(2*c.in.Pad+1)-c.in.Pad
	size := c.in.Size
	moved := img.NewRGB(size, size)
	window := image.Rect(max(dx, 0), max(dy, 0), size+min(dx, 0), size+min(dy, 0))
	for y := window.Min.Y; y < window.Max.Y; y++ {
		from := 3 * (y*size + window.Min.X)
		to := 3 * ((y-dy)*size + window.Min.X - dx)
		copy(moved.Pix[to:to+3*window.Dx()], dst.Pix[from:])
	}
	*dst = *moved
}

// centre is the view of an evaluation: the short side, or with Squash both sides,
// resized to Resize, then the centre.
func (c *cutter) centre(dst, src *img.RGB) {
	if c.in.Resize == 0 {
		c.whole(dst, src)
		return
	}
	w, h := c.in.Resize, c.in.Resize
	if !c.in.Squash {
		w, h = img.ShortSide(src.W, src.H, c.in.Resize)
	}
	c.resampler.Resize(&c.small, src, w, h, c.filter)
	*dst = *img.CenterCrop(&c.small, c.in.Size, c.in.Size)
}

func (c *cutter) whole(dst, src *img.RGB) {
	c.resampler.Resize(dst, src, c.in.Size, c.in.Size, c.filter)
}
