package train

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hgld/internal/tensorfile"
	"hgld/internal/testing/must"
	"hgld/train/checkpoint"
	"hgld/train/config"
	"hgld/train/device/cpu"
	"hgld/train/evaluation"
	"hgld/train/retrieval"
)

// values reads the named tensor of a file of the newest checkpoint.
func values(t *testing.T, dir, file, name string) []float32 {
	t.Helper()
	list, err := checkpoint.List(dir)
	if err != nil || len(list) == 0 {
		t.Fatalf("%d checkpoints, %v", len(list), err)
	}
	f, err := tensorfile.OpenSafetensors(filepath.Join(list[len(list)-1], file))
	must.Do(t, err)
	defer f.Close()
	v, err := f.Float32(name)
	must.Do(t, err)
	return slices.Clone(v)
}

// The average is computed here from the weights after each step, in float64.
func TestAverageFollowsTheWeights(t *testing.T) {
	c, d := tiny(6)
	c.EMA = config.Average{Decay: 0.8, WarmUp: true}
	c.Model.Backbone.Settings["strides"] = []int{2, 2, 1}
	dir := t.TempDir()
	names := []string{"backbone.conv1.weight", "fc.bias", "backbone.bn1.running_mean"}
	mean := map[string][]float64{}
	for step := range 7 {
		if step > 0 {
			mustTrain(t, c, Data{Train: d}, Options{Dir: dir, Limit: step})
		} else { // a checkpoint of the start
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			if _, err := trainAll(t, ctx, c, Data{Train: d}, Options{Dir: dir}); err == nil {
				t.Fatal("a cancelled run ended well")
			}
		}
		decay := min(0.8, (1+float64(step))/(10+float64(step)))
		for _, name := range names {
			for i, w := range values(t, dir, checkpoint.ModelFile, name) {
				if step == 0 {
					mean[name] = append(mean[name], float64(w))
					continue
				}
				mean[name][i] = decay*mean[name][i] + (1-decay)*float64(w)
			}
		}
	}
	for _, name := range names {
		moved := false
		weights := values(t, dir, checkpoint.ModelFile, name)
		for i, v := range values(t, dir, checkpoint.AverageFile, name) {
			// six roundings to float32 of values below 1
			if math.Abs(float64(v)-mean[name][i]) > 1e-6 {
				t.Fatalf("%s[%d] has the average %v, want %v", name, i, v, mean[name][i])
			}
			moved = moved || v != weights[i]
		}
		if !moved {
			t.Errorf("%s: the average is the weights", name)
		}
	}
}

func TestAveragedRunResumesWithTheSameBytes(t *testing.T) {
	c, d := tiny(14)
	c.EMA = config.Average{Decay: 0.9, WarmUp: true}
	whole, parts := t.TempDir(), t.TempDir()
	mustTrain(t, c, Data{Train: d, Validation: d}, Options{Dir: whole})
	for _, limit := range []int{1, 5, 8, 14} {
		mustTrain(t, c, Data{Train: d, Validation: d}, Options{Dir: parts, Limit: limit})
	}
	sameWeights(t, "stopped three times", whole, parts)
	read := func(dir string) []byte {
		data, err := os.ReadFile(filepath.Join(dir, checkpoint.Name(14), checkpoint.AverageFile))
		must.Do(t, err)
		return data
	}
	if !bytes.Equal(read(whole), read(parts)) {
		t.Error("the averages differ")
	}
}

func TestEvaluationsUseTheAveragedWeights(t *testing.T) {
	c, d := tiny(10)
	c.EMA.Decay = 0.95
	dir := t.TempDir()
	events := mustTrain(t, c, Data{Train: d, Query: d}, Options{Dir: dir})
	during := events[len(events)-2].Result
	m, err := evaluation.Open(dir, cpu.New(1), nil, false)
	must.Do(t, err)
	defer m.Close()
	if v := values(t, dir, checkpoint.AverageFile, "fc.weight"); !slices.Equal(exported(t, m, "fc.weight"), v) {
		t.Error("an opened run has other weights than the averages")
	}
	after, err := m.Evaluate(context.Background(), d, nil, retrieval.Evaluation{Metrics: hierarchical(t)})
	if err != nil || after.Mean("H-AP") != during.Mean("H-AP") {
		t.Errorf("H-AP %v, %v; in the run %v", after.Mean("H-AP"), err, during.Mean("H-AP"))
	}
	c.EMA.Decay = 0
	other := t.TempDir()
	events = mustTrain(t, c, Data{Train: d, Query: d}, Options{Dir: other})
	if events[len(events)-2].Result.Mean("H-AP") == during.Mean("H-AP") {
		t.Error("the average makes no difference")
	}
	want := values(t, other, checkpoint.ModelFile, "fc.weight")
	if !slices.Equal(values(t, dir, checkpoint.ModelFile, "fc.weight"), want) {
		t.Error("to evaluate the average changes the training")
	}
}

