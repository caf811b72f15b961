package train

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"hgld/labels"
	"hgld/train/backbone"
	"hgld/train/checkpoint"
	"hgld/train/config"
	"hgld/train/device"
	"hgld/train/device/observe"
	"hgld/train/grad"
	"hgld/train/input"
	"hgld/train/network"
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
	//
	// A step on a device with memory of its own holds what its backward pass could compute again, if that fits. Holds says
	// so, and Peak is then that of such a step. Least is that of a step that computes it again, Most that of one that
	// holds it.
	Kept  int64 `json:"bytes_kept"`
	Peak  int64 `json:"bytes_peak"`          // see Kept
	Least int64 `json:"bytes_peak_least"`    // see Kept
	Most  int64 `json:"bytes_peak_most"`     // see Kept
	Holds bool  `json:"holds"`               // see Kept
	Host  int64 `json:"bytes_decoded_ahead"` // bytes of decoded batches in host memory

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

// AbsentText describes the classes without an image in the first epoch.
func AbsentText(absent, classes int) string {
	return fmt.Sprintf("%d of %d finest classes are not in the first epoch; m-per-class samplers"+
		" skip classes with fewer than sampler.m items", absent, classes)
}

// Plan computes what a run needs. It takes a step in which every array is counted but none is
// allocated and nothing is computed. run.resample auto counts as host; see config.RunOptions.ResolveResample.
func Plan(config config.Config, data Data) (*Estimate, error) { return PlanShare(config, data, 1) }

// PlanOn computes what a run needs on a device: that of one process, if it works in a group, in the precision that the
// run in a folder has or will have, and with Holds. dir may be "".
func PlanOn(cfg config.Config, data Data, b device.Backend, dir string) (*Estimate, error) {
	checkpoint.ResolvePrecision(&cfg.Model, b, dir)
	cfg.Run.ResolveResample(b)
	ranks := 1
	if group, is := b.(device.Collective); is {
		_, ranks = group.Rank()
	}
	e, err := PlanShare(cfg, data, ranks)
	if err != nil {
		return nil, err
	}
	more := e.Most - e.Peak
	want := max(e.Most, e.Projection)
	if e.Evaluation > 0 {
		want = max(want, e.Evaluation+more) // what a step has taken stays
	}
	if c, able := b.(device.Crowded); able && device.OwnMemory(b) && c.Room(int(want), cfg.Model.Activations()) == nil {
		e.Holds, e.Peak = true, e.Most
		if e.Evaluation > 0 {
			e.Evaluation += more
		}
	}
	return e, nil
}

// PlanShare computes what one of several processes needs that train one model together.
func PlanShare(cfg config.Config, data Data, ranks int) (*Estimate, error) {
	l := &ledger{work: map[string]*OpWork{}, own: cfg.Run.Resample == config.ResampleDevice}
	b := observe.Operations(l, l.count)
	if ranks > 1 {
		b = ledgerOfRank{b, ranks}
	}
	cfg.Model.Weights, cfg.From = "", "" // they do not change any size
	if cfg.Model.Precision == config.PrecisionAuto {
		cfg.Model.Precision = config.PrecisionFloat32 // it needs more memory
	}
	if cfg.Run.Resample != config.ResampleDevice {
		cfg.Run.Resample = config.ResampleHost
	}
	r, err := New(cfg, data, Options{Backend: b, blank: true})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	e := &Estimate{
		Images: len(r.paths), Vectors: r.config.OfVectors(),
		Classes: r.classes, Absent: r.absent, Batch: r.resolved.Sampler.Size(), PerEpoch: r.perEpoch,
		Steps: r.Total(), Kept: l.used,
	}
	if ranks > 1 {
		e.Ranks = ranks
	}
	for _, g := range r.network.Store.Groups {
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
	err = r.thread.Do(func() error {
		for _, hold := range []bool{true, false} {
			r.step.Hold(hold)
			r.network.Arena.Trim()
			l.peak = l.used
			clear(l.work)
			if _, err := r.step.Queue(full, cfg.Schedule.Freeze); err != nil { // the first step that freezes no group
				return err
			}
			e.Most = max(e.Most, l.peak)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("train: plan: %w", err)
	}
	e.Peak, e.Least = l.peak, l.peak
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
		e.Whole = max(e.Whole, network.WholeAhead(r.config.Run.Workers)*3*int64(b.Side)*int64(b.Side))
	}
}

// planProjection counts the arrays of a forward pass for the features. It returns the maximum
// number of bytes, including the components.
func (r *Run) planProjection(l *ledger) int64 {
	n, b := r.network, r.o.Backend
	in := n.NewInputs(network.EmbedBatch, len(r.classes), n.Packs(false))
	tape := grad.NewTape(b, n.Arena).Evaluate()
	width := n.Normalized(tape, in, n.Net.Features).Value.Cols()
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
		width, free := n.Rehearse(len(e.Levels), longest)
		rows := side.Len()
		if n.Ranks != nil && longest == 0 {
			_, part := network.Turns(n.Ranks, rows)
			rows = part * (n.Ranks.Size + 1)
		}
		vectors = append(vectors, device.New(b, device.F32, rows, width))
		free()
		e.Gallery.Labels = make([]labels.Path, side.Len())
		if i == 0 {
			e.Query.Labels = e.Gallery.Labels
		}
	}
	retrieval.CheckMemory(b, e)
	for _, v := range vectors {
		b.Free(v.Buf)
	}
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

func (l ledgerOfRank) OwnMemory() bool { return device.OwnMemory(l.Backend) }

func (l ledgerOfRank) Rank() (rank, ranks int) { return 0, l.ranks }

func (l ledgerOfRank) AllReduce(device.Array) {}

func (l ledgerOfRank) AllGather(_, _ device.Array) {}

func (l ledgerOfRank) Broadcast(device.Array) {}

// countedBuffer has a size and no memory.
type countedBuffer struct{ bytes int }

func (b *countedBuffer) Size() int { return b.bytes }

func (l *ledger) Name() string { return "plan" }

func (l *ledger) Supports(device.DType) bool { return true }

func (l *ledger) OwnMemory() bool { return l.own }

func (l *ledger) Upload(device.Array, []byte) {}

func (l *ledger) Wait(device.Ticket) error { return nil }

func (l *ledger) Sync() error { return nil }

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
func DryStep(config config.Config, data Data, b device.Backend, begin func()) error {
	config.Model.Weights, config.From = "", "" // they do not change any operation
	config.Model.Projection = ""
	r, err := New(config, data, Options{Backend: b, blank: true})
	if err != nil {
		return err
	}
	plan, err := PlanOn(config, data, b, "")
	if err != nil {
		return errors.Join(err, r.Close())
	}
	r.step.Hold(plan.Holds)
	batch := r.loader.NewBatch()
	steps := 1
	if r.network.Ranks != nil {
		steps = 3 // the second may be recorded anew, because the loss reads a memory
	}
	err = r.thread.Do(func() error {
		for range steps {
			begin()
			ticket, err := r.step.Queue(batch, config.Schedule.Freeze)
			if err == nil {
				_, err = ticket.Outcome()
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	return errors.Join(err, r.Close())
}
