package train

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"hgld/internal/testing/effort"
	"hgld/train/device"
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
		if strings.HasPrefix(name, optimizerPrefix) {
			continue // Adam divides differences of the size of rounding by each other
		}
		if d := distance(many[0].weights[name], v); !(d <= weightTolerance) {
			t.Errorf("%d ranks: %s is off by %.1e", len(many), name, d)
		}
	}
}

// shared is a configuration for 2 and 4 ranks.
func shared(steps int) (Config, Data) {
	c, d := tiny(steps)
	c.Optim.Rate = 1e-3
	c.Schedule.Name = "constant"
	c.Model.Backbone.Settings = map[string]any{"widths": []int{8, 16}, "strides": []int{2, 2}}
	return c, Data{Train: d}
}

// The tolerances are ten times what was measured.
func TestRanksTrainAsOneProcess(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"frozen norm":   func(c *Config) { c.Loss.Name, c.Model.FreezeNorm = "happier", true },
		"trained norm":  func(c *Config) { c.Loss.Name = "roadmap" },
		"memory":        func(c *Config) { c.Memory = CrossBatch{Size: 48, Start: 3} },
		"memory first":  func(c *Config) { c.Memory = CrossBatch{Size: 48, First: true, Weight: 0.5} },
		"unique memory": func(c *Config) { c.Memory = CrossBatch{Unique: true} },
		"two passes":    func(c *Config) { c.Passes.Chunk, c.Model.FreezeNorm = 3, true },
		"accumulated": func(c *Config) {
			c.Loss.Name, c.Passes, c.Model.FreezeNorm = "nsm", Passes{Chunk: 3, Accumulate: true}, true
		},
		"proxies":          func(c *Config) { c.Loss.Name = "nsm" },
		"clip and average": func(c *Config) { c.Loss.Name, c.Optim.Clip, c.EMA.Decay = "triplet", 1, 0.9 },
		"frozen at first":  func(c *Config) { c.Schedule.Freeze = 3 },
		"bfloat16":         func(c *Config) { c.Model.Precision = precisionBFloat16 },
		"sgd":              func(c *Config) { c.Optim.Name, c.Optim.Rate = "sgd", 1e-3 },
		"short batches":    func(c *Config) { c.Sampler.Name, c.Sampler.Batch = "random", 20 },
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
			c.Loss = Loss{Named: Named{Name: entry.Name}, Preset: preset.Name}
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
	c.Run.Evaluate, c.Run.Watch = 2, watchTest
	c.Optim.Rate = 1e-30 // the weights of one process and of several differ by rounding
	var results [2]*Event
	for i, n := range []int{1, 4} {
		dir := filepath.Join(t.TempDir(), "run")
		many := onRanks(t, n, c, data, func(rank int, _ *Config, _ *Data, o *Options) {
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
	c.EMA.Decay, c.Memory = 0.9, CrossBatch{Size: 48}
	whole := onRanks(t, 2, c, data, nil, nil)
	for told := range 2 {
		dir := t.TempDir()
		at := func(rank int, _ *Config, _ *Data, o *Options) { o.Dir = dir }
		stopped := onRanks(t, 2, c, data, at, func(rank int, e Event, cancel func()) {
			if rank == told && e.Step == 4 {
				cancel()
			}
		})
		for rank, m := range stopped {
			var stop *StopError
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
	at := func(rank int, _ *Config, _ *Data, o *Options) { o.Dir = dir }
	if err := onRanks(t, 2, c, data, at, nil)[0].err; err != nil {
		t.Fatal(err)
	}
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
		change func(rank int, c *Config, d *Data, o *Options)
		want   string
	}{
		"settings": {func(rank int, c *Config, _ *Data, _ *Options) { c.Optim.Rate *= float64(1 + rank) },
			"optim.lr is 0.002, rank 0 has 0.001"},
		"run": {func(rank int, c *Config, _ *Data, _ *Options) { c.Run.Checkpoint = 2 + rank }, "the settings of run are"},
		"version": {func(rank int, _ *Config, _ *Data, o *Options) {
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
		checkAllSay(t, onRanks(t, 2, c, data, func(rank int, _ *Config, d *Data, _ *Options) {
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
	if err != nil {
		t.Fatal(err)
	}
	var seen [2]*counting
	many := onRanks(t, 2, c, data, func(rank int, _ *Config, _ *Data, o *Options) {
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
			many := onRanks(t, 2, c, data, func(rank int, _ *Config, _ *Data, o *Options) {
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
	many := onRanks(t, 2, c, data, func(rank int, _ *Config, _ *Data, o *Options) {
		o.Dir = dir
		if rank == 1 {
			o.Backend = joinedSpoiled{&spoiled{Backend: o.Backend}, drifting{o.Backend.(device.Collective), o.Backend}}
		}
	}, nil)
	for rank, m := range many {
		var e *DivergedError
		if !errors.As(m.err, &e) || e.Step != 2 || len(e.Ranks) != 1 || e.Ranks[0] != 1 {
			t.Errorf("rank %d ended with %v", rank, m.err)
		}
	}
	if list, err := checkpoints(dir); err != nil || len(list) > 0 {
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