func exported(t *testing.T, m *evaluation.Model, name string) []float32 {
	t.Helper()
	tensors, err := m.Weights()
	must.Do(t, err)
	i := slices.IndexFunc(tensors, func(t tensorfile.Tensor) bool { return t.Name == name })
	v, err := tensors[i].Float32()
	must.Do(t, err)
	return v
}

func TestParametersWithoutDecayAreThoseNamed(t *testing.T) {
	c, d := tiny(1)
	noDecay := func(rules ...string) []string {
		c.Optim.NoDecay = rules
		r, err := New(c, Data{Train: d}, Options{Backend: cpu.New(1)})
		must.Do(t, err)
		defer r.Close()
		var names []string
		for i, g := range r.network.Store.Groups {
			for _, p := range g.Params {
				for _, s := range r.step.Update.Groups()[i].Spans {
					if s.NoDecay && p.Value.Off >= s.Lo && p.Value.Off < s.Hi {
						names = append(names, p.Name())
					}
				}
			}
		}
		return names
	}
	for rules, want := range map[string]string{
		"fc.*":           "fc.weight fc.bias",
		"pooling.p":      "pooling.p",
		"bn1.*":          "",
		"*.bn1.*":        "backbone.bn1.weight backbone.bn1.bias",
		"bias fc.weight": "backbone.bn1.bias backbone.bn2.bias backbone.bn3.bias fc.weight fc.bias",
		"1d": "backbone.bn1.weight backbone.bn1.bias backbone.bn2.weight backbone.bn2.bias backbone.bn3.weight " +
			"backbone.bn3.bias pooling.p fc.bias",
	} {
		if want == "" {
			c.Optim.NoDecay = strings.Fields(rules)
			if _, err := New(c, Data{Train: d}, Options{Backend: cpu.New(1)}); err == nil ||
				!strings.Contains(err.Error(), "matches no parameter") {
				t.Errorf("%s: error %v", rules, err)
			}
			continue
		}
		if got := strings.Join(noDecay(strings.Fields(rules)...), " "); got != want {
			t.Errorf("%s: %s, want %s", rules, got, want)
		}
	}
	c.Optim.NoDecay = []string{"[a"}
	if _, err := New(c, Data{Train: d}, Options{Backend: cpu.New(1)}); err == nil ||
		!strings.Contains(err.Error(), "want \"1d\" or a name") {
		t.Errorf("error %v", err)
	}
}

func TestGradientIsBounded(t *testing.T) {
	c, d := tiny(3)
	c.Optim.Named, c.Optim.Decay, c.Optim.Rate = config.Named{Name: "sgd",
		Settings: map[string]any{"momentum": 0.0, "nesterov": false}}, 0, 1
	c.Schedule.Name = "constant"
	length := func(change func(*config.Config)) float64 {
		bounded := c
		change(&bounded)
		before, after := t.TempDir(), t.TempDir()
		mustTrain(t, bounded, Data{Train: d}, Options{Dir: before, Limit: 1})
		events := mustTrain(t, bounded, Data{Train: d}, Options{Dir: after, Limit: 2})
		if norm := events[1].Norm; norm == nil || !(*norm > 0) {
			t.Errorf("the gradient's norm is given as %v", norm)
		}
		sum, most := 0.0, 0.0
		for _, name := range []string{"backbone.conv1.weight", "backbone.conv2.weight", "backbone.conv3.weight", "fc.weight",
			"fc.bias"} {
			b := values(t, before, checkpoint.ModelFile, name)
			for i, a := range values(t, after, checkpoint.ModelFile, name) {
				move := math.Abs(float64(a - b[i]))
				sum += move * move
				most = max(most, move)
			}
		}
		if bounded.Optim.ClipValue > 0 {
			return most
		}
		return math.Sqrt(sum)
	}
	free := length(func(*config.Config) {})
	if got := length(func(c *config.Config) { c.Optim.Clip = free / 100 }); got > free/99 || got < free/1000 {
		t.Errorf("the weights moved by %v, want at most %v", got, free/100)
	}
	// float32 weights below 1: half a unit of 2^-24 from the difference
	if got := length(func(c *config.Config) { c.Optim.ClipValue = 1e-4 }); got > 1e-4+1e-7 || got < 0.9e-4 {
		t.Errorf("a weight moved by %v, want at most 1e-4", got)
	}
}

func TestProxiesHaveTheirOwnScheduleAndRate(t *testing.T) {
	c, d := tiny(4)
	c.Loss.Name, c.Optim.ProxyRate = "nsm", 10
	c.Schedule.Proxies = config.Named{Name: "cosine", Settings: map[string]any{"min": 0.1}}
	r, err := New(c, Data{Train: d}, Options{Backend: cpu.New(1)})
	must.Do(t, err)
	defer r.Close()
	for at, want := range map[int][2]float64{0: {3e-3, 10}, 2: {1.5e-3, 5.05}, 4: {0, 0.1}} {
		r.step.Update.Adjust(at)
		groups := r.step.Update.Groups()
		net, proxies := groups[0].Eta, groups[len(groups)-1].Eta
		if math.Abs(net-want[0]) > 1e-12 || math.Abs(proxies-want[1]) > 1e-12 {
			t.Errorf("after %d of 4 steps the rates are %v and %v, want %v", at, net, proxies, want)
		}
	}
}

