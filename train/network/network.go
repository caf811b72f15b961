// Package network runs a retrieval network on a device: from images or vectors to embeddings of unit length, in batches
// of a training and for whole data sets.
package network

import (
	"cmp"
	"context"
	"errors"
	"io"
	"runtime"

	"hgld/internal/atomicfile"
	"hgld/internal/img"
	"hgld/internal/tensorfile"
	"hgld/labels"
	"hgld/train/backbone"
	"hgld/train/collective"
	"hgld/train/config"
	"hgld/train/device"
	"hgld/train/device/bf16"
	"hgld/train/grad"
	"hgld/train/input"
	"hgld/train/nn"
	"hgld/train/retrieval"
	"hgld/train/tensor"
)

// Network is a retrieval network on a device. A run trains it; a Model evaluates it.
type Network struct {
	Backend device.Backend      // device that computes
	Ranks   *collective.Group   // processes that share its batches; nil: there is one
	Arena   *device.Arena       // memory of a step
	Store   *nn.Store           // parameters, statistics and what else a checkpoint holds
	Net     *backbone.Retrieval // layers
	in      input.Settings
	filter  img.Filter
	Decoder *img.Decoder // reads images
	Width   int          // width of the vectors that it reads; 0: it reads images

	resample bool // resample images on the device

	Activations device.DType // type of the backbone's activations; all else is F32
	Blank       bool         // parameters stay zero
}

// New declares the network. The caller calls store.Build after the loss has declared its
// parameters.
func New(b device.Backend, c *config.Config, p *config.Resolved, d *img.Decoder) *Network {
	store := nn.NewStore()
	if d == nil {
		d = new(img.Decoder)
	}
	n := &Network{
		Backend: b, Ranks: collective.Of(b), Arena: device.NewArena(b), Store: store, Activations: c.Model.Activations(),
		Net: backbone.NewRetrieval(store, p.Backbone, backbone.Options{FreezeNorm: c.Model.FreezeNorm}, p.Head),
		in:  c.Input, filter: p.Filter, Decoder: d, Width: c.VectorWidth(), resample: c.Run.ResampleOn(b),
	}
	if n.Ranks != nil {
		store.Ranks = n.Ranks
	}
	if n.Width > 0 {
		n.Activations = device.F32 // a head is small, and rounding its inputs gains nothing
	}
	if n.Activations != device.F32 {
		if !b.Supports(n.Activations) {
			n.Backend = bf16.Backend(b)
		}
		store.Find(config.BackboneGroup).Activations = n.Activations
	}
	return n
}

// NewInputs makes the arrays of a batch. packs says that images are resampled on the device.
func (n *Network) NewInputs(size, levels int, packs bool) *input.Arrays {
	return input.NewArrays(n.Backend, size, levels, n.Width, n.in.Size, packs)
}

// Packs reports whether images go to the device as decoded. Training images that are distorted
// after resampling do not.
func (n *Network) Packs(training bool) bool {
	return n.resample && n.Width == 0 && !(training && n.in.Distorts())
}

// Forward records the pass from pixels to embeddings [B,D] of unit length.
func (n *Network) Forward(t *grad.Tape, in *input.Arrays) *grad.Var {
	BeginPart(t, PartNetwork, PartInput)
	embed := n.Net.Forward
	if t.Evaluating() && len(n.in.Scales) > 0 {
		embed = func(t *grad.Tape, x *grad.Var) *grad.Var { return n.Net.MultiScale(t, x, n.in.Scales) }
	}
	return n.Normalized(t, in, embed)
}

// Normalized records the normalisation of pixels, followed by f.
func (n *Network) Normalized(t *grad.Tape, in *input.Arrays, f nn.Layer) *grad.Var {
	if n.Width > 0 {
		return f(t, t.Leaf(in.Pixels, device.Array{}))
	}
	n.Store.Shorten(t)
	x := t.Input(n.Activations, in.Pixels.Dims[0], n.in.Size, n.in.Size, 4)
	pixel := device.Pixel{Mean: n.in.Mean, Std: n.in.Std}
	t.Do(func(b device.Backend) { b.Pixels(x.Value, in.Pixels, in.Crop, pixel) })
	e := f(t, x)
	t.Done(x)
	return e
}

