package train

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"hgld/labels"
	"hgld/train/device"
	"hgld/train/device/cpu"
	"hgld/train/device/observe"
	"hgld/train/input"
	"hgld/train/loss"
	"hgld/train/testing/places"
)

// counting is a backend that counts what is allocated.
type counting struct {
	device.Backend
	used, peak int64
}

func (c *counting) Alloc(bytes int) device.Buffer {
	c.used += int64(bytes)
	c.peak = max(c.peak, c.used)
	return c.Backend.Alloc(bytes)
}

func (c *counting) Free(b device.Buffer) {
	c.used -= int64(b.Size())
	c.Backend.Free(b)
}

func TestPlanEqualsWhatARunAllocates(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"as it is": func(*Config) {},
		"average, bounds, warm-up, no decay": func(c *Config) {
			c.EMA.Decay, c.Optim.Clip, c.Optim.ClipValue, c.Optim.NoDecay, c.Schedule.Freeze = 0.9, 1, 0.1, []string{"1d"}, 1
		},
		"proxies": func(c *Config) { c.Loss.Name = "nsm" },
		"transformer": func(c *Config) {
			c.Model.Backbone = Named{Name: "vit-small", Settings: map[string]any{"width": 24, "heads": 2, "depth": 2,
				"input": 32}}
			c.Model.Pooling, c.Input.Size, c.Input.Resize = "none", 32, 32
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, d := tiny(3)
			change(&c)
			plan, err := Plan(c, Data{Train: d, Query: &input.Subset{Of: d, Rows: []int{1, 2, 3}}, Gallery: d})
			if err != nil {
				t.Fatal(err)
			}
			b := &counting{Backend: cpu.New(1)}
			r, err := New(c, Data{Train: d}, Options{Backend: b})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if b.used != plan.Kept {
				t.Errorf("kept are %d bytes, planned %d", b.used, plan.Kept)
			}
			for _, err := range r.Events(context.Background()) {
				if err != nil {
					t.Fatal(err)
				}
			}
			if b.peak != plan.Peak {
				t.Errorf("at most %d bytes, planned %d", b.peak, plan.Peak)
			}
			n := 0
			for _, g := range plan.Groups {
				n += g.Values
			}
			if n != r.Parameters() || plan.Steps != 3 || plan.Batch != 16 || plan.PerEpoch != 4 || plan.Images != d.Len() ||
				fmt.Sprint(plan.Classes) != "[16 4]" {
				t.Errorf("%d parameters, want %d; %+v", n, r.Parameters(), plan)
			}
			b.peak = b.used
			r.data.Query, r.data.Gallery = &input.Subset{Of: d, Rows: []int{1, 2, 3}}, d
			if _, err := r.evaluate(context.Background(), watchTest); err != nil {
				t.Fatal(err)
			}
			if b.peak != plan.Evaluation {
				t.Errorf("at most %d bytes in an evaluation, planned %d", b.peak, plan.Evaluation)
			}
		})
	}
}

// The components of a projection are counted: from no more rows than are kept.
func TestPlanCountsTheProjection(t *testing.T) {
	c, d := whitened(1, "pca")
	without := c
	without.Model.Projection = ""
	few := c
	few.Model.FitOn = 10
	var bytes [3]int64
	for i, c := range []Config{c, without, few} {
		plan, err := Plan(c, Data{Train: d})
		if err != nil {
			t.Fatal(err)
		}
		bytes[i] = plan.Projection
		if i == 0 && plan.Projection <= plan.Kept {
			t.Errorf("%d bytes, of which %d are there all the time", plan.Projection, plan.Kept)
		}
	}
	// 16 features of 10 images or of all, of 8 bytes and twice, and four matrices of as many
	// rows as there are images or features
	want := 8 * (2*16*int64(d.Len()-10) + 4*(16*16-10*10))
	if got := bytes[0] - bytes[2]; bytes[1] != 0 || got != want {
		t.Errorf("%d bytes; of all images %d more than of 10, want %d", bytes, got, want)
	}
}

