package train

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"hgld/internal/testing/effort"
	"hgld/internal/testing/must"
	"hgld/train/config"
	"hgld/train/device"
	"hgld/train/device/cpu"
	"hgld/train/device/observe"
	"hgld/train/input"
	"hgld/train/loss"
	"hgld/train/network"
	"hgld/train/step"
)

// recorder is a processor that records programs, as a GPU captures graphs: what runs
// while it records is written down, and nothing may be moved or waited for but by other goroutines.
type recorder struct {
	device.Backend
	recording bool
	by        atomic.Value // number of the goroutine that records; "" while none does
	list      []func()
	illegal   []string
	programs  int // recorded
	runs      int
	open      int // programs that are not closed
}

func newRecorder() *recorder {
	r := &recorder{}
	r.Backend = observe.Operations(cpu.New(2), func(_ observe.Call, do func()) {
		if r.recording {
			r.list = append(r.list, do)
		} else {
			do()
		}
	})
	return r
}

// OwnMemory is true, as of a GPU.
func (r *recorder) OwnMemory() bool { return true }

// Symmetrize is that of the processor, whose sums of gradients otherwise have another order.
func (r *recorder) Symmetrize(a, s device.Array) bool {
	return r.Backend.(device.Symmetric).Symmetrize(a, s)
}

func (r *recorder) outside(what string) {
	if r.by.Load() == goroutine() {
		r.illegal = append(r.illegal, what)
	}
}

// goroutine returns the number of the one that calls it.
func goroutine() string {
	text := make([]byte, 40)
	return strings.Fields(string(text[:runtime.Stack(text, false)]))[1]
}

func (r *recorder) Alloc(bytes int) device.Buffer {
	r.outside("Alloc")
	return r.Backend.Alloc(bytes)
}

func (r *recorder) Free(b device.Buffer) {
	r.outside("Free")
	r.Backend.Free(b)
}

func (r *recorder) Upload(dst device.Array, src []byte) {
	r.outside("Upload")
	r.Backend.Upload(dst, src)
}

func (r *recorder) Download(dst []byte, src device.Array) device.Ticket {
	r.outside("Download")
	return r.Backend.Download(dst, src)
}

func (r *recorder) Wait(t device.Ticket) error {
	r.outside("Wait")
	return r.Backend.Wait(t)
}

func (r *recorder) Sync() error {
	r.outside("Sync")
	return r.Backend.Sync()
}

func (r *recorder) Record(f func()) (device.Program, error) {
	r.recording, r.list, r.illegal = true, nil, nil
	r.by.Store(goroutine())
	f()
	r.by.Store("")
	r.recording = false
	if len(r.illegal) > 0 {
		return nil, fmt.Errorf("recorder: %v while recording", r.illegal)
	}
	r.programs, r.open = r.programs+1, r.open+1
	return &listed{r, r.list}, nil
}

type listed struct {
	r    *recorder
	list []func()
}

func (p *listed) Run() {
	p.r.runs++
	for _, do := range p.list {
		do()
	}
}

func (p *listed) Close() { p.r.open-- }

// A run of programs has the bytes of one that calls every operation: for every loss,
// and for what the steps of a run can have besides.
func TestRecordedStepHasTheBytesOfThePlainOne(t *testing.T) {
	cases := map[string]func(*config.Config){
		"memory":       func(c *config.Config) { c.Memory = config.CrossBatch{Size: 40, Start: 3} },
		"memory first": func(c *config.Config) { c.Memory = config.CrossBatch{Unique: true, First: true} },
		"mixed batch": func(c *config.Config) {
			c.Loss = config.Loss{Named: config.Named{Name: "rambo-recall", Settings: map[string]any{"batch_memory": 2}},
				Preset: "paper"}
		},
		"chunks": func(c *config.Config) { c.Model.FreezeNorm, c.Passes.Chunk = true, 5 },
		"accumulated": func(c *config.Config) {
			c.Model.FreezeNorm, c.Passes, c.Loss.Name = true, config.Passes{Chunk: 8, Accumulate: true}, "nsm"
		},
		"average and bounds": func(c *config.Config) {
			c.EMA.Decay, c.EMA.WarmUp, c.Optim.Clip, c.Optim.ClipValue, c.Optim.NoDecay = 0.9, true, 1, 0.1, []string{"1d"}
		},
		"freeze": func(c *config.Config) { c.Schedule.Freeze, c.Optim.Name = 2, "sgd" },
		"transformer": func(c *config.Config) {
			c.Model.Backbone = config.Named{Name: "vit-small", Settings: map[string]any{"width": 24, "heads": 2, "depth": 1,
				"input": 32}}
			c.Model.Pooling, c.Input.Size, c.Input.Resize = "none", 32, 32
		},
	}
	if effort.Exhaustive() {
		cases["resnet"] = func(c *config.Config) { c.Model.Backbone = config.Named{Name: "resnet18"} }
	}
	for _, name := range loss.All.Names() {
		cases["loss "+name] = func(c *config.Config) { c.Loss.Name, c.Steps = name, 3 }
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) { compareRecorded(t, name, change) })
	}
}