// EmbedBatch is the number of images that a model embeds at a time. It is the same for all data
// sets, because the rounding of a product may depend on its shape.
const EmbedBatch = 64

// Embed returns the embeddings [N,D] of a data set, with the crop of an evaluation. Several processes embed a part
// each.
func (n *Network) Embed(ctx context.Context, d input.Dataset, o EmbedOptions) (out device.Array, err error) {
	if n.Ranks == nil || o.Side > 0 {
		return n.embedAlone(ctx, d, o)
	}
	return n.embedShare(ctx, d, o)
}

func (n *Network) embedAlone(ctx context.Context, d input.Dataset, o EmbedOptions) (out device.Array, err error) {
	through := func(each func(int, device.Array) error) error { return n.through(ctx, d, n.Forward, o, each) }
	if o.Side > 0 {
		through = func(each func(int, device.Array) error) error { return n.throughWhole(ctx, d, o, each) }
	}
	var number [2][4]byte // of this batch and of the last
	var last device.Ticket
	batches := 0
	err = through(func(done int, rows device.Array) error {
		if out.Absent() {
			out = device.New(n.Backend, device.F32, d.Len(), rows.Cols())
		}
		to := out.RowRange(done, done+rows.Dims[0])
		n.Backend.Copy(to, rows)
		before := last
		last = n.Backend.Download(number[batches%2][:], to.RowRange(0, 1).ColRange(0, 1))
		if batches++; batches == 1 {
			return nil
		}
		return n.Backend.Wait(before) // the device has the next batch by now
	})
	if err == nil {
		err = o.Thread.Do(n.Backend.Sync)
	}
	return out, err
}

// through records a pass over images and runs it on a data set, with the crop of an evaluation.
// It calls each for every batch of results, with the number of rows before it.
func (n *Network) through(ctx context.Context, d input.Dataset, record func(*grad.Tape, *input.Arrays) *grad.Var,
	o EmbedOptions, each func(done int, rows device.Array) error) (err error) {
	list, err := input.Paths(d)
	if err != nil {
		return err
	}
	l := &input.Loader{
		Data: d, Labels: list, Size: EmbedBatch, In: n.in, Filter: n.filter, Decoder: n.Decoder,
		Reads: o.Reads, Workers: cmp.Or(o.Workers, runtime.GOMAXPROCS(0)), Prefetch: max(o.Prefetch, 1), Width: n.Width,
		Packs: n.Packs(false), Skip: o.Skip,
	}
	in := n.NewInputs(EmbedBatch, len(d.Levels()), l.Packs)
	defer in.Free(n.Backend)
	l.Send = in.Sender(n.Backend)
	pass := Recording{Tape: grad.NewTape(n.Backend, n.Arena).Evaluate()}
	defer pass.Tape.Free()
	defer func() { err = errors.Join(err, o.Thread.Do(func() error { pass.Close(); return nil })) }()
	var e *grad.Var
	done := 0
	for b, err := range l.Batches(n.Ranks.Shield(ctx), input.InOrder(d.Len(), EmbedBatch)) {
		if err != nil {
			return err
		}
		err = o.Thread.Do(func() error {
			if err := n.Ranks.CheckStop(ctx); err != nil {
				return err
			}
			in.Upload(n.Backend, b)
			if e == nil {
				e = pass.Tape.Keep(record(pass.Tape, in))
			} else if err := pass.Repeat(n.Backend); err != nil {
				return err
			}
			return each(done, e.Value.RowRange(0, len(b.Rows)))
		})
		if err != nil {
			return err
		}
		done += len(b.Rows)
		if o.Progress != nil {
			o.Progress(done, d.Len())
		}
	}
	return nil
}

// EmbedOptions say how a data set is embedded.
type EmbedOptions struct {
	Thread   *device.Thread                            // of the device
	Progress func(done, total int)                     // items embedded; may be nil
	Skip     func(row int, err *input.ImageError) bool // see loader
	Side     int                                       // longer side of each image in its own shape; 0: cropped

	Reads, Workers, Prefetch int // see config.RunOptions
}

