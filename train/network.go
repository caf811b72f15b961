package train

import (
	"cmp"
	"context"
	"errors"
	"runtime"

	"hgld/internal/img"
	"hgld/labels"
	"hgld/train/backbone"
	"hgld/train/device"
	"hgld/train/device/bf16"
	"hgld/train/grad"
	"hgld/train/input"
	"hgld/train/loss"
	"hgld/train/nn"
	"hgld/train/retrieval"
)

// network is a retrieval network on a device. A run trains it; a Model evaluates it.
type network struct {
	b       device.Backend
	ranks   *ranks // processes that share its batches; nil: there is one
	arena   *device.Arena
	store   *nn.Store
	net     *backbone.Retrieval
	in      input.Settings
	filter  img.Filter
	decoder *img.Decoder
	width   int // width of the vectors that it reads; 0: it reads images

	resample bool // resample images on the device

	activations device.DType // type of the backbone's activations; all else is F32
	blank       bool         // parameters stay zero
}

// newNetwork declares the network. The caller calls store.Build after the loss has declared its
// parameters.
func newNetwork(b device.Backend, c *Config, p *resolved, d *img.Decoder) *network {
	store := nn.NewStore()
	if d == nil {
		d = new(img.Decoder)
	}
	n := &network{
		b: b, ranks: ranksOf(b), arena: device.NewArena(b), store: store, activations: c.Model.Activations(),
		net: backbone.NewRetrieval(store, p.backbone, backbone.Options{FreezeNorm: c.Model.FreezeNorm}, p.head),
		in:  c.Input, filter: p.filter, decoder: d, width: c.vectorWidth(), resample: c.Run.resampleOn(b),
	}
	if n.ranks != nil {
		store.Ranks = n.ranks
	}
	if n.width > 0 {
		n.activations = device.F32 // a head is small, and rounding its inputs gains nothing
	}
	if n.activations != device.F32 {
		if !b.Supports(n.activations) {
			n.b = bf16.Backend(b)
		}
		store.Find(backboneGroup).Activations = n.activations
	}
	return n
}

// newInputs makes the arrays of a batch. packs says that images are resampled on the device.
func (n *network) newInputs(size, levels int, packs bool) *input.Arrays {
	return input.NewArrays(n.b, size, levels, n.width, n.in.Size, packs)
}

// packs reports whether images go to the device as decoded. Training images that are distorted
// after resampling do not.
func (n *network) packs(training bool) bool {
	return n.resample && n.width == 0 && !(training && n.in.Distorts())
}

// forward records the pass from pixels to embeddings [B,D] of unit length.
func (n *network) forward(t *grad.Tape, in *input.Arrays) *grad.Var {
	beginPart(t, PartNetwork, PartInput)
	embed := n.net.Forward
	if t.Evaluating() && len(n.in.Scales) > 0 {
		embed = func(t *grad.Tape, x *grad.Var) *grad.Var { return n.net.MultiScale(t, x, n.in.Scales) }
	}
	return n.normalised(t, in, embed)
}

// normalised records the normalisation of pixels, followed by f.
func (n *network) normalised(t *grad.Tape, in *input.Arrays, f nn.Layer) *grad.Var {
	if n.width > 0 {
		return f(t, t.Leaf(in.Pixels, device.Array{}))
	}
	n.store.Shorten(t)
	x := t.Input(n.activations, in.Pixels.Dims[0], n.in.Size, n.in.Size, 4)
	pixel := device.Pixel{Mean: n.in.Mean, Std: n.in.Std}
	t.Do(func(b device.Backend) { b.Pixels(x.Value, in.Pixels, in.Crop, pixel) })
	e := f(t, x)
	t.Done(x)
	return e
}

// EmbedBatch is the number of images that a model embeds at a time. It is the same for all data
// sets, because the rounding of a product may depend on its shape.
const EmbedBatch = 64

// embed returns the embeddings [N,D] of a data set, with the crop of an evaluation. Several processes embed a part
// each.
func (n *network) embed(ctx context.Context, d input.Dataset, o embedOptions) (out device.Array, err error) {
	if n.ranks == nil || o.side > 0 {
		return n.embedAlone(ctx, d, o)
	}
	return n.embedShare(ctx, d, o)
}