// A matrix product of every kind, counted by hand.
func TestPlanCountsTheArithmetic(t *testing.T) {
	c, d := tiny(1)
	c.Sampler.Batch, c.Sampler.M = 8, 2
	plan, err := Plan(c, Data{Train: d})
	if err != nil {
		t.Fatal(err)
	}
	// 16×16 pixels: convolutions 4→8 and 8→16 with stride 2, 16→16 with stride 1, then 16→16.
	first, others := 8*8*8*9*4, 4*4*16*9*8+4*4*16*9*16+16*16
	// Each has a gradient by its weights and one by its inputs, but the first, of which
	// the input is pixels; scores of 8 with 8 vectors of 16, and their gradients by
	// queries and gallery.
	want := 2 * float64(8*(2*first+3*others)+3*8*8*16)
	if plan.FLOPs != want {
		t.Errorf("%v operations, want %v", plan.FLOPs, want)
	}
}

// Nothing of the size batch × positives × gallery, as the released code has: every
// loss of the table in memory that grows with the square of the batch at most.
func TestMemoryOfALossIsThatOfItsScores(t *testing.T) {
	d := &places.Set{Forms: 2, PerForm: 4, Views: 64, Size: 20}
	for preset, table := range map[string][]string{"paper": loss.All.Names()} {
		for _, name := range table {
			peak := func(batch int) float64 {
				c, _ := tiny(1)
				c.Input.Size, c.Input.Resize = 8, 8
				c.Model.Backbone.Settings = map[string]any{"widths": []int{4}, "strides": []int{2}}
				c.Loss = Loss{Named: Named{Name: name}, Preset: preset}
				c.Sampler.Batch, c.Sampler.M = batch, batch/8 // positives grow with the batch
				plan, err := Plan(c, Data{Train: d})
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				return float64(plan.Peak)
			}
			if small, large := peak(128), peak(512); large > 16.5*small {
				t.Errorf("%s: four times the batch takes %.1f times the memory", name, large/small)
			}
		}
	}
}

func TestOverfittingLearnsOneBatch(t *testing.T) {
	c, d := tiny(5)
	c.Schedule.Freeze = 3
	o := Options{Backend: cpu.New(2), Limit: 60}
	seen := 0
	f, err := Overfit(context.Background(), c, Data{Train: d}, o, func(step int, loss float64) { seen = step })
	if err != nil {
		t.Fatal(err)
	}
	if n := len(f.Losses); n != 60 || seen != 60 || f.Skipped != 0 || f.Losses[59] > 0.2*f.Losses[0] {
		t.Errorf("%d steps, %d seen, %d skipped, losses %.3f", n, seen, f.Skipped, f.Losses)
	}
	o.Dir = t.TempDir()
	if _, err := Overfit(context.Background(), c, Data{Train: d}, o, func(int, float64) {}); err == nil {
		t.Error("a run directory was taken")
	}
}

func TestRehearsalWritesNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	c, d := tiny(4)
	c.Run.Checkpoint, c.Model.Projection, c.Model.Dim = 1, "pca", 8
	mustTrain(t, c, Data{Train: d, Validation: d}, Options{})
	if list, err := os.ReadDir("."); err != nil || len(list) > 0 {
		t.Errorf("%v, %v", list, err)
	}
}

// The first step is not measured, and the warm-up, which would leave out the backbone's
// gradients, is not taken.
func TestProfileAccountsForTheStep(t *testing.T) {
	c, d := tiny(5)
	c.Schedule.Freeze = 2
	p, err := NewProfile(context.Background(), c, Data{Train: d}, Options{Backend: cpu.New(1), Limit: 5})
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	calls := map[string]int{}
	for _, op := range p.Operations {
		sum += op.Seconds
		calls[op.Op] = op.Calls
	}
	if p.Steps != 4 || calls["ConvGradW"] != 12 || calls["RankLoss"] != 4 || calls["Adam"] != 8 {
		t.Errorf("%d steps, calls %v", p.Steps, calls)
	}
	if sum <= 0 || sum > p.Seconds || p.Waited > p.Seconds {
		t.Errorf("operations take %v s of %v s, waiting %v s", sum, p.Seconds, p.Waited)
	}
	var table bytes.Buffer
	if err := p.Table(&table); err != nil || !strings.Contains(table.String(), "GFLOP/s") ||
		!strings.Contains(table.String(), "\nwaiting ") {
		t.Errorf("%v\n%s", err, &table)
	}
}

