package train

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hgld/internal/tensorfile"
	"hgld/internal/testing/must"
	"hgld/labels"
	"hgld/train/checkpoint"
	"hgld/train/config"
	"hgld/train/device/cpu"
	"hgld/train/evaluation"
	"hgld/train/input"
	"hgld/train/metric"
	"hgld/train/network"
	"hgld/train/optim"
	"hgld/train/retrieval"
	"hgld/train/tensor"
	"hgld/train/testing/places"
)

// whitened is a training whose projection starts from principal components.
func whitened(steps int, kind string) (config.Config, *places.Set) {
	c, d := tiny(steps)
	c.Model.Standard, c.Model.Dim, c.Model.Projection = "l2", 8, kind
	return c, d
}

func TestProjectionStartsFromPrincipalComponents(t *testing.T) {
	for _, of := range [][2]string{{"pca", "l2"}, {"pca-whitening", "l2"}, {"pca-whitening", "layernorm"}} {
		kind := of[0]
		c, d := whitened(1, kind)
		c.Model.Standard = of[1]
		dir := t.TempDir()
		r, err := New(c, Data{Train: d}, Options{Dir: dir, Backend: cpu.New(1)})
		must.Do(t, err)
		events := 0
		proceed, err := r.startProjection(context.Background(), func(e Event, _ error) bool {
			events++
			return e.Kind == Projected && e.Images == d.Len()
		})
		if err != nil || !proceed || events != 1 {
			t.Fatalf("%d events, %v", events, err)
		}
		// The projected features have mean 0, no correlations, and with whitening the variance of their
		// squared length, which is the same for all: the definition, computed here from the features.
		var features [][]float32
		err = r.network.Features(context.Background(), d, network.EmbedOptions{Thread: r.thread},
			func(x *tensor.Tensor) error {
				for i := range x.Rows() {
					features = append(features, x.Row(i))
				}
				return nil
			})
		must.Do(t, err)
		weight, err := tensor.Read(filepath.Join(dir, network.ProjectionFile), "weight")
		must.Do(t, err)
		bias, err := tensor.Read(filepath.Join(dir, network.ProjectionFile), "bias")
		must.Do(t, err)
		n := len(features)
		y := make([][]float64, n)
		for i := range n {
			for k := range weight.Rows() {
				sum := float64(bias.Data[k])
				for j, w := range weight.Row(k) {
					sum += float64(w) * float64(features[i][j])
				}
				y[i] = append(y[i], sum)
			}
		}
		squared := 0.0
		for _, v := range features[0] {
			squared += float64(v) * float64(v)
		}
		covariance := func(a, b int) (s float64) {
			for i := range n {
				s += y[i][a] * y[i][b] / float64(n-1)
			}
			return s
		}
		off := 1e-3 // float32 weights on float32 features
		if of[1] == "layernorm" {
			off = 1e-2 // its ε shortens features of little variance, here by up to 0.5 %
		}
		last := math.Inf(1)
		for a := range weight.Rows() {
			scale := math.Sqrt(covariance(0, 0) * covariance(a, a))
			for b := range a {
				if c := covariance(a, b); math.Abs(c) > off*scale {
					t.Errorf("%v: components %d and %d have covariance %v", of, a, b, c)
				}
			}
			v := covariance(a, a)
			if kind == "pca-whitening" && math.Abs(v/squared-1) > off || v > last*(1+off) {
				t.Errorf("%v: variance %v of component %d after %v", of, v, a, last)
			}
			last = v
		}
		must.Do(t, r.Close())
	}
}

func TestResumedRunDoesNotRepeatTheProjection(t *testing.T) {
	c, d := whitened(12, "pca")
	c.Model.FitOn = 40
	whole, parts := t.TempDir(), t.TempDir()
	mustTrain(t, c, Data{Train: d}, Options{Dir: whole})
	mustTrain(t, c, Data{Train: d}, Options{Dir: parts, Limit: 5})
	for _, e := range mustTrain(t, c, Data{Train: d}, Options{Dir: parts}) {
		if e.Kind == Projected {
			t.Error("the projection was found again")
		}
	}
	sameWeights(t, "stopped after 5 steps", whole, parts)
}

