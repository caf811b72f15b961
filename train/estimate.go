package train

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"hgld/labels"
	"hgld/train/backbone"
	"hgld/train/device"
	"hgld/train/device/observe"
	"hgld/train/grad"
	"hgld/train/input"
	"hgld/train/retrieval"
)

// Estimate is what a run will need, computed before it allocates anything.
type Estimate struct {
	Images   int         `json:"images"`            // number of training images, or vectors
	Vectors  bool        `json:"vectors,omitempty"` // the run trains a head on vectors
	Classes  []int       `json:"classes"`           // classes of each level, finest first
	Absent   int         `json:"classes_absent"`    // finest classes without an image in the first epoch
	Batch    int         `json:"batch"`             // images per step
	PerEpoch int         `json:"steps_per_epoch"`   // steps per epoch
	Steps    int         `json:"steps"`             // steps of the whole run
	Groups   []GroupSize `json:"groups"`            // parameter groups
	Ranks    int         `json:"ranks,omitempty"`   // processes that share a batch; the numbers below are of one

	// Kept is the bytes of arrays that live as long as the run: weights, gradients, moments,
	// averages, inputs, memories. Peak is the maximum during a step, including Kept. Memory that
	// a backend takes for itself is extra.
	Kept int64 `json:"bytes_kept"`
	Peak int64 `json:"bytes_peak"`          // see Kept
	Host int64 `json:"bytes_decoded_ahead"` // bytes of decoded batches in host memory

	// Files is at most the bytes of image files that are read ahead, see input.Loader.FileBytes. Whole is the bytes of
	// images of landmarks that are decoded ahead of an evaluation, each in its own shape. 0: there are none, or the data
	// set does not know their sizes.
	Files int64 `json:"bytes_read_ahead"`
	Whole int64 `json:"bytes_decoded_whole,omitempty"` // see Files

	// Evaluation is the maximum during an evaluation after a first step, including what the step
	// has allocated, the forward pass, the vectors and a block of scores. 0: the run has none.
	Evaluation int64 `json:"bytes_evaluation"`

	// Projection is the maximum while a projection is fitted to principal components: what lives
	// as long as the run, the forward pass and, on the host, the memory of the fit. 0: the run
	// fits none.
	Projection int64 `json:"bytes_projection,omitempty"`

	// FLOPs are the floating-point operations of a step in matrix products, convolutions and
	// attention. A multiplication with its addition counts as two.
	FLOPs float64 `json:"flops"`

	// Bytes is what the operations of a step read and write, each array counted once. A step
	// takes at least the time that the device needs to move them.
	Bytes float64  `json:"bytes_moved"`
	Ops   []OpWork `json:"operations"` // of a step, by bytes moved, greatest first
}

// needed returns the bytes of a run on the host: the maximum of a step, an evaluation and a
// projection, plus the images that are read and decoded meanwhile.
func (e *Estimate) needed() int64 {
	return max(e.Peak, e.Evaluation+e.Whole, e.Projection) + e.Host + e.Files
}

// GroupSize is the number of trained values of a group.
type GroupSize struct {
	Name   string `json:"name"`   // backbone, head or proxies
	Values int    `json:"values"` // number of values
}

// ItemsText returns "vectors" or "images".
func ItemsText(vectors bool) string {
	if vectors {
		return "vectors"
	}
	return "images"
}

// AbsentText describes the classes without an image in the first epoch.
func AbsentText(absent, classes int) string {
	return fmt.Sprintf("%d of %d finest classes are not in the first epoch; m-per-class samplers"+
		" skip classes with fewer than sampler.m items", absent, classes)
}

// Plan computes what a run needs. It takes a step in which every array is counted but none is
// allocated and nothing is computed. run.resample auto counts as host; see Upkeep.Settle.
func Plan(config Config, data Data) (*Estimate, error) { return PlanShare(config, data, 1) }