func compareRecorded(t *testing.T, name string, change func(*config.Config)) {
	c, d := tiny(5)
	change(&c)
	plain, recorded, r := t.TempDir(), t.TempDir(), newRecorder()
	want := mustTrain(t, c, Data{Train: d}, Options{Dir: plain})
	got := mustTrain(t, c, Data{Train: d}, Options{Dir: recorded, Backend: r})
	if !slices.Equal(losses(got), losses(want)) {
		t.Errorf("losses %v, and without programs %v", losses(got), losses(want))
	}
	sameWeights(t, name, plain, recorded)
	if r.runs == 0 || r.runs+r.programs > c.Steps || r.open != 0 {
		t.Errorf("%d programs ran %d times in %d steps, %d of them are not closed", r.programs, r.runs, c.Steps, r.open)
	}
}

// What cannot be recorded ends the run with a reason, and not with wrong weights.
func TestStepThatCannotBeRecordedIsAnError(t *testing.T) {
	c, d := tiny(4)
	r := newRecorder()
	_, err := trainAll(t, t.Context(), c, Data{Train: d}, Options{Backend: &refusing{r}})
	if err == nil || !strings.Contains(err.Error(), "train: step 2: recorder: [Upload] while recording") {
		t.Errorf("error %v", err)
	}
}

// refusing records one operation more than it may.
type refusing struct{ *recorder }

func (r *refusing) Record(f func()) (device.Program, error) {
	return r.recorder.Record(func() {
		f()
		r.Upload(device.New(r.Backend, device.U8, 1), []byte{0})
	})
}

// The outcome of a step may be asked for when the next is queued, also of one in which
// a value is not finite: nothing on the host goes by it.
func TestOutcomeMayBeAskedForOneStepLate(t *testing.T) {
	c, d := tiny(6)
	c.EMA.Decay, c.EMA.WarmUp, c.Memory.Size = 0.9, true, 40
	steps := func(late bool) (finite []bool, weights []float64, counts map[string]int) {
		b := &spoiled{Backend: cpu.New(1), place: "Conv", value: math.NaN(), steps: map[int]bool{2: true, 3: true}}
		r, err := New(c, Data{Train: d}, Options{Backend: b})
		must.Do(t, err)
		defer r.Close()
		var before *step.Ticket
		ask := func(p *step.Ticket) {
			o, err := awaited(p, nil)
			must.Do(t, err)
			finite = append(finite, o.Finite)
		}
		for at, batch := range batchesOf(t, r, 6) {
			p, err := r.step.Queue(batch, at)
			must.Do(t, err)
			switch {
			case !late:
				ask(p)
			case before != nil:
				ask(before)
			}
			before = p
		}
		if late {
			ask(before)
		}
		counts, err = r.step.Update.ReadCounts(b)
		must.Do(t, err)
		return finite, valuesOf(t, r.network.Backend, r.network.Store.Groups[0].Values), counts
	}
	at, values, counts := steps(false)
	lateAt, lateValues, lateCounts := steps(true)
	if want := []bool{true, false, false, true, true, true}; !slices.Equal(at, want) || !slices.Equal(lateAt, want) {
		t.Errorf("finite steps %v, asked late %v, want %v", at, lateAt, want)
	}
	if !slices.Equal(values, lateValues) || !maps.Equal(counts, lateCounts) || counts["backbone"] != 4 ||
		counts["ema"] != 4 {
		t.Errorf("asked late the weights differ, or the counts %v and %v", counts, lateCounts)
	}
}

// batchesOf is the first n batches of a run.
func batchesOf(t testing.TB, r *Run, n int) (list []*input.Batch) {
	t.Helper()
	for b, err := range r.loader.Batches(t.Context(), input.Epochs(r.resolved.Sampler, r.paths, 1, input.Position{})) {
		must.Do(t, err)
		if list = append(list, b.Clone()); len(list) == n {
			break
		}
	}
	return list
}

