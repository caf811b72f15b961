package network

import (
	"cmp"
	"context"
	"image"
	"math"
	"runtime"

	"hgld/internal/crash"
	"hgld/internal/img"
	"hgld/train/device"
	"hgld/train/grad"
	"hgld/train/input"
)

// wholeImage is an image to embed in its own shape.
type wholeImage struct {
	pixels img.RGB
	err    *input.ImageError
}

// throughWhole embeds images one at a time, each in its own shape: its box (see [input.Boxed]), reduced so that the
// longer side of the image has at most o.side pixels. It calls each as through does. The box of an image is
// reduced by the factor of the image, as in cnnimageretrieval-pytorch, whose protocol Revisited Oxford and
// Paris follow.
func (n *Network) throughWhole(ctx context.Context, d input.Dataset, o EmbedOptions,
	each func(done int, rows device.Array) error) error {
	asked := ctx
	ctx, cancel := context.WithCancel(n.Ranks.Shield(ctx))
	defer cancel()
	done := 0
	for c := range n.decodeWhole(ctx, d, o) {
		var w wholeImage
		select {
		case w = <-c:
		case <-ctx.Done():
			return ctx.Err()
		}
		if w.err != nil {
			if o.Skip == nil || !o.Skip(done, w.err) {
				return w.err
			}
			w.pixels = *img.NewRGB(n.in.Size, n.in.Size) // its vector is left out
		}
		err := o.Thread.Do(func() error {
			if err := n.Ranks.CheckStop(asked); err != nil {
				return err
			}
			pixels := device.New(n.Backend, device.U8, 1, w.pixels.H, w.pixels.W, 3)
			defer n.Backend.Free(pixels.Buf)
			n.Backend.Upload(pixels, w.pixels.Pix)
			tape := grad.NewTape(n.Backend, n.Arena).Evaluate() // the next image has another shape
			defer tape.Free()
			return each(done, n.forwardWhole(tape, pixels).Value)
		})
		if err != nil {
			return err
		}
		if done++; o.Progress != nil {
			o.Progress(done, d.Len())
		}
	}
	return ctx.Err()
}

// wholeWorkers is how many images wait to be embedded, decoded or not, at a setting of workers.
func wholeWorkers(workers int) int { return cmp.Or(workers, runtime.GOMAXPROCS(0)) }

// WholeAhead is the most images in memory: those that wait, one that waits for a place among them, and the one that is
// embedded.
func WholeAhead(workers int) int64 { return int64(wholeWorkers(workers)) + 2 }

// decodeWhole decodes images in order, some of them ahead of the reader.
func (n *Network) decodeWhole(ctx context.Context, d input.Dataset, o EmbedOptions) <-chan chan wholeImage {
	ahead := make(chan chan wholeImage, wholeWorkers(o.Workers))
	go func() {
		defer crash.Guard()
		defer close(ahead)
		for i := range d.Len() {
			c := make(chan wholeImage, 1)
			select {
			case ahead <- c:
			case <-ctx.Done():
				return
			}
			go func() {
				defer crash.Guard()
				c <- n.ownShape(ctx, d, i, o)
			}()
		}
	}()
	return ahead
}

// ownShape decodes and reduces an image.
func (n *Network) ownShape(ctx context.Context, d input.Dataset, i int, o EmbedOptions) (w wholeImage) {
	data, err := d.Image(ctx, i)
	if err != nil {
		return wholeImage{err: &input.ImageError{ID: d.ID(i), Err: err}}
	}
	var m img.Part
	var box, whole image.Rectangle
	var outside error
	err = n.Decoder.DecodePart(&m, data, func(w, h, reduction int) image.Rectangle {
		whole = image.Rect(0, 0, w, h)
		box, outside = input.Within(input.Box(d, i), whole)
		box, whole = img.Reduced(box, reduction), img.Reduced(whole, reduction)
		return whole
	})
	if err = cmp.Or(err, outside); err != nil {
		return wholeImage{err: &input.ImageError{ID: d.ID(i), Decoding: true, Err: err}}
	}
	longest := math.Floor(float64(o.Side) * float64(max(box.Dx(), box.Dy())) / float64(max(m.W, m.H)))
	width, height := img.Within(box.Dx(), box.Dy(), max(int(longest), 1))
	new(img.Resampler).ResizeCrop(&w.pixels, &m.RGB, box, width, height, n.filter)
	return w
}

// forwardWhole records the pass of one image [1,H,W,3] of any shape.
func (n *Network) forwardWhole(t *grad.Tape, pixels device.Array) *grad.Var {
	n.Store.Shorten(t)
	x := t.Input(n.Activations, 1, pixels.Dims[1], pixels.Dims[2], 4)
	t.Do(func(b device.Backend) {
		b.Pixels(x.Value, pixels, device.Array{}, device.Pixel{Mean: n.in.Mean, Std: n.in.Std})
	})
	if len(n.in.Scales) > 0 {
		return n.Net.MultiScale(t, x, n.in.Scales)
	}
	return n.Net.Forward(t, x)
}
