package train

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"hgld/internal/testing/effort"
	"hgld/internal/testing/must"
	"hgld/train/checkpoint"
	"hgld/train/collective"
	"hgld/train/config"
	"hgld/train/device"
	"hgld/train/device/cpu"
	"hgld/train/loss"
	"hgld/train/testing/places"
)

// sameAsOne checks that ranks trained as one process: losses and weights within the tolerances, relative, and the
// ranks equal to the bit.
func sameAsOne(t *testing.T, one trained, many []trained, lossTolerance, weightTolerance float64) {
	t.Helper()
	for r, m := range many {
		if m.err != nil {
			t.Fatalf("rank %d of %d: %v", r, len(many), m.err)
		}
		for name, v := range m.weights {
			for i := range v {
				if math.Float64bits(v[i]) != math.Float64bits(many[0].weights[name][i]) {
					t.Fatalf("element %d of %s differs between the ranks 0 and %d of %d", i, name, r, len(many))
				}
			}
		}
	}
	if one.err != nil || len(one.losses) == 0 || len(one.losses) != len(many[0].losses) {
		t.Fatalf("%d losses with one process, %d with %d: %v", len(one.losses), len(many[0].losses), len(many), one.err)
	}
	for i, l := range one.losses {
		if d := math.Abs(many[0].losses[i]-l) / max(math.Abs(l), 1e-3); !(d <= lossTolerance) {
			t.Errorf("%d ranks: loss %d is %v, want %v: off by %.1e", len(many), i+1, many[0].losses[i], l, d)
		}
	}
	for name, v := range one.weights {
		if strings.HasPrefix(name, checkpoint.OptimizerPrefix) {
			continue // Adam divides differences of the size of rounding by each other
		}
		if d := deviation(many[0].weights[name], v); !(d <= weightTolerance) {
			t.Errorf("%d ranks: %s is off by %.1e", len(many), name, d)
		}
	}
}

// shared is a configuration for 2 and 4 ranks.
func shared(steps int) (config.Config, Data) {
	c, d := tiny(steps)
	c.Optim.Rate = 1e-3
	c.Schedule.Name = "constant"
	c.Model.Backbone.Settings = map[string]any{"widths": []int{8, 16}, "strides": []int{2, 2}}
	return c, Data{Train: d}
}

// The tolerances are ten times what was measured.
func TestRanksTrainAsOneProcess(t *testing.T) {
	for name, change := range map[string]func(*config.Config){
		"frozen norm":   func(c *config.Config) { c.Loss.Name, c.Model.FreezeNorm = "happier", true },
		"trained norm":  func(c *config.Config) { c.Loss.Name = "roadmap" },
		"memory":        func(c *config.Config) { c.Memory = config.CrossBatch{Size: 48, Start: 3} },
		"memory first":  func(c *config.Config) { c.Memory = config.CrossBatch{Size: 48, First: true, Weight: 0.5} },
		"unique memory": func(c *config.Config) { c.Memory = config.CrossBatch{Unique: true} },
		"two passes":    func(c *config.Config) { c.Passes.Chunk, c.Model.FreezeNorm = 3, true },
		"accumulated": func(c *config.Config) {
			c.Loss.Name, c.Passes, c.Model.FreezeNorm = "nsm", config.Passes{Chunk: 3, Accumulate: true}, true
		},
		"proxies":          func(c *config.Config) { c.Loss.Name = "nsm" },
		"clip and average": func(c *config.Config) { c.Loss.Name, c.Optim.Clip, c.EMA.Decay = "triplet", 1, 0.9 },
		"frozen at first":  func(c *config.Config) { c.Schedule.Freeze = 3 },
		"frozen, clipped":  func(c *config.Config) { c.Schedule.Freeze, c.Optim.Clip = 3, 1e-3 },
		"proxies at first": func(c *config.Config) {
			c.Loss.Name, c.Optim.Clip, c.Schedule.Freeze, c.Schedule.Frozen = "nsm", 1e-3, 3, []string{"backbone", "head"}
		},
		"bfloat16":      func(c *config.Config) { c.Model.Precision = config.PrecisionBFloat16 },
		"sgd":           func(c *config.Config) { c.Optim.Name, c.Optim.Rate = "sgd", 1e-3 },
		"short batches": func(c *config.Config) { c.Sampler.Name, c.Sampler.Batch = "random", 20 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, data := shared(8)
			change(&c)
			one := onRanks(t, 1, c, data, nil, nil)[0]
			for _, n := range []int{2, 4} {
				sameAsOne(t, one, onRanks(t, n, c, data, nil, nil), 2e-5, 2e-4)
			}
		})
	}
}