// A run that is stopped before its projection is there begins with it later.
func TestRunStoppedInTheProjectionStartsItLater(t *testing.T) {
	c, d := whitened(6, "pca")
	whole, stopped := t.TempDir(), t.TempDir()
	mustTrain(t, c, Data{Train: d}, Options{Dir: whole})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := trainAll(t, ctx, c, Data{Train: d}, Options{Dir: stopped}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	mustTrain(t, c, Data{Train: d}, Options{Dir: stopped})
	sameWeights(t, "stopped before the first step", whole, stopped)
}

func TestUntrainedNetworkHasTheProjectionOfItsRun(t *testing.T) {
	c, d := whitened(2, "pca-whitening")
	dir := t.TempDir()
	events := mustTrain(t, c, Data{Train: d}, Options{Dir: dir})
	if events[0].Kind != Projected {
		t.Fatalf("first event %+v", events[0])
	}
	m, err := evaluation.Open(dir, cpu.New(1), nil, true)
	must.Do(t, err)
	tensors, err := m.Weights()
	must.Do(t, err)
	weight, err := tensor.Read(filepath.Join(dir, network.ProjectionFile), "weight")
	must.Do(t, err)
	i := slices.IndexFunc(tensors, func(t tensorfile.Tensor) bool { return t.Name == "fc.weight" })
	if !bytes.Equal(tensors[i].Data, weight.File("").Data) {
		t.Error("the untrained projection is another")
	}
	must.Do(t, m.Close())
	must.Do(t, os.WriteFile(filepath.Join(dir, network.ProjectionFile), []byte("damaged"), 0o644))
	if _, err := evaluation.Open(dir, cpu.New(1), nil, true); err == nil || !strings.Contains(err.Error(),
		network.ProjectionFile) {
		t.Errorf("error %v", err)
	}
}

func TestProjectionNeedsEnoughImages(t *testing.T) {
	c, d := whitened(2, "pca")
	c.Model.FitOn = 8 // and as many components
	if _, err := trainAll(t, context.Background(), c, Data{Train: d}, Options{Dir: t.TempDir()}); err == nil ||
		!strings.Contains(err.Error(), "components") {
		t.Errorf("error %v", err)
	}
	c.Model.Dim = 0
	if _, err := trainAll(t, context.Background(), c, Data{Train: d}, Options{Dir: t.TempDir()}); err == nil ||
		!strings.Contains(err.Error(), "model.dim is 0: set model.dim") {
		t.Errorf("error %v", err)
	}
}

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

func (d *clouds) Len() int { return len(d.rows) }

func (d *clouds) Levels() []string { return []string{"fine", "coarse"} }

func (d *clouds) Classes(l int) []string { return [][]string{make([]string, 8), make([]string, 4)}[l] }

func (d *clouds) Labels(i int) labels.Path {
	return labels.Path{int32(i % 8), int32(i % 8 / 2)}
}

func (d *clouds) Image(context.Context, int) ([]byte, error) { return nil, errors.New("no images") }

func (d *clouds) ID(i int) string { return fmt.Sprint(i) }

func (d *clouds) Width() int { return 12 }

func (d *clouds) Vector(i int) []float32 { return d.rows[i] }

func headConfig(steps int) config.Config {
	c := config.Default()
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
			m, err := evaluation.Open(dir, b, nil, untrained)
			must.Do(t, err)
			defer m.Close()
			set, err := metric.ParseSet(c.Run.Metrics)
			must.Do(t, err)
			r, err := m.Evaluate(context.Background(), newClouds(80), nil, retrieval.Evaluation{Metrics: set})
			must.Do(t, err)
			return r.Mean("H-AP")
		}
		before, after := measure(true), measure(false)
		if after < before+0.2 {
			t.Errorf("hidden %d: H-AP was %v and is %v", hidden, before, after)
		}
		raw, err := evaluation.MeasureVectors(context.Background(), b, newClouds(80), c, nil, 0)
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
	for want, try := range map[string]func() (config.Config, Data){
		"the data are images": func() (config.Config, Data) {
			tinyC, images := tiny(2)
			tinyC.Model.Backbone.Name, tinyC.Model.Backbone.Settings = "vectors", nil
			return tinyC, Data{Train: images}
		},
		"the data are vectors": func() (config.Config, Data) {
			other := c
			other.Model.Backbone.Name = "resnet18"
			return other, Data{Train: newClouds(64)}
		},
		"nothing would be trained": func() (config.Config, Data) {
			other := c
			other.Model.Dim = 0
			return other, Data{Train: newClouds(64)}
		},
		"want vectors of the same model": func() (config.Config, Data) {
			other := c
			other.Model.Backbone.Settings = map[string]any{"width": 7}
			return other, Data{Train: newClouds(64)}
		},
	} {
		cfg, data := try()
		_, err := New(cfg, data, Options{Backend: cpu.New(1)})
		if !errors.As(err, new(*config.Error)) || !strings.Contains(err.Error(), want) {
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

// The proxies have a rule and a weight decay of their own: a step of plain SGD moves
// them by their rate times gradient and decay.
func TestProxiesHaveTheirOwnRuleAndDecay(t *testing.T) {
	c, d := tiny(2)
	c.Loss.Name, c.Optim.ProxyRate, c.Schedule.Name = "nsm", 0.5, "constant"
	c.Optim.Proxies = config.Named{Name: "sgd", Settings: map[string]any{"momentum": 0.0, "nesterov": false}}
	after := func(decay float64) []float32 {
		c.Optim.ProxyDecay = decay
		dir := t.TempDir()
		mustTrain(t, c, Data{Train: d}, Options{Dir: dir, Limit: 1})
		return values(t, dir, checkpoint.ModelFile, "loss.proxies")
	}
	r, err := New(c, Data{Train: d}, Options{Backend: cpu.New(1)})
	must.Do(t, err)
	if _, is := r.step.Update.Proxies.Kind.(optim.SGD); !is {
		t.Errorf("the proxies' rule is %T", r.step.Update.Proxies.Kind)
	}
	if _, is := r.step.Update.Net.Kind.(optim.Adam); !is {
		t.Errorf("the network's rule is %T", r.step.Update.Net.Kind)
	}
	must.Do(t, r.Close())
	// Decay λ takes rate·λ·w from every weight w, which begins within ±1/√16.
	free, once, twice := after(0), after(0.1), after(0.2)
	moved := 0.0
	for i := range free {
		w := float64(free[i]-once[i]) / (0.5 * 0.1)
		moved = max(moved, math.Abs(w))
		// float32 weights of size 1, over 0.05
		if double := float64(free[i]-twice[i]) / (0.5 * 0.2); math.Abs(w-double) > 1e-4 {
			t.Fatalf("weight %d was %v by one decay and %v by twice that", i, w, double)
		}
	}
	if moved < 0.2 || moved > 0.25+1e-4 {
		t.Errorf("the greatest weight was %v, want nearly 1/4", moved)
	}
}

// Place 5 is of form 1 and, by the list, of form 3. The paths of a row stand side by side, that of the tree first, and
// a row with one path repeats it.
func TestRowsOfABatchHoldAllPaths(t *testing.T) {
	_, d := tiny(1)
	full := evaluation.PathsOf(d)
	dense, _ := input.Renumber(full)
	also := func(place, form int) labels.ExtraParent {
		return labels.ExtraParent{Level: "place", Class: fmt.Sprint("place ", place), Parent: d.Classes(1)[form],
			Where: "also.csv:2"}
	}
	data := Data{Train: d, ExtraParents: []labels.ExtraParent{also(5, 3)}}
	wide, paths, err := data.wide(full, dense)
	if err != nil || paths != 2 {
		t.Fatal(paths, err)
	}
	for i, p := range full {
		want := []int32{p[0], p[1], p[0], p[1]}
		if p[0] == 5 {
			want = []int32{5, 1, 5, 3}
		}
		if !slices.Equal(wide[i], want) {
			t.Fatalf("item %d: %v, want %v", i, wide[i], want)
		}
	}
	// A form that no item has, behind the others, and its number.
	data.ExtraParents = []labels.ExtraParent{{Level: "place", Class: "place 0", Parent: "river"}}
	if wide, _, err = data.wide(full, dense); err != nil || !slices.Equal(wide[0], []int32{0, 0, 0, 4}) {
		t.Errorf("%v, %v", wide[0], err)
	}
	for i := range maxPaths {
		data.ExtraParents = append(data.ExtraParents,
			labels.ExtraParent{Level: "place", Class: "place 0", Parent: fmt.Sprint(i)})
	}
	_, _, err = data.wide(full, dense)
	if err == nil || !strings.Contains(err.Error(), `give the place "place 0" 10 paths, want at most 8`) {
		t.Error(err)
	}
	if data.ExtraParents = nil; evaluation.ExtraParentsPrint(data.ExtraParents) != "" {
		t.Error("no extra parents have a fingerprint")
	}
	data.ExtraParents = []labels.ExtraParent{also(5, 3), also(6, 2), also(5, 3)}
	before := evaluation.ExtraParentsPrint(data.ExtraParents)
	data.ExtraParents = []labels.ExtraParent{also(6, 2), also(5, 3)}
	if evaluation.ExtraParentsPrint(data.ExtraParents) != before {
		t.Error("the order or a repetition changes the fingerprint")
	}
	if data.ExtraParents[1] = also(5, 2); evaluation.ExtraParentsPrint(data.ExtraParents) == before {
		t.Error("another parent does not change the fingerprint")
	}
}
