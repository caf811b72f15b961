// Package train is stage 5 of hgld. It reads images with a hierarchy of labels through an
// [input.Dataset], trains a retrieval network, and writes checkpoints to a run directory.
// Package checkpoint specifies its layout.
//
// A run is an iterator of events (see [Run.Events]); the package prints nothing. The result of a
// run depends only on its configuration, data and seed. It does not depend on the number of
// threads or workers, nor on how often the run was stopped and resumed. Package retrieval also
// measures embeddings made by other programs.
package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"runtime"
	"time"

	"hgld/internal/filelock"
	"hgld/internal/hostmemory"
	"hgld/internal/img"
	"hgld/labels"
	"hgld/train/checkpoint"
	"hgld/train/collective"
	"hgld/train/config"
	"hgld/train/device"
	"hgld/train/evaluation"
	"hgld/train/input"
	"hgld/train/network"
	"hgld/train/retrieval"
	"hgld/train/step"
	"hgld/train/warmstart"
)

// Options configure a run without changing its result.
type Options struct {
	Backend device.Backend    // required
	Decoder *img.Decoder      // nil: with default limits
	Dir     string            // run directory; "": a rehearsal, which reads and writes nothing
	Origin  map[string]string // tool version and command, kept in every checkpoint
	// Baseline evaluates the network before its first step, unless it reads vectors, and keeps the values of every query
	// of evaluations, so that they can be compared with what was before.
	Baseline bool
	Limit    int // stop after this many steps, for a trial; 0: no limit
	Threads  int // of the CPU, that rank in evaluations; 0: one for each processor

	// Overfit repeats the first batch with the same augmentation and constant rates. If network,
	// loss and labels fit together, the loss falls. It requires a Limit and an empty Dir.
	Overfit bool

	// AllowCommand lets the run start the command of an external loss. Without it, such a run is refused with a
	// *CommandError.
	AllowCommand bool
	// CommandDir is the folder that the command runs in; "": the current one.
	CommandDir string

	// Plan is what the run needs, from [Plan]. New refuses a run that cannot fit, and reserves the
	// memory of a step on a device with its own. nil: nothing is checked or reserved.
	Plan *Estimate

	memory int64 // bytes of host memory; 0: ask the machine
	blank  bool  // parameters stay zero, for a run that computes nothing
}

// Run is a training, new or resumed.
type Run struct {
	config   config.Config
	resolved config.Resolved
	data     Data
	o        Options

	lock    *filelock.Lock // on the run directory
	thread  *device.Thread
	network *network.Network
	step    *step.Step
	loader  *input.Loader
	paths   []labels.Path // of the training items, with classes numbered from 0

	classes  []int // classes per level
	perEpoch int   // batches in the first epoch
	absent   int   // finest classes without a row in the first epoch

	state   checkpoint.State
	resumed string // checkpoint, "" for a new run
	damaged []checkpoint.QuarantinedCheckpoint
	began   warmstart.Start // of a new run

	reranked  int                   // processes that trained together before the checkpoint that the run continues from
	extension *Extension            // nil: the run has its original length
	halted    bool                  // evaluations have ended the run
	stop      *collective.StopError // one of several processes was told to stop
	saved     int                   // step of the newest checkpoint
	best      checkpoint.Best       // of the evaluations so far
	judge     string                // key of the metric that ranks evaluations
}

// ErrNotFinite is wrapped by the error of a run that ends because its values were not finite.
var ErrNotFinite = errors.New("values were not finite")

// maxSkipped is the number of steps in a row that may be skipped because a value is not finite.
// One is a bad batch; ten mean that the run has diverged.
const maxSkipped = 10

