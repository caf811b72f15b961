package train

import (
	"errors"
	"fmt"

	"hgld/labels"
	"hgld/train/backbone"
	"hgld/train/device"
	"hgld/train/device/observe"
	"hgld/train/grad"
)

// Estimate is what a run will need, known before it takes any of it.
type Estimate struct {
	Images   int         `json:"images"`            // of the training data, or vectors
	Vectors  bool        `json:"vectors,omitempty"` // set for a head on vectors
	Classes  []int       `json:"classes"`           // of each level, finest first
	Absent   int         `json:"classes_absent"`    // finest ones that the first epoch has no image of
	Batch    int         `json:"batch"`             // images of a step
	PerEpoch int         `json:"steps_per_epoch"`   // of an epoch
	Steps    int         `json:"steps"`             // of the whole run
	Groups   []GroupSize `json:"groups"`            // of parameters

	// Kept is the bytes of arrays that live as long as the run: weights, gradients,
	// moments, averages, inputs, memories. Peak is the most at any moment of a step,
	// those included. What a backend takes for itself comes on top.
	Kept int64 `json:"bytes_kept"`
	Peak int64 `json:"bytes_peak"`          // see Kept
	Host int64 `json:"bytes_decoded_ahead"` // of batches, beside the device

	// Evaluation is the most at any moment of an evaluation, after a first step: what
	// that has taken, the forward pass, the vectors and a block of scores. 0: the run
	// has none.
	Evaluation int64 `json:"bytes_evaluation"`

	// Projection is the most while a projection is started from principal components:
	// what lives as long as the run, the forward pass, and on the host what the
	// components are found from. 0: the run does not.
	Projection int64 `json:"bytes_projection,omitempty"`

	// FLOPs are the floating-point operations of a step in products of matrices,
	// convolutions and attention: two for each multiplication and addition.
	FLOPs float64 `json:"flops"`

	// Bytes are what the operations of a step read and write, each array counted once: a step
	// takes at least the time in which the device's memory moves them.
	Bytes float64  `json:"bytes_moved"`
	Ops   []OpWork `json:"operations"` // of a step, those that move most first
}

// needed returns the bytes of a run on the host: of a step or an evaluation, with the
// images that are decoded meanwhile.
func (e *Estimate) needed() int64 { return max(e.Peak, e.Evaluation, e.Projection) + e.Host }

// GroupSize is the trained values of a group.
type GroupSize struct {
	Name   string `json:"name"`   // backbone, head or proxies
	Values int    `json:"values"` // number of them
}

// Plan finds out what a run needs, by taking a step in which every array is
// counted, none is made, and nothing is computed. run.resample auto counts as host; see
// Upkeep.Settle.
func Plan(config Config, data Data) (*Estimate, error) {
	l := &ledger{work: map[string]*OpWork{}}
	b := observe.Operations(l, l.count)
	config.Model.Weights, config.From = "", "" // they change no size
	if config.Model.Precision == precisionAuto {
		config.Model.Precision = precisionFloat32 // which needs more
	}
	if config.Run.Resample != resampleDevice {
		config.Run.Resample = resampleHost
	}
	r, err := New(config, data, Options{Backend: b, planned: true})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	e := &Estimate{
		Images: len(r.paths), Vectors: r.config.ofVectors(),
		Classes: r.classes, Absent: r.absent, Batch: r.parts.sampler.Size(), PerEpoch: r.perEpoch,
		Steps: r.Total(), Kept: l.used,
	}
	for _, g := range r.network.store.Groups {
		e.Groups = append(e.Groups, GroupSize{g.Name, g.Size()})
	}
	if r.config.Model.Projection != "" {
		if err := r.lane.do(func() error { e.Projection = r.planProjection(l); return nil }); err != nil {
			return nil, err
		}
		l.peak = l.used
	}
	full := r.loader.newBatch()
	e.Host = int64(r.loader.prefetch+1) * int64(full.bytes())
	clear(l.work)
	err = r.lane.do(func() error {
		_, err := r.step.queue(full, config.Schedule.Freeze) // the first step in which no group is frozen
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("train: plan: %w", err)
	}
	e.Peak = l.peak
	e.setWork(l.work)
	l.peak = l.used
	parts := [][]Dataset{{r.data.Validation}, {r.data.Query, r.data.Gallery}}
	for _, b := range r.data.Benchmarks {
		parts = append(parts, []Dataset{b.Query, b.Gallery})
	}
	for _, sides := range parts {
		if sides[0] != nil {
			err = errors.Join(err, r.lane.do(func() error { r.planEvaluation(sides); return nil }))
			e.Evaluation = l.peak
		}
	}
	return e, err
}

// planProjection makes the arrays of a pass for the features, and returns the most
// bytes there were, with those of the components.
func (r *Run) planProjection(l *ledger) int64 {
	n, b := r.network, r.o.Backend
	in := n.newInputs(embedBatch, len(r.classes), n.packs(false))
	tape := grad.NewTape(b, n.arena).Evaluate()
	width := n.normalised(tape, in, n.net.Features).Value.Cols()
	tape.Free()
	in.free(b)
	return l.peak + backbone.FeatureBytes(len(fitRows(len(r.paths), r.config.Model.FitOn, r.config.Seed)), width)
}

// planEvaluation makes the arrays of an evaluation in their order: of queries and
// gallery, or of queries that rank each other.
func (r *Run) planEvaluation(sides []Dataset) {
	n, b := r.network, r.o.Backend
	e := &Evaluation{Levels: sides[0].Levels()}
	var vectors []device.Array
	for i, side := range sides {
		if side == nil {
			continue
		}
		in := n.newInputs(embedBatch, len(e.Levels), n.packs(false))
		tape := grad.NewTape(b, n.arena).Evaluate()
		width := n.forward(tape, in).Value.Cols()
		vectors = append(vectors, device.New(b, device.F32, side.Len(), width))
		tape.Free()
		in.free(b)
		e.Gallery.Labels = make([]labels.Path, side.Len())
		if i == 0 {
			e.Query.Labels = e.Gallery.Labels
		}
	}
	newMeter(b, e).free()
	for _, v := range vectors {
		b.Free(v.Buf)
	}
}

// ledger is memory that is only counted. As a backend it has no operations: an
// observer stands before it that leaves them out.
type ledger struct {
	device.Backend
	used, peak int64
	work       map[string]*OpWork
}

// count adds a call to what there is to do.
func (l *ledger) count(c observe.Call, _ func()) {
	w := l.work[c.Op]
	if w == nil {
		w = &OpWork{Op: c.Op}
		l.work[c.Op] = w
	}
	w.add(c)
}

// countedBuffer has a size and nothing else.
type countedBuffer struct{ bytes int }

func (b *countedBuffer) Size() int { return b.bytes }

func (l *ledger) Name() string                { return "plan" }
func (l *ledger) Supports(device.DType) bool  { return true }
func (l *ledger) Upload(device.Array, []byte) {}
func (l *ledger) Wait(device.Ticket) error    { return nil }
func (l *ledger) Sync() error                 { return nil }

func (l *ledger) Alloc(bytes int) device.Buffer {
	l.used += int64(bytes)
	l.peak = max(l.peak, l.used)
	return &countedBuffer{bytes}
}

func (l *ledger) Free(b device.Buffer) { l.used -= int64(b.Size()) }

func (l *ledger) Part(_ device.Buffer, _, bytes int) device.Buffer {
	return &countedBuffer{bytes}
}

// Download gives zeros: a loss, and a guard that found nothing.
func (l *ledger) Download(dst []byte, _ device.Array) device.Ticket {
	clear(dst)
	return 0
}
