package train

import (
	"cmp"
	"context"
	"encoding/binary"
	"runtime"

	"hgld/internal/img"
	"hgld/labels"
	"hgld/train/backbone"
	"hgld/train/device"
	"hgld/train/device/bf16"
	"hgld/train/grad"
	"hgld/train/nn"
	"hgld/train/retrieval"
)

// network is a retrieval network on a device. A run trains it; a Model evaluates it.
type network struct {
	b       device.Backend
	arena   *device.Arena
	store   *nn.Store
	net     *backbone.Retrieval
	in      Input
	filter  filter
	decoder *img.Decoder
	width   int // width of the vectors that it reads; 0: it reads images

	resample bool // resample images on the device

	activations device.DType // type of the backbone's activations; all else is F32
}

// newNetwork declares the network. The caller calls store.Build after the loss has declared its
// parameters.
func newNetwork(b device.Backend, c *Config, p *parts, d *img.Decoder) *network {
	store := nn.NewStore()
	if d == nil {
		d = new(img.Decoder)
	}
	n := &network{
		b: b, arena: device.NewArena(b), store: store, activations: c.Model.activations(),
		net: backbone.NewRetrieval(store, p.backbone, backbone.Options{FreezeNorm: c.Model.FreezeNorm}, p.head),
		in:  c.Input, filter: p.filter, decoder: d, width: c.vectorWidth(), resample: c.Run.resampleOn(b),
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

// inputs are the arrays that a recorded pass reads. Each batch is uploaded into them.
type inputs struct {
	pixels device.Array // U8 [B,H,W,3], or the vectors F32 [B,D]
	crop   device.Array // I32 [B,3]
	labels device.Array // I32 [B,L]
	bytes  []byte       // staging for crop and labels

	packed [deviceSlots]*packedInputs // sources of resampling; nil: pixels are uploaded
}

// newInputs makes the arrays of a batch. packs says that images are resampled on the device.
func (n *network) newInputs(size, levels int, packs bool) *inputs {
	in := &inputs{
		crop:   device.New(n.b, device.I32, size, 3),
		labels: device.New(n.b, device.I32, size, levels),
		bytes:  make([]byte, 4*size*max(levels, 3)),
	}
	if packs {
		for i := range in.packed {
			in.packed[i] = newPackedInputs(n.b, newPacking(size, n.in.Size))
		}
	}
	if n.width > 0 {
		in.pixels = device.New(n.b, device.F32, size, n.width)
	} else {
		in.pixels = device.New(n.b, device.U8, size, n.in.Size, n.in.Size, 3)
	}
	return in
}

func (i *inputs) free(b device.Backend) {
	all := []device.Array{i.pixels, i.crop, i.labels}
	for _, p := range i.packed {
		if p != nil {
			all = append(all, p.pixels, p.taps, p.images)
		}
	}
	for _, a := range all {
		b.Free(a.Buf)
	}
}

// upload brings a batch to the device. Images that the device resamples may be there already.
func (i *inputs) upload(b device.Backend, from *batch) {
	switch {
	case from.packed == nil:
		b.Upload(i.pixels, from.pixels)
	case from.sent:
		i.packed[from.place].resample(b, i.pixels)
	default:
		i.packed[0].upload(b, from.packed)
		i.packed[0].resample(b, i.pixels)
	}
	b.Upload(i.crop, stage(i.bytes, from.crop))
	b.Upload(i.labels, stage(i.bytes, from.labels))
}

// stage writes values into memory, which must be large enough, and returns the bytes written.
func stage(memory []byte, values []int32) []byte {
	for at, v := range values {
		binary.LittleEndian.PutUint32(memory[4*at:], uint32(v))
	}
	return memory[:4*len(values)]
}

// forward records the pass from pixels to embeddings [B,D] of unit length.
func (n *network) forward(t *grad.Tape, in *inputs) *grad.Var {
	embed := n.net.Forward
	if t.Evaluating() && len(n.in.Scales) > 0 {
		embed = func(t *grad.Tape, x *grad.Var) *grad.Var { return n.net.MultiScale(t, x, n.in.Scales) }
	}
	return n.normalised(t, in, embed)
}

// normalised records the normalisation of pixels, followed by f.
func (n *network) normalised(t *grad.Tape, in *inputs, f nn.Layer) *grad.Var {
	if n.width > 0 {
		return f(t, t.Leaf(in.pixels, device.Array{}))
	}
	n.store.Shorten(t)
	x := t.Input(n.activations, in.pixels.Dims[0], n.in.Size, n.in.Size, 4)
	pixel := device.Pixel{Mean: n.in.Mean, Std: n.in.Std}
	t.Do(func(b device.Backend) { b.Pixels(x.Value, in.pixels, in.crop, pixel) })
	e := f(t, x)
	t.Done(x)
	return e
}

// embedBatch is the number of images that an evaluation embeds at a time. It is the same for all
// data sets, because the rounding of a product may depend on its shape.
const embedBatch = 64

// embed returns the embeddings [N,D] of a data set, with the crop of an evaluation.
func (n *network) embed(ctx context.Context, d Dataset, o embedOptions) (out device.Array, err error) {
	err = n.through(ctx, d, n.forward, o, func(done int, rows device.Array) error {
		if out.Absent() {
			out = device.New(n.b, device.F32, d.Len(), rows.Cols())
		}
		n.b.Copy(out.RowRange(done, done+rows.Dims[0]), rows)
		return n.b.Sync()
	})
	return out, err
}

// through records a pass over images and runs it on a data set, with the crop of an evaluation.
// It calls each for every batch of results, with the number of rows before it.
func (n *network) through(ctx context.Context, d Dataset, record func(*grad.Tape, *inputs) *grad.Var, o embedOptions,
	each func(done int, rows device.Array) error) error {
	list, err := paths(d)
	if err != nil {
		return err
	}
	l := &loader{
		data: d, labels: list, size: embedBatch, in: n.in, filter: n.filter, decoder: n.decoder,
		workers: cmp.Or(o.workers, runtime.GOMAXPROCS(0)), prefetch: max(o.prefetch, 1), width: n.width,
		packs: n.packs(false), skip: o.skip,
	}
	in := n.newInputs(embedBatch, len(d.Levels()), l.packs)
	defer in.free(n.b)
	l.send = in.sender(n.b)
	tape := grad.NewTape(n.b, n.arena).Evaluate()
	defer tape.Free()
	var e *grad.Var
	done := 0
	for b, err := range l.batches(ctx, inOrder(d.Len(), embedBatch)) {
		if err != nil {
			return err
		}
		err = o.thread.Do(func() error {
			in.upload(n.b, b)
			if e == nil {
				e = tape.Keep(record(tape, in))
			} else {
				tape.Replay()
			}
			return each(done, e.Value.RowRange(0, len(b.rows)))
		})
		if err != nil {
			return err
		}
		done += len(b.rows)
		if o.progress != nil {
			o.progress(done, d.Len())
		}
	}
	return nil
}

type embedOptions struct {
	thread            *device.Thread
	workers, prefetch int
	progress          func(done, total int)
	skip              func(row int, err *ImageError) bool // see loader
}

// side embeds a data set and collects its labels and names.
func (n *network) side(ctx context.Context, d Dataset, o embedOptions) (retrieval.Side, error) {
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
	lossScope  = "loss"
	lossPrefix = lossScope + "."
)