func TestRanksTrainWithEveryLoss(t *testing.T) {
	steps := 2
	if effort.Long() {
		steps = 5
	}
	done := 0
	for _, preset := range loss.Presets {
		for _, entry := range preset.Value {
			c, data := shared(steps)
			c.Loss = config.Loss{Named: config.Named{Name: entry.Name}, Preset: preset.Name}
			one := onRanks(t, 1, c, data, nil, nil)[0]
			if one.err != nil {
				t.Errorf("%s, %s: %v", preset.Name, entry.Name, one.err)
				continue
			}
			done++
			t.Run(preset.Name+"/"+entry.Name, func(t *testing.T) {
				sameAsOne(t, one, onRanks(t, 2, c, data, nil, nil), 5e-5, 5e-4)
			})
		}
	}
	if done < 60 {
		t.Errorf("%d losses were trained", done)
	}
}

// An evaluation is shared by the ranks, and every vector has the bytes that one process computes. Rank 0 writes
// the run directory, and the others nothing.
func TestRanksEvaluateAsOneProcess(t *testing.T) {
	c, data := shared(4)
	data.Query = &places.Set{Forms: 4, PerForm: 5, Views: 7, Size: 20} // 140 images: 3 batches for 4 ranks
	c.Run.Evaluate, c.Run.EvalOn = 2, config.WatchTest
	c.Optim.Rate = 1e-30 // the weights of one process and of several differ by rounding
	var results [2]*Event
	for i, n := range []int{1, 4} {
		dir := filepath.Join(t.TempDir(), "run")
		many := onRanks(t, n, c, data, func(rank int, _ *config.Config, _ *Data, o *Options) {
			o.Dir = filepath.Join(dir, strings.Repeat("x", rank))
		}, nil)
		for rank, m := range many {
			if m.err != nil {
				t.Fatalf("rank %d of %d: %v", rank, n, m.err)
			}
			for _, e := range m.events {
				if e.Kind == Saved && rank > 0 {
					t.Errorf("rank %d saved %s", rank, e.Path)
				}
			}
		}
		for _, e := range many[0].events {
			if e.Kind == Evaluated {
				results[i] = &e
			}
		}
	}
	want, err := json.Marshal(results[0].Result)
	got, failed := json.Marshal(results[1].Result)
	if err != nil || failed != nil || string(got) != string(want) {
		t.Errorf("4 ranks measure %s, want %s", got, want)
	}
}

// When one rank is told to stop, all stop after the same step. The run then continues to the weights of an
// undisturbed one, whichever rank it was.
func TestRanksStopTogetherAndResume(t *testing.T) {
	c, data := shared(9)
	c.EMA.Decay, c.Memory = 0.9, config.CrossBatch{Size: 48}
	whole := onRanks(t, 2, c, data, nil, nil)
	for told := range 2 {
		dir := t.TempDir()
		at := func(rank int, _ *config.Config, _ *Data, o *Options) { o.Dir = dir }
		stopped := onRanks(t, 2, c, data, at, func(rank int, e Event, cancel func()) {
			if rank == told && e.Step == 4 {
				cancel()
			}
		})
		for rank, m := range stopped {
			var stop *collective.StopError
			if !errors.Is(m.err, context.Canceled) || !errors.As(m.err, &stop) || stop.Rank != told {
				t.Fatalf("rank %d ended with %v", rank, m.err)
			}
			if a, b := m.run.Step(), stopped[0].run.Step(); a != b || a > 6 {
				t.Errorf("rank %d stopped after step %d, rank 0 after step %d", rank, a, b)
			}
		}
		resumed := onRanks(t, 2, c, data, at, nil)
		for rank, m := range resumed {
			if m.err != nil {
				t.Fatal(m.err)
			}
			for name, v := range whole[0].weights {
				for i := range v {
					if m.weights[name][i] != v[i] {
						t.Fatalf("rank %d: %s differs from the undisturbed run", rank, name)
					}
				}
			}
		}
	}
}

