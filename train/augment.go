package train

import (
	"image"

	"hgld/internal/img"
	"hgld/internal/registry"
	"hgld/train/sample"
)

type filter = img.Filter

// filters lists the resampling kernels by name.
var filters = registry.Table[filter]{
	{Name: "bilinear", About: "triangle, torchvision's default", Value: img.Bilinear},
	{Name: "bicubic", About: "a = −0.5, used to train vision transformers", Value: img.Bicubic},
	{Name: "lanczos", About: "three lobes", Value: img.Lanczos},
}

// cropFunc places an image of w×h pixels.
type cropFunc func(c *cutter, w, h int, random *sample.Random) placement

// cropTable lists the training crops by name.
var cropTable = registry.Table[cropFunc]{
	{Name: "resized", About: "a random part of the image of a random shape, resized", Value: (*cutter).resized},
	{Name: "padded", About: "a random window of the centre crop in a black frame of pad pixels",
		Value: (*cutter).padded},
	{Name: "centre", About: "the centre crop of an evaluation",
		Value: func(c *cutter, w, h int, _ *sample.Random) placement { return c.centre(w, h) }},
	{Name: "whole", About: "the whole image, resized to a square whatever its shape",
		Value: func(c *cutter, w, h int, _ *sample.Random) placement { return c.whole(w, h) }},
}

// placement says how an image becomes a square: a part of it is resampled to a size, and a window
// of the result is kept.
type placement struct {
	part         image.Rectangle // pixels outside it are not read
	w, h         int             // size after resampling
	across, down img.Window
}

// cutter cuts and resizes images. It has its own scratch memory and serves one
// goroutine.
type cutter struct {
	in        Input
	filter    filter
	crop      cropFunc
	resampler img.Resampler
	small     img.RGB

	across, down img.Taps // filter taps of a placement
}

// place draws the training crop of an image, and whether it is mirrored. Both depend only on
// random and on the size of the image.
func (c *cutter) place(w, h int, random *sample.Random) (p placement, flip bool) {
	flip = c.in.Flip && random.Uint64()&1 == 1
	return c.crop(c, w, h, random), flip
}

// distort changes the pixels of a training crop. random is the generator that placed the crop.
func (c *cutter) distort(m *img.RGB, random *sample.Random) {
	c.in.Jitter.apply(m, random)
	c.in.RandAugment.apply(m, random)
	c.in.Erase.apply(m, c.in.Mean, random)
}

// distorts reports whether distort can change pixels.
func (in *Input) distorts() bool {
	return in.Jitter != Jitter{} || !in.RandAugment.IsZero() || !in.Erase.IsZero()
}

// resized is torchvision's RandomResizedCrop. torchvision's recipes first resize an image whose
// short side exceeds Resize; this does not. The crop is a share of the area, so the result is the
// same with one resampling less.
func (c *cutter) resized(w, h int, random *sample.Random) placement {
	part := img.RandomCrop(w, h, c.in.Scale, c.in.Ratio, random.Float64)
	return c.all(part)
}

// padded moves a window over the centre crop by up to Pad pixels in each direction, as CIFAR
// recipes do. Pixels outside the crop are black.
func (c *cutter) padded(w, h int, random *sample.Random) placement {
	p := c.centre(w, h)
	dx, dy := random.IntN(2*c.in.Pad+1)-c.in.Pad, random.IntN(2*c.in.Pad+1)-c.in.Pad
	p.across, p.down = p.across.Shift(dx), p.down.Shift(dy)
	return p
}

// centre is the crop of an evaluation. It resizes the short side to Resize, or with Squash both
// sides, then takes the centre.
func (c *cutter) centre(w, h int) placement {
	if c.in.Resize == 0 {
		return c.whole(w, h)
	}
	p := placement{part: image.Rect(0, 0, w, h), w: c.in.Resize, h: c.in.Resize}
	if !c.in.Squash {
		p.w, p.h = img.ShortSide(w, h, c.in.Resize)
	}
	p.across, p.down = img.CenterWindow(p.w, c.in.Size), img.CenterWindow(p.h, c.in.Size)
	return p
}

func (c *cutter) whole(w, h int) placement { return c.all(image.Rect(0, 0, w, h)) }

// all resamples a part of an image to the input size of the network.
func (c *cutter) all(part image.Rectangle) placement {
	window := img.Whole(c.in.Size)
	return placement{part: part, w: c.in.Size, h: c.in.Size, across: window, down: window}
}

// cut writes a placed image of Size×Size pixels to dst.
func (c *cutter) cut(dst, src *img.RGB, p placement) {
	if p == c.all(p.part) {
		c.resampler.ResizeCrop(dst, src, p.part, p.w, p.h, c.filter)
		return
	}
	c.resampler.ResizeCrop(&c.small, src, p.part, p.w, p.h, c.filter)
	*dst = *img.NewRGB(c.in.Size, c.in.Size)
	for y := p.down.Lo; y < p.down.Hi; y++ {
		from, to := 3*((p.down.From+y)*p.w+p.across.From), 3*y*c.in.Size
		copy(dst.Pix[to+3*p.across.Lo:to+3*p.across.Hi], c.small.Pix[from+3*p.across.Lo:])
	}
}