// PlanShare computes what one of several processes needs that train one model together.
func PlanShare(config Config, data Data, ranks int) (*Estimate, error) {
	l := &ledger{work: map[string]*OpWork{}, own: config.Run.Resample == resampleDevice}
	b := observe.Operations(l, l.count)
	if ranks > 1 {
		b = ledgerOfRank{b, ranks}
	}
	config.Model.Weights, config.From = "", "" // they do not change any size
	if config.Model.Precision == precisionAuto {
		config.Model.Precision = precisionFloat32 // it needs more memory
	}
	if config.Run.Resample != resampleDevice {
		config.Run.Resample = resampleHost
	}
	r, err := New(config, data, Options{Backend: b, blank: true})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	e := &Estimate{
		Images: len(r.paths), Vectors: r.config.ofVectors(),
		Classes: r.classes, Absent: r.absent, Batch: r.resolved.sampler.Size(), PerEpoch: r.perEpoch,
		Steps: r.Total(), Kept: l.used,
	}
	if ranks > 1 {
		e.Ranks = ranks
	}
	for _, g := range r.network.store.Groups {
		e.Groups = append(e.Groups, GroupSize{g.Name, g.Size()})
	}
	if r.config.Model.Projection != "" {
		if err := r.thread.Do(func() error { e.Projection = r.planProjection(l); return nil }); err != nil {
			return nil, err
		}
		l.peak = l.used
	}
	full := r.loader.NewBatch()
	e.Host = int64(r.loader.Prefetch+1) * int64(full.Bytes())
	e.Files = r.loader.FileBytes()
	clear(l.work)
	err = r.thread.Do(func() error {
		_, err := r.step.queue(full, config.Schedule.Freeze) // the first step that freezes no group
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("train: plan: %w", err)
	}
	e.Peak = l.peak
	e.setWork(l.work)
	l.peak = l.used
	return e, r.thread.Do(func() error { r.planEvaluations(e, l); return nil })
}

// planEvaluations counts the arrays of every evaluation of the run.
func (r *Run) planEvaluations(e *Estimate, l *ledger) {
	parts := [][]input.Dataset{{r.data.Validation}, {r.data.Query, r.data.Gallery}}
	for _, b := range r.data.Benchmarks {
		parts = append(parts, []input.Dataset{b.Query, b.Gallery})
	}
	for _, sides := range parts {
		if sides[0] != nil {
			r.planEvaluation(sides, 0)
			e.Evaluation = l.peak
		}
	}
	for _, b := range r.data.Landmarks {
		r.planEvaluation(b.Sets(), b.Side)
		e.Evaluation = l.peak
		e.Whole = max(e.Whole, wholeAhead(r.config.Run.Workers)*3*int64(b.Side)*int64(b.Side))
	}
}

// planProjection counts the arrays of a forward pass for the features. It returns the maximum
// number of bytes, including the components.
func (r *Run) planProjection(l *ledger) int64 {
	n, b := r.network, r.o.Backend
	in := n.newInputs(EmbedBatch, len(r.classes), n.packs(false))
	tape := grad.NewTape(b, n.arena).Evaluate()
	width := n.normalised(tape, in, n.net.Features).Value.Cols()
	tape.Free()
	in.Free(b)
	return l.peak + backbone.FeatureBytes(len(fitRows(len(r.paths), r.config.Model.FitOn, r.config.Seed)), width)
}

// planEvaluation counts the arrays of an evaluation in order: of queries and gallery, or of
// queries that rank each other. Images in their own shape are taken for squares of the longest side, which have the
// most pixels; 0: they are cropped.
func (r *Run) planEvaluation(sides []input.Dataset, longest int) {
	n, b := r.network, r.o.Backend
	e := &retrieval.Evaluation{Levels: sides[0].Levels()}
	var vectors []device.Array
	for i, side := range sides {
		if side == nil {
			continue
		}
		width, free := n.rehearse(len(e.Levels), longest)
		rows := side.Len()
		if n.ranks != nil && longest == 0 {
			_, part := n.ranks.turns(rows)
			rows = part * (n.ranks.n + 1)
		}
		vectors = append(vectors, device.New(b, device.F32, rows, width))
		free()
		e.Gallery.Labels = make([]labels.Path, side.Len())
		if i == 0 {
			e.Query.Labels = e.Gallery.Labels
		}
	}
	retrieval.Rehearse(b, e)
	for _, v := range vectors {
		b.Free(v.Buf)
	}
}

// rehearse records the pass of an evaluation, and returns the width of its embeddings. free frees its arrays.
func (n *network) rehearse(levels, longest int) (width int, free func()) {
	tape := grad.NewTape(n.b, n.arena).Evaluate()
	if longest > 0 {
		pixels := device.New(n.b, device.U8, 1, longest, longest, 3)
		return n.forwardWhole(tape, pixels).Value.Cols(), func() { tape.Free(); n.b.Free(pixels.Buf) }
	}
	in := n.newInputs(EmbedBatch, levels, n.packs(false))
	return n.forward(tape, in).Value.Cols(), func() { tape.Free(); in.Free(n.b) }
}

// ledger counts memory without allocating it. It has no operations: an observer in front of it
// drops them.
type ledger struct {
	device.Backend
	used, peak int64
	own        bool // the device has memory apart from the host's
	work       map[string]*OpWork
}

// count adds the work of a call.
func (l *ledger) count(c observe.Call, _ func()) {
	w := l.work[c.Op]
	if w == nil {
		w = &OpWork{Op: c.Op}
		l.work[c.Op] = w
	}
	w.Add(c)
}

// ledgerOfRank is a ledger in a group of processes.
type ledgerOfRank struct {
	device.Backend
	ranks int
}

func (l ledgerOfRank) OwnMemory() bool             { return device.OwnMemory(l.Backend) }
func (l ledgerOfRank) Rank() (rank, ranks int)     { return 0, l.ranks }
func (l ledgerOfRank) AllReduce(device.Array)      {}
func (l ledgerOfRank) AllGather(_, _ device.Array) {}
func (l ledgerOfRank) Broadcast(device.Array)      {}

// countedBuffer has a size and no memory.
type countedBuffer struct{ bytes int }

func (b *countedBuffer) Size() int { return b.bytes }

func (l *ledger) Name() string                { return "plan" }
func (l *ledger) Supports(device.DType) bool  { return true }
func (l *ledger) OwnMemory() bool             { return l.own }
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

// Download returns zeros: a loss of 0, and a guard that found nothing.
func (l *ledger) Download(dst []byte, _ device.Array) device.Ticket {
	clear(dst)
	return 0
}

// OpWork is the work of all calls of one operation.
type OpWork struct {
	Op    string  `json:"op"`              // name of the operation
	Calls int     `json:"calls"`           // number of calls
	FLOPs float64 `json:"flops,omitempty"` // of products; a multiplication with its addition counts as two
	Bytes float64 `json:"bytes"`           // of the arrays read and written, each counted once
}

// Add counts a call.
func (w *OpWork) Add(c observe.Call) {
	w.Calls++
	w.FLOPs += c.FLOPs
	w.Bytes += c.Bytes
}

// setWork sets the work of a step from the work of its operations.
func (e *Estimate) setWork(byName map[string]*OpWork) {
	for _, w := range byName {
		e.Ops = append(e.Ops, *w)
		e.FLOPs += w.FLOPs
		e.Bytes += w.Bytes
	}
	slices.SortFunc(e.Ops, func(a, b OpWork) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Op, b.Op))
	})
}

// DryStep queues one step of a run, the first that freezes no group, on a device that computes nothing. Parameters and
// images stay zero. begin is called before the step, behind all that a run does once. In a group of processes it queues
// three steps and calls begin before each: only one that replays another adds gradients beside the backward pass.
func DryStep(config Config, data Data, b device.Backend, begin func()) error {
	config.Model.Weights, config.From = "", "" // they do not change any operation
	config.Model.Projection = ""
	r, err := New(config, data, Options{Backend: b, blank: true})
	if err != nil {
		return err
	}
	batch := r.loader.NewBatch()
	steps := 1
	if r.network.ranks != nil {
		steps = 3 // the second may be recorded anew, because the loss reads a memory
	}
	err = r.thread.Do(func() error {
		for range steps {
			begin()
			ticket, err := r.step.queue(batch, config.Schedule.Freeze)
			if err == nil {
				_, err = ticket.outcome()
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	return errors.Join(err, r.Close())
}
