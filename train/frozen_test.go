package train

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"hgld/labels"
	"hgld/train/device/cpu"
	"hgld/train/metric"
	"hgld/train/retrieval"
)

// clouds are vectors of 12 numbers: 4 say which of 8 classes a row is of, and 8 are noise
// that is larger.
type clouds struct{ rows [][]float32 }

func newClouds(n int) *clouds {
	r := rand.New(rand.NewPCG(5, 6))
	d := &clouds{}
	for i := range n {
		row := make([]float32, 12)
		for k := range row {
			row[k] = float32(r.NormFloat64() * 0.3)
			if k >= 4 {
				row[k] *= 5
			}
		}
		row[i%8%4] += 2 * float32(1-i%8/4*2)
		d.rows = append(d.rows, row)
	}
	return d
}

func (d *clouds) Len() int               { return len(d.rows) }
func (d *clouds) Levels() []string       { return []string{"fine", "coarse"} }
func (d *clouds) Classes(l int) []string { return [][]string{make([]string, 8), make([]string, 4)}[l] }
func (d *clouds) Labels(i int) labels.Path {
	return labels.Path{int32(i % 8), int32(i % 8 / 2)}
}
func (d *clouds) Image(context.Context, int) ([]byte, error) { return nil, errors.New("no images") }
func (d *clouds) ID(i int) string                            { return fmt.Sprint(i) }
func (d *clouds) Width() int                                 { return 12 }
func (d *clouds) Vector(i int) []float32                     { return d.rows[i] }

func headConfig(steps int) Config {
	c := Default()
	c.Epochs, c.Steps = 0, steps
	c.Model.Dim, c.Model.Standard = 8, "none"
	c.Loss.Name, c.Sampler.Batch, c.Sampler.M = "happier", 64, 8
	c.Optim.Rate, c.Run.Checkpoint = 1e-2, 0
	return c
}

func TestHeadOnVectorsLearns(t *testing.T) {
	for _, hidden := range []int{0, 16} {
		c, d := headConfig(150), newClouds(160)
		c.Model.Backbone.Settings = map[string]any{"hidden": hidden}
		dir := t.TempDir()
		mustTrain(t, c, Data{Train: d}, Options{Dir: dir})
		b := cpu.New(2)
		measure := func(untrained bool) float64 {
			m, err := Open(dir, b, nil, untrained)
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			set, err := metric.ParseSet(c.Run.Metrics)
			if err != nil {
				t.Fatal(err)
			}
			r, err := m.Evaluate(context.Background(), newClouds(80), nil, retrieval.Evaluation{Metrics: set})
			if err != nil {
				t.Fatal(err)
			}
			return r.Mean("H-AP")
		}
		before, after := measure(true), measure(false)
		if after < before+0.2 {
			t.Errorf("hidden %d: H-AP was %v and is %v", hidden, before, after)
		}
		raw, err := MeasureVectors(context.Background(), b, newClouds(80), c, nil)
		if err != nil || after < raw.Mean("H-AP")+0.2 {
			t.Errorf("hidden %d: H-AP of the vectors is %v, of the head %v (%v)", hidden, raw.Mean("H-AP"), after, err)
		}
	}
}

func TestHeadResumesWithTheSameBytes(t *testing.T) {
	c, d := headConfig(12), newClouds(160)
	c.Model.Backbone.Settings = map[string]any{"hidden": 8}
	whole, parts := t.TempDir(), t.TempDir()
	mustTrain(t, c, Data{Train: d}, Options{Dir: whole})
	mustTrain(t, c, Data{Train: d}, Options{Dir: parts, Limit: 5})
	mustTrain(t, c, Data{Train: d}, Options{Dir: parts})
	sameWeights(t, "a head", whole, parts)
}

func TestVectorsAndImagesAreNotMixed(t *testing.T) {
	c := headConfig(2)
	for want, try := range map[string]func() (Config, Data){
		"the data are images": func() (Config, Data) {
			tinyC, images := tiny(2)
			tinyC.Model.Backbone.Name, tinyC.Model.Backbone.Settings = "vectors", nil
			return tinyC, Data{Train: images}
		},
		"the data are vectors": func() (Config, Data) {
			other := c
			other.Model.Backbone.Name = "resnet18"
			return other, Data{Train: newClouds(64)}
		},
		"nothing would be trained": func() (Config, Data) {
			other := c
			other.Model.Dim = 0
			return other, Data{Train: newClouds(64)}
		},
		"want vectors of the same model": func() (Config, Data) {
			other := c
			other.Model.Backbone.Settings = map[string]any{"width": 7}
			return other, Data{Train: newClouds(64)}
		},
	} {
		config, data := try()
		_, err := New(config, data, Options{Backend: cpu.New(1)})
		if !errors.As(err, new(*ConfigError)) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// Two passes in chunks give the gradient of the whole batch for vectors too.
func TestHeadInChunks(t *testing.T) {
	var last []float64
	for _, chunk := range []int{0, 16} {
		c, d := headConfig(8), newClouds(160)
		c.Passes.Chunk = chunk
		got := losses(mustTrain(t, c, Data{Train: d}, Options{}))
		for i := range last {
			if diff := got[i] - last[i]; diff > 1e-4 || diff < -1e-4 { // float32, over 8 steps
				t.Errorf("step %d: %v in chunks, %v at once", i+1, got[i], last[i])
			}
		}
		last = got
	}
}