// A loss that mixes rows draws from the key of the step: with one key for all steps
// every step would mix alike.
func TestRandomNumbersDependOnTheStep(t *testing.T) {
	c, d := tiny(3)
	r, err := New(c, Data{Train: d}, Options{Backend: cpu.New(1)})
	must.Do(t, err)
	defer r.Close()
	for want := range 3 {
		if _, err := awaited(r.step.Queue(r.loader.NewBatch(), 0)); err != nil {
			t.Fatal(err)
		}
		key := make([]byte, 8)
		must.Do(t, r.o.Backend.Wait(r.o.Backend.Download(key, r.network.Store.Key)))
		if key[0] != byte(c.Seed) || key[4] != byte(want) {
			t.Errorf("key % x in step %d", key, want)
		}
	}
}

// A step tells of the terms of its loss, of each rate, and of the gradient. The weighted terms add
// up to the loss; in two passes they are the same as in one.
func TestStepsTellOfTermsAndRates(t *testing.T) {
	c, d := tiny(3)
	c.Loss.Name, c.Optim.HeadFactor, c.Optim.ProxyRate = "happier", 2, 0.25
	c.Schedule = config.Schedule{Named: config.Named{Name: "constant"}, Freeze: 1, Frozen: []string{config.BackboneGroup}}
	c.Model.FreezeNorm = true // which chunks need
	for _, passes := range []config.Passes{{}, {Chunk: 8}} {
		c.Passes = passes
		for _, e := range mustTrain(t, c, Data{Train: d}, Options{}) {
			if e.Kind != Stepped {
				continue
			}
			sum, names := 0.0, ""
			for _, term := range e.Terms {
				sum += term.Weight * float64(term.Value)
				names += term.Name + " "
			}
			if names != "sup_h_ap nsm " || math.Abs(sum-*e.Loss) > 1e-6*math.Abs(*e.Loss)+1e-7 { // float32
				t.Errorf("step %d: terms %+v, loss %v", e.Step, e.Terms, *e.Loss)
			}
			rate := c.Optim.Rate
			if e.Step == 1 {
				rate = 0
			}
			if e.Rate != rate || e.HeadRate != 2*c.Optim.Rate || e.ProxyRate != 0.25 || e.Norm == nil || *e.Norm <= 0 {
				t.Errorf("step %d: rates %v, %v, %v, norm %v", e.Step, e.Rate, e.HeadRate, e.ProxyRate, e.Norm)
			}
		}
	}
	c.Loss.Name, c.Passes = "smooth-ap", config.Passes{}
	for _, e := range mustTrain(t, c, Data{Train: d}, Options{}) {
		if e.Kind == Stepped && (len(e.Terms) != 0 || e.ProxyRate != 0) {
			t.Errorf("a loss of one term: %+v", e)
		}
	}
}

// Proxies start as their authors' do: uniform within 1/√D, or normal for ProxyNCA++.
// A classifier starts from 0.
func TestParametersOfALossStartAsTheirAuthorsHaveThem(t *testing.T) {
	for name, want := range map[string]float64{"nsm": 1 / math.Sqrt(3*8), "nca-pp": 1.0 / 8, "proxy-nca": 1.0 / 8,
		"cross-entropy": 0} {
		c, d := tiny(1)
		c.Loss.Name, c.Model.Dim = name, 8
		r, err := New(c, Data{Train: d}, Options{Backend: cpu.New(1)})
		must.Do(t, err)
		sum, n := 0.0, 0
		for _, v := range valuesOf(t, r.network.Backend, r.step.Objective.Params[0].Value) {
			sum, n = sum+v*v, n+1
		}
		if got := math.Sqrt(sum / float64(n)); math.Abs(got-want) > 0.15*want { // of 128 numbers
			t.Errorf("%s: deviation %v, want %v", name, got, want)
		}
		must.Do(t, r.Close())
	}
}

func TestOperatingRegionIsRecordedWithoutChangingTheRun(t *testing.T) {
	c, set := tiny(3)
	plain := mustTrain(t, c, Data{Train: set}, Options{})
	c.Run.Log = []string{"region"}
	logged := mustTrain(t, c, Data{Train: set}, Options{})
	for i, v := range losses(plain) {
		if losses(logged)[i] != v {
			t.Errorf("step %d has another loss", i+1)
		}
	}
	for i := range plain {
		if plain[i].Region != nil {
			t.Error("a region was recorded unasked")
		}
		if r := logged[i].Region; logged[i].Kind == Stepped && (r == nil || *r <= 0 || *r > 1) {
			t.Errorf("step %d has the region %v", logged[i].Step, r)
		}
	}
	c.Run.Log = []string{"regoin"}
	if err := c.Check(); err == nil || !strings.Contains(err.Error(), `did you mean "region"`) {
		t.Errorf("%v", err)
	}
}
