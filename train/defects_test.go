package train

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"hgld/internal/testing/must"
	"hgld/labels"
	"hgld/train/checkpoint"
	"hgld/train/device"
	"hgld/train/device/cpu"
	"hgld/train/input"
	"hgld/train/loss"
	"hgld/train/metric"
	"hgld/train/retrieval"
	"hgld/train/testing/places"
)

// The tests of this file each hold a defect of the released trainers off. Others of
// them have their tests where the thing is made: resuming in resume and kill, the
// memory in memory, half-written checkpoints in checkpoint and diskfull, the memory
// of losses in rehearsal, equal relevances that count twice in metric.

// A class has one number on both sides. Numbered anew on each, from 0, the query's
// class 3 would be the gallery's class 1.
func TestQueryAndGalleryShareTheNumbersOfTheirClasses(t *testing.T) {
	d := &places.Set{Forms: 2, PerForm: 2, Views: 2, Size: 20}
	query, gallery := &input.Subset{Of: d, Rows: []int{6}}, &input.Subset{Of: d, Rows: []int{2, 7}} // places 3; 1 and 3
	q, err := input.Paths(query)
	must.Do(t, err)
	g, err := input.Paths(gallery)
	must.Do(t, err)
	b := cpu.New(2)
	side := func(list []labels.Path, values ...float32) retrieval.Side {
		a := device.New(b, device.F32, len(list), 1)
		copy(b.Floats(a), values)
		return retrieval.Side{Vectors: a, Labels: list}
	}
	r, err := retrieval.Evaluate(context.Background(), b, &retrieval.Evaluation{Query: side(q, 1), Gallery: side(g, 1, 2),
		Levels: d.Levels(), Metrics: metric.Set{metric.AP{}}})
	must.Do(t, err)
	if ap := r.Mean("AP_level0"); ap != 1 {
		t.Errorf("AP %v, want 1: the other view of place 3 is ranked first", ap)
	}
}

// reads counts how often images are read.
type reads struct {
	*places.Set
	n atomic.Int64
}

func (r *reads) Image(ctx context.Context, i int) ([]byte, error) {
	r.n.Add(1)
	return r.Set.Image(ctx, i)
}

// In two passes an image is drawn once: both passes see the same pixels. The weights
// are those of one pass, which they could not be otherwise.
func TestTwoPassesSeeTheSamePixels(t *testing.T) {
	c, d := tiny(4)
	c.Model.FreezeNorm = true // statistics of a chunk are not those of the batch
	c.Run.Workers, c.Run.Prefetch = 1, 1
	first := func(chunk int) ([]float32, int64) {
		c.Passes.Chunk = chunk
		data := &reads{Set: d}
		dir := t.TempDir()
		mustTrain(t, c, Data{Train: data}, Options{Dir: dir})
		return values(t, dir, checkpoint.ModelFile, "fc.weight"), data.n.Load()
	}
	one, _ := first(0)
	two, n := first(4)
	// The batches of four steps, and what was decoded ahead of them.
	if n > int64((4+c.Run.Prefetch+1)*c.Sampler.Batch) {
		t.Errorf("%d images were read for 4 steps of %d", n, c.Sampler.Batch)
	}
	for i := range one {
		// four steps of 3e-3, in which float32 sums of other order may differ
		if diff := float64(one[i] - two[i]); diff > 1e-4 || diff < -1e-4 {
			t.Fatalf("fc.weight[%d] is %v after one pass and %v after two", i, one[i], two[i])
		}
	}
}

// Weights that do not fit the parts of a loss, or are not known, are an error and
// never 1/n each.
func TestWeightsOfALossAreNeverMadeUp(t *testing.T) {
	for _, settings := range []map[string]any{{"weights": []float64{1}}, {"weights": []float64{1, 1, 1}},
		{"weight": []float64{0.9, 0.1}}} {
		c, d := tiny(1)
		c.Loss.Name, c.Loss.Settings = "roadmap", settings
		_, err := New(c, Data{Train: d}, Options{Backend: cpu.New(1)})
		if err == nil || !strings.Contains(err.Error(), "weights") {
			t.Errorf("%v: error %v", settings, err)
		}
	}
	for _, settings := range []map[string]any{nil, {"weights": nil}} { // a key with nothing behind it is the default
		c, _ := tiny(1)
		c.Loss.Name, c.Loss.Settings = "roadmap", settings
		p, err := c.Resolve()
		must.Do(t, err)
		terms := p.Loss.(loss.Composition).Terms
		if len(terms) != 2 || terms[0].Weight != 0.9 || terms[1].Weight != 0.1 {
			t.Errorf("%v: %+v, expected the paper's weights", settings, terms)
		}
	}
}