func (n *network) embedAlone(ctx context.Context, d input.Dataset, o embedOptions) (out device.Array, err error) {
	through := func(each func(int, device.Array) error) error { return n.through(ctx, d, n.forward, o, each) }
	if o.side > 0 {
		through = func(each func(int, device.Array) error) error { return n.throughWhole(ctx, d, o, each) }
	}
	var number [2][4]byte // of this batch and of the last
	var last device.Ticket
	batches := 0
	err = through(func(done int, rows device.Array) error {
		if out.Absent() {
			out = device.New(n.b, device.F32, d.Len(), rows.Cols())
		}
		to := out.RowRange(done, done+rows.Dims[0])
		n.b.Copy(to, rows)
		before := last
		last = n.b.Download(number[batches%2][:], to.RowRange(0, 1).ColRange(0, 1))
		if batches++; batches == 1 {
			return nil
		}
		return n.b.Wait(before) // the device has the next batch by now
	})
	if err == nil {
		err = o.thread.Do(n.b.Sync)
	}
	return out, err
}

// through records a pass over images and runs it on a data set, with the crop of an evaluation.
// It calls each for every batch of results, with the number of rows before it.
func (n *network) through(ctx context.Context, d input.Dataset, record func(*grad.Tape, *input.Arrays) *grad.Var,
	o embedOptions, each func(done int, rows device.Array) error) (err error) {
	list, err := input.Paths(d)
	if err != nil {
		return err
	}
	l := &input.Loader{
		Data: d, Labels: list, Size: EmbedBatch, In: n.in, Filter: n.filter, Decoder: n.decoder,
		Reads: o.reads, Workers: cmp.Or(o.workers, runtime.GOMAXPROCS(0)), Prefetch: max(o.prefetch, 1), Width: n.width,
		Packs: n.packs(false), Skip: o.skip,
	}
	in := n.newInputs(EmbedBatch, len(d.Levels()), l.Packs)
	defer in.Free(n.b)
	l.Send = in.Sender(n.b)
	pass := recording{tape: grad.NewTape(n.b, n.arena).Evaluate()}
	defer pass.tape.Free()
	defer func() { err = errors.Join(err, o.thread.Do(func() error { pass.close(); return nil })) }()
	var e *grad.Var
	done := 0
	for b, err := range l.Batches(n.ranks.shielded(ctx), input.InOrder(d.Len(), EmbedBatch)) {
		if err != nil {
			return err
		}
		err = o.thread.Do(func() error {
			if err := n.ranks.agreed(ctx); err != nil {
				return err
			}
			in.Upload(n.b, b)
			if e == nil {
				e = pass.tape.Keep(record(pass.tape, in))
			} else if err := pass.repeat(n.b); err != nil {
				return err
			}
			return each(done, e.Value.RowRange(0, len(b.Rows)))
		})
		if err != nil {
			return err
		}
		done += len(b.Rows)
		if o.progress != nil {
			o.progress(done, d.Len())
		}
	}
	return nil
}

type embedOptions struct {
	thread   *device.Thread
	progress func(done, total int)
	skip     func(row int, err *input.ImageError) bool // see loader
	side     int                                       // see EmbedOptions

	reads, workers, prefetch int // see Upkeep
}

// side embeds a data set and collects its labels and names.
func (n *network) side(ctx context.Context, d input.Dataset, o embedOptions) (retrieval.Side, error) {
	vectors, err := n.embed(ctx, d, o)
	if err != nil {
		return retrieval.Side{}, err
	}
	s := retrieval.Side{Vectors: vectors, Labels: make([]labels.Path, d.Len()), IDs: make([]string, d.Len())}
	for i := range s.Labels {
		s.Labels[i], s.IDs[i] = d.Labels(i), d.ID(i)
	}
	return s, nil
}

// backbonePrefix begins the names of the backbone's parameters.
const backbonePrefix = backbone.Prefix

// lossScope is the scope of the loss's parameters in the store. lossPrefix begins their names.
const (
	lossScope  = loss.ParamScope
	lossPrefix = lossScope + "."
)
