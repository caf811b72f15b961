package input

import (
	"image"

	"hgld/internal/img"
	"hgld/train/sample"
)

// worker decodes and crops images, one after another, in memory of its own. In a steady state it
// allocates nothing, unless it distorts images.
type worker struct {
	*framer
	image img.Part // what was decoded of an image

	random       sample.Random
	training     bool
	seen         view            // of the image
	box          image.Rectangle // of the image, in which the view lies; empty: the whole image
	outside      error           // the box lies outside the image
	wanted       image.Rectangle // the part of the image that the view reads; empty: it is black
	across, down img.Taps        // from that part to the input
	place        func(w, h, reduction int) image.Rectangle

	resampler img.Resampler
	done      img.RGB
}

// newWorker returns a worker of checked settings.
func newWorker(f *framer) *worker {
	w := &worker{framer: f}
	w.place = w.placed
	return w
}

// placed draws the view of an image of w×h pixels, and returns the part of the reduced image that has to be decoded.
func (c *worker) placed(w, h, reduction int) image.Rectangle {
	var random *sample.Random
	if c.training {
		random = &c.random
	}
	whole := image.Rect(0, 0, w, h)
	box, err := Within(c.box, whole)
	if c.outside = err; err != nil {
		box = whole
	}
	box = img.Reduced(box, reduction)
	v := c.view(box.Dx(), box.Dy(), random)
	v.part = v.part.Add(box.Min)
	c.set(v)
	if c.wanted.Empty() {
		return image.Rect(0, 0, 1, 1)
	}
	return c.wanted
}

// set computes what a view reads, and how.
func (c *worker) set(v view) {
	c.seen = v
	c.across.Set(v.part.Dx(), v.w, c.filter, v.across)
	c.down.Set(v.part.Dy(), v.h, c.filter, v.down)
	left, right := c.across.Span()
	top, bottom := c.down.Span()
	c.across.Skip(left)
	c.down.Skip(top)
	c.wanted = image.Rect(left, top, right, bottom).Add(v.part.Min)
}

// finish writes the Size×Size pixels of the view to dst, distorted if it is one of training.
func (c *worker) finish(dst []byte) {
	c.done = img.RGB{W: c.in.Size, H: c.in.Size, Pix: dst}
	if c.wanted.Empty() {
		clear(dst)
	} else {
		c.resampler.Apply(&c.done, &c.image.RGB, c.wanted.Sub(c.image.At), &c.across, &c.down)
	}
	if random := c.seen.random; random != nil {
		c.in.Jitter.apply(&c.done, random)
		c.in.RandAugment.apply(&c.done, random)
		c.in.Erase.apply(&c.done, c.in.Mean, random)
		copy(dst, c.done.Pix) // RandAugment may have made a new image
	}
}

// pack places the part that the view reads in a row of a batch, for a device that resamples it. An
// image without room in the batch is resampled here. Images to distort never come here.
func (c *worker) pack(p *packed, row int) {
	if !c.wanted.Empty() && !p.add(row, &c.image.RGB, c.wanted.Sub(c.image.At), &c.across, &c.down) {
		c.finish(p.room(row))
	}
}
