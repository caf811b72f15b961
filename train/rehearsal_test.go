package train

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
	"hgld/labels"
	"hgld/train/config"
	"hgld/train/device"
	"hgld/train/device/cpu"
	"hgld/train/evaluation"
	"hgld/train/input"
	"hgld/train/landmarks"
	"hgld/train/loss"
	"hgld/train/retrieval"
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
	for name, change := range map[string]func(*config.Config){
		"as it is": func(*config.Config) {},
		"average, bounds, warm-up, no decay": func(c *config.Config) {
			c.EMA.Decay, c.Optim.Clip, c.Optim.ClipValue, c.Optim.NoDecay, c.Schedule.Freeze = 0.9, 1, 0.1, []string{"1d"}, 1
		},
		"proxies": func(c *config.Config) { c.Loss.Name = "nsm" },
		"transformer": func(c *config.Config) {
			c.Model.Backbone = config.Named{Name: "vit-small", Settings: map[string]any{"width": 24, "heads": 2, "depth": 2,
				"input": 32}}
			c.Model.Pooling, c.Input.Size, c.Input.Resize = "none", 32, 32
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, d := tiny(3)
			change(&c)
			plan, err := Plan(c, Data{Train: d, Query: &input.Subset{Of: d, Rows: []int{1, 2, 3}}, Gallery: d})
			must.Do(t, err)
			b := &counting{Backend: cpu.New(1)}
			r, err := New(c, Data{Train: d}, Options{Backend: b})
			must.Do(t, err)
			defer r.Close()
			if b.used != plan.Kept {
				t.Errorf("kept are %d bytes, planned %d", b.used, plan.Kept)
			}
			for _, err := range r.Events(context.Background()) {
				must.Do(t, err)
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
			if _, err := r.evaluate(context.Background(), config.WatchTest); err != nil {
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
	for i, c := range []config.Config{c, without, few} {
		plan, err := Plan(c, Data{Train: d})
		must.Do(t, err)
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
	must.Do(t, err)
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
				c.Loss = config.Loss{Named: config.Named{Name: name}, Preset: preset}
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

func TestRehearsalWritesNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	c, d := tiny(4)
	c.Run.Checkpoint, c.Model.Projection, c.Model.Dim = 1, "pca", 8
	mustTrain(t, c, Data{Train: d, Validation: d}, Options{})
	if list, err := os.ReadDir("."); err != nil || len(list) > 0 {
		t.Errorf("%v, %v", list, err)
	}
}

// The images of the benchmark are squares of 40 pixels, and are embedded as such.
func TestPlanCountsTheImagesOfLandmarks(t *testing.T) {
	c, d := tiny(2)
	c.Run.EvalOn, c.Run.Workers = config.WatchLandmarks, 3
	wide := &places.Set{Forms: 2, PerForm: 2, Views: 3, Size: 40}
	data := Data{Train: d, Landmarks: []evaluation.Landmarks{{Name: "gnd", Queries: &input.Subset{Of: wide,
		Rows: []int{0, 1}},
		Gallery: wide, Measure: &landmarks.Measure{Parts: []string{"all"}, Metrics: []string{"mAP"}}, Side: 40}}}
	data.Landmarks[0].Measure.Rank = func(ctx context.Context, b device.Backend, thread *device.Thread,
		e retrieval.Evaluation) ([]landmarks.Means, error) {
		e.Levels = wide.Levels()
		_, err := retrieval.EvaluateOn(ctx, b, thread, &e)
		return []landmarks.Means{{Values: []float64{1}}}, err
	}
	for _, side := range []int{40, 0} {
		data.Landmarks[0].Side = side
		plan, err := Plan(c, data)
		must.Do(t, err)
		if want := int64(5 * 3 * side * side); plan.Whole != want { // 3 wait, 1 waits to, and 1 is embedded
			t.Errorf("%d bytes of decoded images, want %d", plan.Whole, want)
		}
		b := &counting{Backend: cpu.New(1)}
		r, err := New(c, data, Options{Backend: b})
		must.Do(t, err)
		b.peak = b.used
		if _, err := r.evaluate(t.Context(), config.WatchLandmarks); err != nil {
			t.Fatal(err)
		}
		if b.peak != plan.Evaluation {
			t.Errorf("side %d: at most %d bytes, planned %d", side, b.peak, plan.Evaluation)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// sized knows the size of its largest file.
type sized struct {
	*places.Set
	most int
}

func (s sized) MostBytes() int { return s.most }

// Four readers and two workers hold a file each. Of files beyond 4 MiB, the memory of one is not kept.
func TestPlanCountsFilesThatAreReadAhead(t *testing.T) {
	c, d := tiny(1)
	c.Run.Reads, c.Run.Workers = 4, 2
	for most, want := range map[int]int64{0: 0, 1000: 6000, 5 << 20: 25 << 20} {
		plan, err := Plan(c, Data{Train: input.Join(sized{d, most}, sized{d, most / 2})})
		if err != nil || plan.Files != want {
			t.Errorf("%v, %d bytes, want %d", err, plan.Files, want)
		}
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
	must.Do(t, err)
	want := fmt.Sprintf("a step needs %.1f MiB", float64(plan.Peak+plan.Host)/(1<<20))
	for _, short := range []int64{0, 1} {
		r, err := New(c, Data{Train: d}, Options{Backend: cpu.New(1), Plan: plan, memory: plan.Peak + plan.Host - short})
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

// Chunks need less memory than the batch, and a ring as much as its rows.
func TestPlanSeesChunksAndMemories(t *testing.T) {
	c, d := tiny(3)
	c.Model.FreezeNorm = true
	c.Input.Size, c.Input.Resize = 32, 36 // more than the first 256 KiB that an arena takes
	plan := func(change func(*config.Config)) *Estimate {
		changed := c
		change(&changed)
		p, err := Plan(changed, Data{Train: d})
		must.Do(t, err)
		return p
	}
	whole := plan(func(*config.Config) {})
	if cut := plan(func(c *config.Config) { c.Passes.Chunk = 4 }); cut.Peak >= whole.Peak || cut.Kept != whole.Kept {
		t.Errorf("in chunks %d bytes, %d of them kept; at once %d and %d", cut.Peak, cut.Kept, whole.Peak, whole.Kept)
	}
	const rows, dim, levels = 1000, 16, 2
	if m := plan(func(c *config.Config) { c.Memory.Size = rows }); m.Kept-whole.Kept < 4*rows*(dim+levels) {
		t.Errorf("a memory of %d rows takes %d bytes", rows, m.Kept-whole.Kept)
	}
}

// The table of docs/dev/cuda.md is what a plan of the published networks counts.
func TestDocumentedWorkIsThatOfThePlan(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(goldens.Root(), "docs", "dev", "cuda.md"))
	must.Do(t, err)
	for _, row := range []string{
		workRow(t, "resnet50", true), workRow(t, "resnet101", true), workRow(t, "deit-small", true),
		workRow(t, "resnet50", false), workRow(t, "resnet101", false),
	} {
		if !strings.Contains(string(text), row) {
			t.Errorf("docs/dev/cuda.md does not have the row\n%s", row)
		}
	}
}

// workRow plans a step of a network in bfloat16, with frozen or trained BatchNorm, and returns the
// row of the table: megabytes and GFLOP of an image, and the images in a second at which memory of
// 3.0 and 4.3 TB/s is busy.
func workRow(t *testing.T, name string, frozen bool) string {
	t.Helper()
	c := config.Default()
	c.Model.Backbone.Name, c.Model.FreezeNorm, c.Model.Dim = name, frozen, 512
	c.Model.Precision = config.PrecisionBFloat16
	if strings.HasPrefix(name, "deit") {
		c.Model.Pooling = "none"
	}
	c.Sampler.Batch, c.Sampler.M, c.Steps = 256, 4, 1
	e, err := Plan(c, Data{Train: &places.Set{Forms: 8, PerForm: 16, Views: 4, Size: 8}})
	must.Do(t, err)
	of := map[string]float64{}
	for _, w := range e.Ops {
		of[w.Op] = w.Bytes
	}
	image := func(v float64) float64 { return v / 256 / 1e6 }
	row := "| " + name + " |"
	if !frozen {
		row = "| " + name + ", trained BatchNorm |"
	}
	rest := e.Bytes
	for _, op := range []string{"Conv", "MatMul", "Norm", "NormGrad", "ReluGrad", "ConvGradX", "ConvGradW"} {
		row += fmt.Sprintf(" %.0f |", image(of[op]))
		rest -= of[op]
	}
	return row + fmt.Sprintf(" %.0f | %.0f | %.1f | %.0f | %.0f |", image(rest), image(e.Bytes), e.FLOPs/256/1e9,
		256*3.0e12/e.Bytes, 256*4.3e12/e.Bytes)
}