func TestRanksResumeWithAnotherNumber(t *testing.T) {
	c, data := shared(4)
	dir := t.TempDir()
	at := func(rank int, _ *config.Config, _ *Data, o *Options) { o.Dir = dir }
	must.Do(t, onRanks(t, 2, c, data, at, nil)[0].err)
	c.Steps = 6
	for rank, m := range onRanks(t, 4, c, data, at, nil) {
		if m.err != nil {
			t.Fatalf("rank %d: %v", rank, m.err)
		}
		if now, before := m.run.Ranks(); rank == 0 && (now != 4 || before != 2) {
			t.Errorf("%d ranks now and %d before", now, before)
		}
	}
}

func TestRanksThatDifferAreNamed(t *testing.T) {
	for name, test := range map[string]struct {
		change func(rank int, c *config.Config, d *Data, o *Options)
		want   string
	}{
		"settings": {func(rank int, c *config.Config, _ *Data, _ *Options) { c.Optim.Rate *= float64(1 + rank) },
			"optim.lr is 0.002, rank 0 has 0.001"},
		"run": {func(rank int, c *config.Config, _ *Data, _ *Options) { c.Run.Checkpoint = 2 + rank },
			"the settings of run are"},
		"version": {func(rank int, _ *config.Config, _ *Data, o *Options) {
			o.Origin = map[string]string{"tool": string(rune('1' + rank))}
		},
			"tool is 2, rank 0 has 1"},
	} {
		t.Run(name, func(t *testing.T) {
			c, data := shared(2)
			checkAllSay(t, onRanks(t, 2, c, data, test.change, nil), test.want)
		})
	}
	t.Run("data", func(t *testing.T) {
		c, data := shared(2)
		checkAllSay(t, onRanks(t, 2, c, data, func(rank int, _ *config.Config, d *Data, _ *Options) {
			if rank == 1 {
				d.Train = &places.Set{Forms: 4, PerForm: 4, Views: 7, Size: 20}
			}
		}, nil), "the images or labels differ")
	})
	t.Run("batch", func(t *testing.T) {
		c, data := shared(2)
		c.Sampler.Batch, c.Sampler.M = 15, 3
		checkAllSay(t, onRanks(t, 2, c, data, nil, nil), "sampler.batch is 15, want a multiple of the 2 processes")
	})
}

func checkAllSay(t *testing.T, list []trained, want string) {
	t.Helper()
	for rank, m := range list {
		if m.err == nil || !strings.Contains(m.err.Error(), want) {
			t.Errorf("rank %d ended with %v, want %q", rank, m.err, want)
		}
	}
}

// joinedCounting counts what a process of a group allocates.
type joinedCounting struct {
	*counting
	device.Collective
}

func TestRanksPlanEqualsWhatOneAllocates(t *testing.T) {
	c, data := shared(2)
	plan, err := PlanShare(c, data, 2)
	must.Do(t, err)
	var seen [2]*counting
	many := onRanks(t, 2, c, data, func(rank int, _ *config.Config, _ *Data, o *Options) {
		seen[rank] = &counting{Backend: o.Backend}
		o.Backend = joinedCounting{seen[rank], o.Backend.(device.Collective)}
	}, nil)
	one, err := Plan(c, data)
	if err != nil || many[0].err != nil || many[1].err != nil {
		t.Fatal(err, many[0].err, many[1].err)
	}
	const hashes = 32 + 2*32 // of the weights at the end of the run
	for rank, b := range seen {
		if b.peak != plan.Peak+hashes || plan.Peak >= one.Peak || plan.Host >= one.Host*6/10 {
			t.Errorf("rank %d: at most %d bytes, planned %d; %d with one process; %d and %d on the host", rank, b.peak,
				plan.Peak, one.Peak, plan.Host, one.Host)
		}
	}
}

// joinedSpoiled is a device of a group that makes a result not finite.
type joinedSpoiled struct {
	*spoiled
	device.Collective
}

