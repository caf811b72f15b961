package train

import (
	"cmp"
	"context"
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
func (n *network) throughWhole(ctx context.Context, d input.Dataset, o embedOptions,
	each func(done int, rows device.Array) error) error {
	asked := ctx
	ctx, cancel := context.WithCancel(n.ranks.shielded(ctx))
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
			if o.skip == nil || !o.skip(done, w.err) {
				return w.err
			}
			w.pixels = *img.NewRGB(n.in.Size, n.in.Size) // its vector is left out
		}
		err := o.thread.Do(func() error {
			if err := n.ranks.agreed(asked); err != nil {
				return err
			}
			pixels := device.New(n.b, device.U8, 1, w.pixels.H, w.pixels.W, 3)
			defer n.b.Free(pixels.Buf)
			n.b.Upload(pixels, w.pixels.Pix)
			tape := grad.NewTape(n.b, n.arena).Evaluate() // the next image has another shape
			defer tape.Free()
			return each(done, n.forwardWhole(tape, pixels).Value)
		})
		if err != nil {
			return err
		}
		if done++; o.progress != nil {
			o.progress(done, d.Len())
		}
	}
	return ctx.Err()
}

// wholeWorkers is how many images wait to be embedded, decoded or not, at a setting of workers.
func wholeWorkers(workers int) int { return cmp.Or(workers, runtime.GOMAXPROCS(0)) }

// wholeAhead is the most images in memory: those that wait, one that waits for a place among them, and the one that is
// embedded.
func wholeAhead(workers int) int64 { return int64(wholeWorkers(workers)) + 2 }

// decodeWhole decodes images in order, some of them ahead of the reader.
func (n *network) decodeWhole(ctx context.Context, d input.Dataset, o embedOptions) <-chan chan wholeImage {
	ahead := make(chan chan wholeImage, wholeWorkers(o.workers))
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
func (n *network) ownShape(ctx context.Context, d input.Dataset, i int, o embedOptions) (w wholeImage) {
	data, err := d.Image(ctx, i)
	if err != nil {
		return wholeImage{err: &input.ImageError{ID: d.ID(i), Err: err}}
	}
	m, err := n.decoder.Decode(data)
	if err != nil {
		return wholeImage{err: &input.ImageError{ID: d.ID(i), Decoding: true, Err: err}}
	}
	box, err := input.Within(input.Box(d, i), m.Bounds())
	if err != nil {
		return wholeImage{err: &input.ImageError{ID: d.ID(i), Decoding: true, Err: err}}
	}
	longest := math.Floor(float64(o.side) * float64(max(box.Dx(), box.Dy())) / float64(max(m.W, m.H)))
	width, height := img.Within(box.Dx(), box.Dy(), max(int(longest), 1))
	new(img.Resampler).ResizeCrop(&w.pixels, m, box, width, height, n.filter)
	return w
}

// forwardWhole records the pass of one image [1,H,W,3] of any shape.
func (n *network) forwardWhole(t *grad.Tape, pixels device.Array) *grad.Var {
	n.store.Shorten(t)
	x := t.Input(n.activations, 1, pixels.Dims[1], pixels.Dims[2], 4)
	t.Do(func(b device.Backend) {
		b.Pixels(x.Value, pixels, device.Array{}, device.Pixel{Mean: n.in.Mean, Std: n.in.Std})
	})
	if len(n.in.Scales) > 0 {
		return n.net.MultiScale(t, x, n.in.Scales)
	}
	return n.net.Forward(t, x)
}
