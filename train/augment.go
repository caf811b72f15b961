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

// cropFunc places an image of w×h pixels.
type cropFunc func(c *cutter, w, h int, random *sample.Random) placement

// cropTable names the training crops.
var cropTable = registry.Table[cropFunc]{
	{Name: "resized", About: "a random part of the image at a random shape, resized", Value: (*cutter).resized},
	{Name: "padded", About: "the centre crop in a black frame of pad pixels, and a random window of it",
		Value: (*cutter).padded},
	{Name: "centre", About: "as in evaluation",
		Value: func(c *cutter, w, h int, _ *sample.Random) placement { return c.centre(w, h) }},
	{Name: "whole", About: "the whole image, without regard to its shape",
		Value: func(c *cutter, w, h int, _ *sample.Random) placement { return c.whole(w, h) }},
}

// placement says how an image becomes a square: a part of it is resampled to a size, of which
// a window is kept.
type placement struct {
	part         image.Rectangle // no pixel outside it counts
	w, h         int             // the size that it is resampled to
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

	across, down img.Taps // of a placement
}

// place draws the training crop of an image, and whether it is mirrored. Both depend only on
// random and on the size of the image.
func (c *cutter) place(w, h int, random *sample.Random) (p placement, flip bool) {
	flip = c.in.Flip && random.Uint64()&1 == 1
	return c.crop(c, w, h, random), flip
}

// distort changes the pixels of a training crop. random has placed it.
func (c *cutter) distort(m *img.RGB, random *sample.Random) {
	c.in.Jitter.apply(m, random)
	c.in.RandAugment.apply(m, random)
	c.in.Erase.apply(m, c.in.Mean, random)
}

// distorts reports whether distort can change pixels.
func (in *Input) distorts() bool {
	return in.Jitter != Jitter{} || !in.RandAugment.IsZero() || !in.Erase.IsZero()
}

// resized is torchvision's RandomResizedCrop. Unlike in torchvision's recipes, an image
// whose short side exceeds Resize is not resized first. The crop is a share of the
// area, so it is the same with one resampling less.
func (c *cutter) resized(w, h int, random *sample.Random) placement {
	part := img.RandomCrop(w, h, c.in.Scale, c.in.Ratio, random.Float64)
	return c.all(part)
}

// padded moves a window by up to Pad pixels in each direction over the centre crop, as
// CIFAR's recipes do. Pixels outside are black.
func (c *cutter) padded(w, h int, random *sample.Random) placement {
	p := c.centre(w, h)
	dx, dy := random.IntN(2*c.in.Pad+1)-c.in.Pad, random.IntN(2*c.in.Pad+1)-c.in.Pad
	p.across, p.down = p.across.Shift(dx), p.down.Shift(dy)
	return p
}

// centre is the view of an evaluation: the short side, or with Squash both sides,
// resized to Resize, then the centre.
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

// all resamples a part of an image to the input of the network.
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