// Side embeds a data set and collects its labels and names.
func (n *Network) Side(ctx context.Context, d input.Dataset, o EmbedOptions) (retrieval.Side, error) {
	vectors, err := n.Embed(ctx, d, o)
	if err != nil {
		return retrieval.Side{}, err
	}
	s := retrieval.Side{Vectors: vectors, Labels: make([]labels.Path, d.Len()), IDs: make([]string, d.Len())}
	for i := range s.Labels {
		s.Labels[i], s.IDs[i] = d.Labels(i), d.ID(i)
	}
	return s, nil
}

// BackbonePrefix begins the names of the backbone's parameters.
const BackbonePrefix = backbone.Prefix

// ProjectionFile is the file in a run directory that holds the projection fitted to the data:
// "weight" [Dim,C] and "bias" [Dim].
const ProjectionFile = "projection.safetensors"

// Features calls add with the projection's input [n,C] for a data set, on the host, one batch at
// a time.
func (n *Network) Features(ctx context.Context, d input.Dataset, o EmbedOptions, add func(*tensor.Tensor) error) error {
	record := func(t *grad.Tape, in *input.Arrays) *grad.Var { return n.Normalized(t, in, n.Net.Features) }
	return n.through(ctx, d, record, o, func(_ int, rows device.Array) error {
		block, err := tensor.FromDevice(n.Backend, rows)
		if err != nil {
			return err
		}
		return add(block)
	})
}

// WriteProjection writes a projection that was fitted to the data, weight [Dim,C] and bias [Dim].
func WriteProjection(path string, weight, bias *tensor.Tensor) error {
	list := []tensorfile.Tensor{weight.File("weight"), bias.File("bias")}
	return atomicfile.Write(path, func(w io.Writer) error { return tensorfile.WriteSafetensors(w, list, nil) })
}

// Rehearse records the pass of an evaluation, and returns the width of its embeddings. free frees its arrays.
func (n *Network) Rehearse(levels, longest int) (width int, free func()) {
	tape := grad.NewTape(n.Backend, n.Arena).Evaluate()
	if longest > 0 {
		pixels := device.New(n.Backend, device.U8, 1, longest, longest, 3)
		return n.forwardWhole(tape, pixels).Value.Cols(), func() { tape.Free(); n.Backend.Free(pixels.Buf) }
	}
	in := n.NewInputs(EmbedBatch, levels, n.Packs(false))
	return n.Forward(tape, in).Value.Cols(), func() { tape.Free(); in.Free(n.Backend) }
}

// embedShare embeds this process's part of a data set and gathers those of all. A part is a number of whole
// batches, so that every vector has the bytes that one process would compute. The last parts may be shorter or
// empty; a process whose part is empty embeds the last batch again, and nobody reads it.
func (n *Network) embedShare(ctx context.Context, d input.Dataset, o EmbedOptions) (device.Array, error) {
	turns, part := Turns(n.Ranks, d.Len())
	lo := min(n.Ranks.Index*part, (d.Len()-1)/EmbedBatch*EmbedBatch)
	own := &input.Subset{Of: d}
	for i := lo; i < min(lo+part, d.Len()); i++ {
		own.Rows = append(own.Rows, i)
	}
	mine, err := n.embedAlone(ctx, own, o)
	if err != nil {
		return mine, err
	}
	var out device.Array
	err = o.Thread.Do(func() error {
		for range turns - (own.Len()+EmbedBatch-1)/EmbedBatch {
			if err := n.Ranks.CheckStop(ctx); err != nil {
				return err
			}
		}
		from := device.New(n.Backend, device.F32, part, mine.Cols())
		n.Backend.Fill(from, 0)
		n.Backend.Copy(from.RowRange(0, own.Len()), mine)
		n.Backend.Free(mine.Buf)
		out = device.New(n.Backend, device.F32, part*n.Ranks.Size, mine.Cols())
		n.Ranks.AllGather(out, from)
		n.Backend.Free(from.Buf)
		return n.Backend.Sync()
	})
	return out.RowRange(0, d.Len()), err
}

// Turns returns how many batches a process embeds of n rows, and their rows.
func Turns(r *collective.Group, n int) (batches, rows int) {
	all := (n + EmbedBatch - 1) / EmbedBatch
	batches = (all + r.Size - 1) / r.Size
	return batches, batches * EmbedBatch
}
