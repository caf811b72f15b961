package input

import "hgld/internal/img"

// cutter turns a decoded image into a row of a batch. Each worker has its own.
type cutter interface {
	// cut writes what v shows of src to row at of b.
	cut(b *Batch, at int, src *img.RGB, v view)
}

// newCutter returns the cutter of the device or of the host.
func (l *Loader) newCutter(f *framer) cutter {
	host := &hostCutter{framer: f}
	if l.Packs {
		return &deviceCutter{host: host}
	}
	return host
}

// hostCutter resamples images in the worker that decodes them.
type hostCutter struct {
	*framer
	resampler   img.Resampler
	small, done img.RGB
}

func (c *hostCutter) cut(b *Batch, at int, src *img.RGB, v view) {
	pixels := c.finished(src, v)
	copy(b.Pixels[at*len(pixels):], pixels)
}

// finished returns the Size×Size pixels of a view, distorted if it is one of training. They are
// valid until the next call.
func (c *hostCutter) finished(src *img.RGB, v view) []byte {
	c.resample(&c.done, src, v.placement)
	if v.random != nil {
		c.in.Jitter.apply(&c.done, v.random)
		c.in.RandAugment.apply(&c.done, v.random)
		c.in.Erase.apply(&c.done, c.in.Mean, v.random)
	}
	return c.done.Pix
}

// resample writes a placed image of Size×Size pixels to dst.
func (c *hostCutter) resample(dst, src *img.RGB, p placement) {
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

// deviceCutter packs the parts of images that the device reads to resample them. An image without
// room in the batch is resampled by the host. Images to distort never come here.
type deviceCutter struct {
	host         *hostCutter
	across, down img.Taps // filter taps of a placement
}

func (c *deviceCutter) cut(b *Batch, at int, src *img.RGB, v view) {
	p, f := v.placement, c.host.framer
	c.across.Set(p.part.Dx(), p.w, f.filter, p.across)
	c.down.Set(p.part.Dy(), p.h, f.filter, p.down)
	if !b.packed.add(at, src, p.part.Min, &c.across, &c.down) {
		b.packed.finish(at, c.host.finished(src, v))
	}
}