// What is not finite in one rank is skipped by all.
func TestRanksSkipAStepTogether(t *testing.T) {
	for _, place := range []string{"Pixels", "Norm", "ConvGradW", "NormGrad by γ", "RankLoss"} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			c, data := shared(4)
			c.Run.Checkpoint = 1
			many := onRanks(t, 2, c, data, func(rank int, _ *config.Config, _ *Data, o *Options) {
				bad := &spoiled{Backend: o.Backend, place: place, value: math.NaN(), steps: map[int]bool{2 + rank: rank == 1}}
				o.Backend = joinedSpoiled{bad, o.Backend.(device.Collective)}
			}, nil)
			for rank, m := range many {
				if m.err != nil {
					t.Fatalf("rank %d: %v", rank, m.err)
				}
				for _, e := range m.events {
					if e.Taken() && (e.Kind == Skipped) != (e.Step == 3) {
						t.Errorf("rank %d: step %d was %s", rank, e.Step, e.Kind)
					}
				}
			}
			sameAsOne(t, many[0], many, 0, 0)
		})
	}
}

// Weights that drift apart are noticed at the next checkpoint, which is not written.
func TestRanksNoticeThatWeightsDiffer(t *testing.T) {
	c, data := shared(6)
	c.Run.Checkpoint = 2
	dir := t.TempDir()
	many := onRanks(t, 2, c, data, func(rank int, _ *config.Config, _ *Data, o *Options) {
		o.Dir = dir
		if rank == 1 {
			o.Backend = joinedSpoiled{&spoiled{Backend: o.Backend}, drifting{o.Backend.(device.Collective), o.Backend}}
		}
	}, nil)
	for rank, m := range many {
		var e *DivergedError
		if !errors.As(m.err, &e) || e.Step != 2 || !strings.Contains(e.Error(), "the weights of rank 1 differ") {
			t.Errorf("rank %d ended with %v", rank, m.err)
		}
	}
	if list, err := checkpoint.List(dir); err != nil || len(list) > 0 {
		t.Errorf("checkpoints %v, %v", list, err)
	}
}

// drifting scales every sum.
type drifting struct {
	device.Collective
	b device.Backend
}

func (d drifting) AllReduce(a device.Array) {
	d.Collective.AllReduce(a)
	d.b.Axpby(a, 1+1e-3, a, 0, device.Array{})
}

// A failure of one rank ends the others, which would otherwise wait for it.
func TestRanksEndWithOneThatFails(t *testing.T) {
	c, data := shared(6)
	broken := map[int]bool{0: true, 1: true, 2: true, 3: true}
	data.Train = &places.Set{Forms: 4, PerForm: 4, Views: 6, Size: 20, Broken: broken}
	list := onRanks(t, 2, c, data, nil, nil)
	if list[0].err == nil || list[1].err == nil {
		t.Errorf("the ranks ended with %v and %v", list[0].err, list[1].err)
	}
}

// Gradients that are added during the backward pass have the bytes of those that are added after it.
func TestOverlapChangesNoByte(t *testing.T) {
	for name, change := range map[string]func(*config.Config){
		"trained norm": func(c *config.Config) { c.Loss.Name, c.Optim.NoDecay = "roadmap", []string{"1d"} },
		"two passes":   func(c *config.Config) { c.Passes.Chunk, c.Model.FreezeNorm = 3, true },
		"accumulated": func(c *config.Config) {
			c.Loss.Name, c.Passes, c.Model.FreezeNorm = "nsm", config.Passes{Chunk: 3, Accumulate: true}, true
		},
		"frozen at first": func(c *config.Config) { c.Schedule.Freeze = 3 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, data := shared(6)
			change(&c)
			var runs [2][]trained
			for i, on := range []bool{false, true} {
				runs[i] = onRanks(t, 2, c, data, func(_ int, _ *config.Config, _ *Data, o *Options) {
					o.Backend.(*cpu.Joined).Overlap(on)
				}, nil)
			}
			for rank, m := range runs[1] {
				if m.err != nil || runs[0][rank].err != nil {
					t.Fatal(m.err, runs[0][rank].err)
				}
				for name, v := range runs[0][rank].weights {
					for i := range v {
						if math.Float64bits(v[i]) != math.Float64bits(m.weights[name][i]) {
							t.Fatalf("rank %d: element %d of %s differs", rank, i, name)
						}
					}
				}
			}
		})
	}
}