// New prepares a run. If the directory holds a checkpoint, the run continues from the newest one.
// If that one has other settings or other data, the error is a *ResumeError. If another process
// uses the directory, it is a *filelock.LockedError. Close releases the directory and the
// backend.
func New(cfg config.Config, data Data, o Options) (*Run, error) {
	if o.Overfit {
		if o.Limit < 1 || o.Dir != "" {
			return nil, fmt.Errorf("train: overfitting needs a number of steps and no run directory")
		}
		cfg.Schedule = config.Schedule{Named: config.Named{Name: "constant"}}
		cfg.Steps, cfg.Stop = o.Limit, config.EarlyStop{}
	}
	if err := cfg.FitVectors(data.Train); err != nil {
		return nil, &config.Error{Err: err}
	}
	cfg.ResolveProjection(data.Train.Len())
	checkpoint.ResolvePrecision(&cfg.Model, o.Backend, o.Dir)
	p, err := cfg.Resolve()
	if err != nil {
		return nil, err
	}
	if err := validateData(&cfg, data); err != nil {
		return nil, &config.Error{Err: err}
	}
	if !collective.Of(o.Backend).Leads() {
		o.Dir = ""
	}
	r := &Run{config: cfg, resolved: p, data: data, o: o, thread: device.NewThread(o.Backend), saved: -1}
	err = r.thread.Do(func() error {
		err := r.meet(r.prepare())
		r.repeatChoices()
		return err
	})
	if err == nil {
		err = r.reserve()
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// reserve checks that the planned memory exists. On a device with its own memory it allocates
// that of a step in one piece, and leaves room for what the device loads itself. A host would hand
// out more than it has, then stall or kill a process. A run that cannot fit is therefore refused with
// a *device.OutOfMemory.
func (r *Run) reserve() error {
	e := r.o.Plan
	if e == nil {
		return nil
	}
	r.step.Hold(e.Holds)
	if device.OwnMemory(r.o.Backend) {
		return r.thread.Do(func() error {
			bytes := int(e.Peak - e.Kept)
			if b, able := r.o.Backend.(device.Crowded); able {
				room := func() error { return b.Room(max(bytes-r.network.Arena.Held(), 0), r.network.Activations) }
				err := room()
				if err != nil && e.Holds { // another process has taken memory since the plan
					bytes = int(e.Least - e.Kept)
					r.step.Hold(false)
					err = room()
				}
				if err != nil {
					return err
				}
			}
			r.network.Arena.Reserve(bytes)
			return r.o.Backend.Sync()
		})
	}
	total := r.o.memory
	if total == 0 {
		total = hostmemory.Limit()
	}
	if want := e.needed(); total > 0 && want > total {
		return &device.OutOfMemory{What: "a step", Want: int(want), Free: int(total), Total: int(total), Host: true}
	}
	return nil
}

// absentClasses counts the finest classes without a row in an epoch.
func absentClasses(rows []labels.Path, epoch [][]int, classes int) int {
	seen := map[int32]bool{-1: true}
	for _, batch := range epoch {
		for _, i := range batch {
			seen[rows[i][0]] = true
		}
	}
	return classes - (len(seen) - 1)
}

// Absent returns the number of finest classes without an image in the first epoch, for example
// because they have fewer images than the sampler takes.
func (r *Run) Absent() (absent, classes int) { return r.absent, r.classes[0] }

// prepare reads the labels, builds the network and the loss, and loads the newest checkpoint.
func (r *Run) prepare() error {
	if err := retrieval.CheckLevels(r.data.Train.Levels()); err != nil {
		return &config.Error{Err: err}
	}
	list, err := input.Paths(r.data.Train)
	if err != nil {
		return err
	}
	if err := input.CheckTree(r.data.Train, list); err != nil {
		return err
	}
	if err := input.CheckDepth(r.data.Train, list); err != nil {
		return &config.Error{Err: err}
	}
	full := labels.Complete(list)[0]
	if err := input.CheckTree(r.data.Train, full); err != nil {
		return err
	}
	dense, counts := input.Renumber(full)
	wide, paths, err := r.data.wide(full, dense)
	if err != nil {
		return &config.Error{Err: err}
	}
	r.paths, r.classes = dense, counts
	first, err := r.resolved.Sampler.Epoch(dense, r.config.Seed, 0)
	if err != nil {
		return &config.Error{Err: err}
	}
	r.perEpoch, r.absent = len(first), absentClasses(dense, first, counts[0])
	if r.judge, err = r.config.BestKey(r.keys(len(counts))); err != nil {
		return &config.Error{Err: err}
	}
	r.network = network.New(r.o.Backend, &r.config, &r.resolved, r.o.Decoder)
	r.network.Blank = r.o.blank
	if r.step, err = step.New(r.network, &r.config, &r.resolved, dense, counts, paths); err != nil {
		return err
	}
	if err := r.startProcesses(); err != nil {
		return err
	}
	if r.o.Overfit {
		first = first[:1]
	}
	if err := r.step.Objective.CheckPairs(&r.config, wide, first); err != nil {
		return &config.Error{Err: err}
	}
	r.loader = &input.Loader{
		Data: r.data.Train, Labels: wide, Size: r.resolved.Sampler.Size(), In: r.config.Input, Filter: r.resolved.Filter,
		Reads: r.config.Run.Reads, Decoder: r.network.Decoder, Training: true, Seed: r.config.Seed,
		Workers: cmp.Or(r.config.Run.Workers, runtime.GOMAXPROCS(0)), Prefetch: max(r.config.Run.Prefetch, 1),
		Width: r.network.Width, Packs: r.network.Packs(true), Send: r.step.In.Sender(r.network.Backend),
	}
	if bytes := r.loader.PackedBytes(); r.loader.Packs && bytes > input.MostDecoded {
		return &config.Error{Err: fmt.Errorf("run.prefetch is %d: the decoded images that the device resamples would take "+
			"%.0f GiB, want at most %d: lower it, or set run.resample=host", r.loader.Prefetch, bytes/(1<<30),
			input.MostDecoded>>30)}
	}
	lo, hi, err := step.Share(r.network.Ranks, r.loader.Size)
	if err != nil {
		return err
	}
	r.loader.First, r.loader.Part = lo, hi-lo
	r.state = checkpoint.State{Config: r.config, Data: input.FingerprintOf(r.data.Train, list),
		Pixels:       input.Pixels(r.data.Train),
		ExtraParents: evaluation.ExtraParentsPrint(r.data.ExtraParents), Origin: r.o.Origin, Criterion: r.criterion()}
	if r.o.Dir != "" {
		if err := r.open(); err != nil || r.resumed != "" {
			return err
		}
	}
	if !r.network.Ranks.Leads() {
		return nil // rank 0 sends the weights
	}
	if r.began, err = warmstart.Load(r.network, &r.config, &r.resolved); err != nil {
		return err
	}
	if ema := r.step.Update.EMA; ema != nil && (r.config.Model.Weights != "" || r.config.From != "") {
		ema.Restart(r.o.Backend)
	}
	return nil
}

// Loader returns the loader of the run.
func (r *Run) Loader() *input.Loader { return r.loader }

// Left returns the names of the tensors in the file of model.weights that belong to parts other
// than the backbone and were not read.
func (r *Run) Left() []string { return r.began.Left }

// StartNotes say what was chosen of the file that a new run starts from.
func (r *Run) StartNotes() []string { return r.began.Notes }

// Close ends the goroutine that uses the backend and releases the lock on the run
// directory.
func (r *Run) Close() error {
	err := errors.Join(r.thread.Do(func() error { r.step.Close(); return nil }), r.thread.Close())
	if r.lock != nil {
		err = errors.Join(err, r.lock.Close())
	}
	return err
}

// Config returns the configuration, completed from the tables and the data.
func (r *Run) Config() config.Config { return r.config }

// Resumed returns the checkpoint that the run continues from, or "" if it is new.
func (r *Run) Resumed() string { return r.resumed }

// Step returns the steps taken so far.
func (r *Run) Step() int { return r.state.Step }

// Parameters returns the number of trained values.
func (r *Run) Parameters() int { return r.network.Store.Size() }

// Total returns the number of steps of the whole run, or the limit of a trial.
func (r *Run) Total() int {
	total := r.config.Steps
	if total == 0 {
		total = r.perEpoch * r.config.Epochs
	}
	if r.o.Limit > 0 {
		total = min(total, r.o.Limit)
	}
	return total
}

// PerEpoch returns the number of steps of the first epoch.
func (r *Run) PerEpoch() int { return r.perEpoch }

// complete reports whether the last step of the run or of a trial has been taken.
func (r *Run) complete() bool {
	return r.o.Limit > 0 && r.state.Step >= r.o.Limit || r.ended()
}

// ended reports whether the last step of the run has been taken, which may come early.
func (r *Run) ended() bool {
	return r.halted || r.config.Steps > 0 && r.state.Step >= r.config.Steps ||
		r.config.Epochs > 0 && r.state.Position.Epoch >= r.config.Epochs
}

// Events runs the training and yields its events. When ctx is cancelled, it finishes the current
// step, saves a checkpoint, and last yields an error that wraps ctx.Err(). A later Run on the
// same directory continues there and ends with the same bytes as an uninterrupted one. If the
// caller stops iterating, nothing is saved.
func (r *Run) Events(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		proceed, err := r.start(ctx, yield)
		if proceed && err == nil {
			proceed, err = r.steps(ctx, yield)
		}
		if !proceed {
			return
		}
		if err == nil {
			err = r.finish(ctx, yield)
		}
		if err == nil {
			return
		}
		if r.stops(ctx, err) {
			path, failed := r.save()
			if failed != nil {
				err = errors.Join(err, failed)
			} else if path != "" && !yield(r.event(Event{Kind: Saved, Path: path}), nil) {
				return
			}
		}
		yield(Event{}, err)
	}
}

func (r *Run) event(e Event) Event {
	e.Step, e.Epoch = r.state.Step, r.state.Position.Epoch
	return e
}

// steps takes the remaining steps. proceed is false if the caller has stopped iterating.
func (r *Run) steps(ctx context.Context, yield func(Event, error) bool) (proceed bool, err error) {
	if r.complete() {
		return true, nil
	}
	plan := input.Epochs(r.resolved.Sampler, r.paths, r.config.Seed, r.state.Position)
	if r.o.Overfit {
		plan = input.RepeatFirst(plan)
	}
	ahead := device.OwnMemory(r.o.Backend)
	var queued *queuedStep
	clock := newStepClock()
	for b, err := range r.loader.Batches(r.network.Ranks.Shield(ctx), plan) {
		if err != nil {
			if queued != nil {
				if proceed, err := r.report(queued, clock, yield); err != nil || !proceed {
					return proceed, err
				}
			}
			return true, r.stopped(ctx, err)
		}
		clock.got()
		before := queued
		queued, err = r.queue(ctx, b, before)
		if before != nil {
			// The failure of an earlier step is also that of this one.
			if proceed, failed := r.report(before, clock, yield); !proceed || failed != nil {
				return proceed, failed
			}
		}
		if err != nil {
			return true, err
		}
		if ahead && r.stop == nil && !r.pausesAfter(queued.work) {
			clock.ask()
			continue
		}
		if proceed, err := r.report(queued, clock, yield); err != nil || !proceed {
			return proceed, err
		}
		queued = nil
		if r.complete() {
			return true, nil
		}
		if proceed, err := r.due(ctx, yield); err != nil || !proceed || r.halted {
			return proceed, err
		}
		if err := r.interrupted(ctx); err != nil {
			return true, err
		}
		clock = newStepClock()
	}
	return true, nil
}

// stepClock measures the time from one event of a step to the next, and how much of it was spent waiting for
// images.
type stepClock struct {
	began, asked time.Time
	waited       time.Duration
}

func newStepClock() *stepClock {
	now := time.Now()
	return &stepClock{began: now, asked: now}
}

func (c *stepClock) ask() { c.asked = time.Now() }

func (c *stepClock) got() { c.waited += time.Since(c.asked) }

// queuedStep is a step that the device has and whose outcome the host does not know yet. A device with memory of
// its own works on the next step while the host handles the outcome of the last.
type queuedStep struct {
	ticket   *step.Ticket
	work     input.Work
	compares bool // the loss has something to compare
}

// queue queues a step. before is the one that is queued and not reported, or nil.
func (r *Run) queue(ctx context.Context, b *input.Batch, before *queuedStep) (*queuedStep, error) {
	number := r.state.Step
	if before != nil {
		number++
	}
	at := number
	if r.config.Steps == 0 {
		at = b.Epoch
	}
	q := &queuedStep{work: b.Work}
	err := r.thread.Do(func() (err error) {
		r.step.Notes.NoteStop(ctx)
		if q.compares, err = r.step.HasPositive(b, at); err != nil {
			return err
		}
		q.ticket, err = r.step.Queue(b, at)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("train: step %d: %w", number+1, err)
	}
	return q, nil
}

// advance moves the position behind a step.
func (r *Run) advance(w input.Work) {
	r.state.Step++
	r.state.Position = input.Position{Epoch: w.Epoch, Batch: w.Index + 1}
	if w.Last {
		r.state.Position = input.Position{Epoch: w.Epoch + 1}
	}
}

// pausesAfter reports whether no step may be queued before the outcome of w is known: the run ends, is saved or is
// evaluated after it.
func (r *Run) pausesAfter(w input.Work) bool {
	before := r.state
	defer func() { r.state = before }()
	r.advance(w)
	return r.complete() || r.checkpointDue() || r.evaluationDue()
}

// report waits for a step, advances the position and yields the step's event.
func (r *Run) report(q *queuedStep, clock *stepClock, yield func(Event, error) bool) (proceed bool, err error) {
	var out step.Outcome
	err = r.thread.Do(func() (err error) {
		out, err = q.ticket.Outcome()
		return err
	})
	if err != nil {
		return true, fmt.Errorf("train: step %d: %w", r.state.Step+1, err)
	}
	r.advance(q.work)
	if r.stop == nil {
		r.stop = out.Stop
	}
	e := r.eventOf(q, out)
	e.RankWaits = out.Waited
	e.Seconds, e.Waited = time.Since(clock.began).Seconds(), clock.waited.Seconds()
	if !yield(r.event(e), nil) {
		return false, nil
	}
	if r.state.Skipped >= maxSkipped {
		return true, fmt.Errorf("train: step %d: %w in %d steps in a row; a lower optim.lr may help",
			r.state.Step, ErrNotFinite, maxSkipped)
	}
	*clock = *newStepClock()
	return true, nil
}

// eventOf describes the outcome of a step.
func (r *Run) eventOf(q *queuedStep, out step.Outcome) Event {
	rows := q.work.Rows
	e := Event{Kind: Stepped, Rate: out.Rates.Backbone, HeadRate: out.Rates.Head, ProxyRate: out.Rates.Proxies,
		Images: len(rows)}
	if out.Finite {
		if !math.IsInf(out.Norm, 0) { // the sum of squares overflows before the gradient does
			e.Norm = &out.Norm
		}
		if q.compares {
			e.Loss, e.Terms = &out.Loss, out.Terms
		}
		e.Region = out.Region
		r.state.Skipped = 0
		return e
	}
	r.state.Skipped++
	e = Event{Kind: Skipped, Images: len(rows), Batch: &BatchOf{Epoch: q.work.Epoch, Index: q.work.Index}}
	for _, row := range rows {
		e.IDs = append(e.IDs, r.data.Train.ID(row))
	}
	return e
}

// checkpointDue reports whether a checkpoint is saved after this step.
func (r *Run) checkpointDue() bool {
	every := r.config.Run.Checkpoint
	return every > 0 && r.state.Step%every == 0
}

// due saves a checkpoint and evaluates if either is due. The checkpoint comes first, so that an
// interrupted evaluation costs no step.
func (r *Run) due(ctx context.Context, yield func(Event, error) bool) (proceed bool, err error) {
	if r.checkpointDue() {
		if proceed, err := r.checkpoint(yield); err != nil || !proceed {
			return proceed, err
		}
	}
	if r.evaluationDue() {
		return r.watch(ctx, yield)
	}
	return true, nil
}

// finish saves the last checkpoint first, so that a failing evaluation costs no step. It then
// evaluates the watched data and the test.
func (r *Run) finish(ctx context.Context, yield func(Event, error) bool) error {
	if proceed, err := r.checkpoint(yield); err != nil || !proceed {
		return err
	}
	if r.watches() && !r.halted { // an early end has just evaluated
		if proceed, err := r.watch(ctx, yield); err != nil || !proceed {
			return err
		}
	}
	if r.data.tested() && r.config.Run.EvalOn != config.WatchTest {
		if proceed, err := r.test(ctx, yield); err != nil || !proceed {
			return err
		}
	}
	if r.halted && !yield(r.event(Event{Kind: Stopped}), nil) {
		return nil
	}
	yield(r.event(Event{Kind: Done}), nil)
	return nil
}