// Of two operations one moves bytes and the other multiplies: 10 ms at 1 GB/s, and 20 ms at
// 1 GFLOP/s, which is longer than its 5 ms of bytes. The table has two steps.
func TestProfileModelsEachCallByItsSlowerPart(t *testing.T) {
	times := profiler{map[string]*OpTime{}, Rates{Copy: 1e9, Products: 1e9}}
	for _, c := range []observe.Call{
		{Op: "Copy", Bytes: 6e6}, {Op: "Copy", Bytes: 4e6}, {Op: "MatMul", FLOPs: 20e6, Bytes: 5e6},
	} {
		times.add(c, 40*time.Millisecond)
	}
	p := Profile{Operations: times.list(), Seconds: 0.3, Steps: 2, Rates: times.rates}
	for i, want := range []OpTime{
		{OpWork{"Copy", 2, 0, 10e6}, 0.08, 0.01}, {OpWork{"MatMul", 1, 20e6, 5e6}, 0.04, 0.02},
	} {
		if got := p.Operations[i]; got.OpWork != want.OpWork || math.Abs(got.Seconds-want.Seconds) > 1e-12 ||
			math.Abs(got.Modelled-want.Modelled) > 1e-12 {
			t.Errorf("operation %d is %+v, want %+v", i, got, want)
		}
	}
	var table bytes.Buffer
	if err := p.Table(&table); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Copy                  1      40.00  26.7%      5.00    8.0                5.00    0.12\n",
		"MatMul              0.5      20.00  13.3%     10.00    2.0       0.5      2.50    0.12\n",
		"step                        150.00 100.0%     15.00   10.0\n",
		"modelled: bytes at 1.0 GB/s, the rate of a large copy, or products at 1 GFLOP/s, " +
			"the rate of a large product, ",
	} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("the table has no %q:\n%s", want, &table)
		}
	}
}

// A device that sleeps 1 s for every GB that it moves, or for every 2 GFLOP, has these rates. It never
// sleeps too short, and on a busy machine wakes up late.
func TestRatesAreThoseOfTheDevice(t *testing.T) {
	asleep := observe.Operations(cpu.New(1), func(c observe.Call, do func()) {
		switch c.Op {
		case "Copy":
			time.Sleep(time.Duration(c.Bytes))
		case "MatMul":
			time.Sleep(time.Duration(c.FLOPs / 2))
		default:
			do()
		}
	})
	r, err := MeasureRates(asleep, device.BF16)
	if err != nil {
		t.Fatal(err)
	}
	for name, share := range map[string]float64{"copies": r.Copy / 1e9, "products": r.Products / 2e9} {
		if share < 0.25 || share > 1 {
			t.Errorf("%s have %.2f of the rate", name, share)
		}
	}
}

func TestBenchLeavesOutItsWarmUp(t *testing.T) {
	c, d := tiny(5)
	var taken []int
	times, err := Bench(context.Background(), c, Data{Train: d}, Options{Backend: cpu.New(1)}, 2, func(n int) {
		taken = append(taken, n)
	})
	if err != nil || times.Steps != 2 || fmt.Sprint(taken) != "[1 2 3 4 5]" {
		t.Errorf("%+v of steps %v, %v", times, taken, err)
	}
}

func TestClassesThatNoBatchHoldsAreCounted(t *testing.T) {
	rows := []labels.Path{{0, 0}, {0, 0}, {1, 0}, {2, 0}, {-1, -1}}
	for want, epoch := range map[int][][]int{2: {{0, 1}}, 0: {{0, 2}, {3, 4}}, 3: {{4}}} {
		if got := absentClasses(rows, epoch, 3); got != want {
			t.Errorf("%v: %d, want %d", epoch, got, want)
		}
	}
}

// A run that the machine cannot hold is refused before it takes the memory. One byte more
// suffices.
func TestRunThatDoesNotFitIsRefused(t *testing.T) {
	c, d := tiny(1)
	plan, err := Plan(c, Data{Train: d})
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("a step needs %.1f MiB", float64(plan.Peak+plan.Host)/(1<<20))
	for _, short := range []int64{0, 1} {
		r, err := New(c, Data{Train: d}, Options{Backend: cpu.New(1), memory: plan.Peak + plan.Host - short})
		var memory *device.OutOfMemory
		if got := errors.As(err, &memory); got != (short > 0) {
			t.Errorf("%d bytes short: %v", short, err)
		}
		if err != nil {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%v does not say %q", err, want)
			}
			continue
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}