// world moves numbers between goroutines as an engine does between processes.
type world struct {
	n       int
	mu      sync.Mutex
	changed *sync.Cond
	arrived int
	round   int
	gone    error // a process that has left with an error; no call returns anything else after that
	parts   [][]byte
	sums    [][]float32
}

func newWorld(n int) *world {
	w := &world{n: n, parts: make([][]byte, n), sums: make([][]float32, n)}
	w.changed = sync.NewCond(&w.mu)
	return w
}

// meet waits for all members.
func (w *world) meet() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	round := w.round
	if w.arrived++; w.arrived == w.n {
		w.arrived, w.round = 0, round+1
		w.changed.Broadcast()
	}
	for w.round == round && w.gone == nil {
		w.changed.Wait()
	}
	if w.round != round {
		return nil // all came, even if one has failed since
	}
	return w.gone
}

func (w *world) leave(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone = err
	w.changed.Broadcast()
}

// member is one of a world.
type member struct {
	*world
	rank int
}

func (m member) Rank() (rank, ranks int) { return m.rank, m.n }

func (m member) AllReduce(x []float32) error {
	m.sums[m.rank] = slices.Clone(x)
	if err := m.meet(); err != nil {
		return err
	}
	for i := range x {
		x[i] = m.sums[0][i]
		for r := 1; r < m.n; r++ {
			x[i] += m.sums[r][i]
		}
	}
	return m.meet()
}

func (m member) AllGather(all, part []byte) error {
	m.parts[m.rank] = slices.Clone(part)
	if err := m.meet(); err != nil {
		return err
	}
	for r, p := range m.parts {
		copy(all[r*len(part):], p)
	}
	return m.meet()
}

func (m member) Broadcast(x []byte) error {
	m.parts[m.rank] = slices.Clone(x)
	if err := m.meet(); err != nil {
		return err
	}
	copy(x, m.parts[0])
	return m.meet()
}

// trained is what one process of a training has at its end.
type trained struct {
	events  []Event
	losses  []float64
	weights map[string][]float64 // tensors of a checkpoint
	run     *Run                 // closed
	err     error
}

// onRanks trains on n ranks, or as one process. change may change what a rank is given, and seen is called
// with its events.
func onRanks(t *testing.T, n int, c config.Config, data Data, change func(rank int, c *config.Config, d *Data,
	o *Options),
	seen func(rank int, e Event, cancel func())) []trained {
	t.Helper()
	list, w := make([]trained, n), newWorld(n)
	var group sync.WaitGroup
	for rank := range n {
		group.Go(func() {
			c, data, o := c, data, Options{Backend: cpu.New(1)}
			if n > 1 {
				joined := cpu.Join(cpu.New(1), member{w, rank})
				joined.Overlap(n == 4)
				o.Backend = joined
			}
			if change != nil {
				change(rank, &c, &data, &o)
			}
			list[rank].err = list[rank].train(c, data, o, func(e Event, cancel func()) {
				if seen != nil {
					seen(rank, e, cancel)
				}
			})
			if list[rank].err != nil && !errors.Is(list[rank].err, context.Canceled) {
				w.leave(errors.New("a rank has failed"))
			}
		})
	}
	group.Wait()
	return list
}

func (l *trained) train(c config.Config, data Data, o Options, seen func(Event, func())) error {
	r, err := New(c, data, o)
	if err != nil {
		return err
	}
	l.run = r
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for e, failed := range r.Events(ctx) {
		if failed != nil {
			err = failed
			break
		}
		l.events = append(l.events, e)
		if e.Kind == Stepped && e.Loss != nil {
			l.losses = append(l.losses, *e.Loss)
		}
		seen(e, cancel)
	}
	failed := r.thread.Do(func() error { return l.keep(r) })
	return errors.Join(err, failed, r.Close())
}

func (l *trained) keep(r *Run) error {
	l.weights = map[string][]float64{}
	tensors, err := r.network.Store.Export(r.o.Backend)
	if err != nil {
		return err
	}
	average, err := r.step.Update.ExportAverage(r.network)
	for _, t := range average {
		t.Name = "average." + t.Name
		tensors = append(tensors, t)
	}
	for _, t := range tensors {
		if v, err := t.Float64(); err == nil {
			l.weights[t.Name] = v
		}
	}
	return err
}