// A device with memory of its own gives a step what the plan says, in one piece and
// before it begins.
func TestStepsMemoryIsReserved(t *testing.T) {
	c, d := tiny(4)
	b := newRecorder()
	c.Run.ResolveResample(b)
	plan, err := Plan(c, Data{Train: d})
	must.Do(t, err)
	r, err := New(c, Data{Train: d}, Options{Backend: b, Plan: plan})
	must.Do(t, err)
	defer r.Close()
	reserved := r.network.Arena.Held()
	for _, err := range r.Events(t.Context()) {
		must.Do(t, err)
	}
	if held := r.network.Arena.Held(); reserved == 0 || held != reserved {
		t.Errorf("%d bytes were reserved, %d are held", reserved, held)
	}
}

// asked is a device that counts the single numbers that were asked for and not waited for.
type asked struct {
	*recorder
	numbers   map[device.Ticket]bool
	now, most int
}

func (a *asked) Download(dst []byte, src device.Array) device.Ticket {
	t := a.recorder.Download(dst, src)
	if len(dst) == 4 {
		t = device.Ticket(1<<40 + len(a.numbers)) // the processor has one for all
		a.numbers[t] = true
		a.now++
		a.most = max(a.most, a.now)
	}
	return t
}

func (a *asked) Wait(t device.Ticket) error {
	if a.numbers[t] {
		a.now--
	}
	return a.recorder.Wait(t)
}

func (a *asked) Sync() error {
	a.now = 0
	return a.recorder.Sync()
}

// A GPU computes the next step while the host handles the outcome of the last. What the run saves, evaluates and
// says is the same, and so are the bytes of a run that was stopped in between.
func TestNextStepIsQueuedBeforeTheOutcomeOfTheLast(t *testing.T) {
	c, d := tiny(7)
	c.Run.Checkpoint, c.Run.Evaluate = 3, 5
	data := Data{Train: d, Validation: d}
	run := func(ctx context.Context, dir string, b device.Backend, each func(Event)) (said []string) {
		r, err := New(c, data, Options{Dir: dir, Backend: b})
		must.Do(t, err)
		defer r.Close()
		for e, err := range r.Events(ctx) {
			if err != nil && ctx.Err() == nil {
				t.Fatal(err)
			}
			if err != nil {
				break
			}
			said = append(said, fmt.Sprint(e.Kind, " ", e.Step))
			if each != nil {
				each(e)
			}
		}
		return said
	}
	plain, ahead, stopped := t.TempDir(), t.TempDir(), t.TempDir()
	want := run(t.Context(), plain, cpu.New(1), nil)
	b := &asked{recorder: newRecorder(), numbers: map[device.Ticket]bool{}}
	got := run(t.Context(), ahead, b, func(e Event) {
		if (e.Kind == Saved || e.Kind == Evaluated) && b.now != 0 {
			t.Errorf("%s at step %d with %d downloads under way", e.Kind, e.Step, b.now)
		}
	})
	if !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
	if b.most != 6 { // of two steps: loss, guard and norm
		t.Errorf("at most %d downloads were under way, want 6", b.most)
	}
	sameWeights(t, "ahead", plain, ahead)
	ctx, cancel := context.WithCancel(t.Context())
	steps := 0
	said := run(ctx, stopped, newRecorder(), func(e Event) {
		if e.Kind == Stepped {
			if steps++; steps == 4 {
				cancel()
			}
		}
	})
	if last := said[len(said)-1]; last != fmt.Sprint(Saved, " ", steps) {
		t.Errorf("the run was stopped after %d reported steps and ended with %q", steps, last)
	}
	run(t.Context(), stopped, newRecorder(), nil)
	sameWeights(t, "stopped", plain, stopped)
}

// An evaluation records its pass over 64 images, and queues the next batch before it waits for the last.
func TestEvaluationIsRecordedAndDoesNotWaitForEachBatch(t *testing.T) {
	c, d := tiny(1)
	d.Views = 20 // 320 images are 5 batches
	embed := func(b device.Backend) []byte {
		r, err := New(c, Data{Train: d}, Options{Backend: b})
		must.Do(t, err)
		defer r.Close()
		vectors, err := r.network.Embed(t.Context(), d, network.EmbedOptions{Thread: r.thread})
		must.Do(t, err)
		out := make([]byte, 4*vectors.Len())
		must.Do(t, b.Wait(b.Download(out, vectors)))
		return out
	}
	b := &asked{recorder: newRecorder(), numbers: map[device.Ticket]bool{}}
	if got, want := embed(b), embed(cpu.New(1)); !bytes.Equal(got, want) {
		t.Error("the embeddings are not those of single operations")
	}
	if b.programs != 1 || b.runs != 4 || b.open != 0 {
		t.Errorf("%d programs were recorded and ran %d times, %d are open; want 1, 4 and 0", b.programs, b.runs, b.open)
	}
	if b.most != 2 {
		t.Errorf("%d batches were under way at most, want 2", b.most)
	}
}
