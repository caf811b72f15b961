package optim_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"path/filepath"
	"testing"

	"hgld/internal/tensorfile"
	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
	"hgld/train/device"
	"hgld/train/optim"
)

// names lists the three tensors of every trajectory.
var names = []string{"w", "b", "p"}

type trajectory struct {
	Name, Optimizer string
	Settings        json.RawMessage
	Steps           int
	LRPerStep       []float64 `json:"lr_per_step"`
}

type settings struct {
	LR          float64     `json:"lr"`
	WeightDecay float64     `json:"weight_decay"`
	Momentum    float64     `json:"momentum"`
	Dampening   float64     `json:"dampening"`
	Nesterov    bool        `json:"nesterov"`
	Eps         *float64    `json:"eps"`
	Betas       *[2]float64 `json:"betas"`
}

// kind builds the optimizer of a case with torch's defaults for what is not said.
func kind(t *testing.T, c trajectory) (optim.Kind, settings) {
	var s settings
	strictly(t, c.Settings, &s)
	eps, betas := 1e-8, [2]float64{0.9, 0.999}
	if s.Eps != nil {
		eps = *s.Eps
	}
	if s.Betas != nil {
		betas = *s.Betas
	}
	switch c.Optimizer {
	case "SGD":
		return optim.SGD{Momentum: s.Momentum, Dampening: s.Dampening, Nesterov: s.Nesterov}, s
	case "Adam":
		return optim.Adam{Beta1: betas[0], Beta2: betas[1], Eps: eps}, s
	case "AdamW":
		return optim.AdamW{Beta1: betas[0], Beta2: betas[1], Eps: eps}, s
	}
	t.Fatalf("unknown optimizer %q", c.Optimizer)
	return nil, s
}

// torch float32 itself differs by up to 5.4e-7 in the parameters and 4.6e-5 in
// the accumulated update.
const (
	toleranceParams = 2e-6
	toleranceUpdate = 1e-4

	// 1 − β2 is 1.3e-5 off for β2 = 0.999 in float32 (see Adam.pace), and so is v.
	toleranceMoments = 2e-5
)

func TestGoldenTrajectories(t *testing.T) {
	var cases struct{ Trajectories []trajectory }
	f := open(t, &cases)
	for _, c := range cases.Trajectories {
		t.Run("optim/"+c.Name, func(t *testing.T) {
			for _, b := range backends(t) {
				k, s := kind(t, c)
				runTrajectory(t, b, f, c, k, s)
			}
		})
	}
}

func runTrajectory(t *testing.T, b device.Backend, f *tensorfile.File, c trajectory, k optim.Kind, s settings) {
	var groups []*optim.Group
	for _, name := range names {
		start := read(t, f, c.Name+"/param0."+name)
		groups = append(groups, &optim.Group{
			Name: name, Weights: upload(b, start), Grads: upload(b, start), Rate: s.LR, Decay: s.WeightDecay,
		})
	}
	o := optim.New(b, k, groups...)
	got := make([][]float64, len(names))
	for step := range c.Steps {
		for i, g := range groups {
			n := g.Weights.Len()
			got[i] = append(got[i], download(t, b, g.Weights)...)
			put(b, g.Grads, read(t, f, c.Name+"/grads."+names[i])[step*n:][:n])
			if c.LRPerStep != nil {
				g.Eta = c.LRPerStep[step]
			}
		}
		o.Begin(b)
		o.Step(b, device.Array{})
	}
	for i, g := range groups {
		n := g.Weights.Len()
		got[i] = append(got[i], download(t, b, g.Weights)...)
		want := read(t, f, c.Name+"/trajectory."+names[i])
		near(t, b.Name()+" "+names[i], got[i], want, toleranceParams)
		near(t, b.Name()+" update of "+names[i], less(got[i], got[i][:n]), less(want, want[:n]), toleranceUpdate)
	}
	checkMoments(t, b, f, c, o)
}

// checkMoments compares the moments after the last step; SGD without momentum has
// none in torch.
func checkMoments(t *testing.T, b device.Backend, f *tensorfile.File, c trajectory, o *optim.Optimizer) {
	torch := map[string]string{"m": "exp_avg", "v": "exp_avg_sq", "momentum": "momentum_buffer"}
	for i, g := range o.Groups {
		for j, moment := range o.MomentNames() {
			key := c.Name + "/state." + names[i] + "." + torch[moment]
			if k, ok := o.Kind.(optim.SGD); ok && k.Momentum == 0 {
				if f.Has(key) {
					t.Errorf("%s: a moment that we do not keep", key)
				}
				continue
			}
			near(t, b.Name()+" "+key, download(t, b, g.Moments[j]), read(t, f, key), toleranceMoments)
		}
	}
}

func TestGoldenClipping(t *testing.T) {
	var cases struct {
		Clipping []struct {
			Name, Mode string
			Max        float64
			Total      float64 `json:"total_norm_before"`
		}
	}
	f := open(t, &cases)
	for _, c := range cases.Clipping {
		if c.Mode == "per_tensor_norm" {
			continue // no loss or recipe clips so
		}
		t.Run("optim/"+c.Name, func(t *testing.T) {
			for _, b := range backends(t) {
				var groups []*optim.Group
				for _, name := range names {
					g := read(t, f, c.Name+"/grad."+name)
					groups = append(groups, &optim.Group{Weights: upload(b, g), Grads: upload(b, g), Rate: 1})
				}
				o := optim.New(b, optim.SGD{}, groups...) // w ← g − factor·g
				o.Begin(b)
				norm := clip(t, b, c.Mode, c.Max, groups)
				o.Step(b, device.Array{})
				if c.Mode == "norm" && math.Abs(norm/c.Total-1) > toleranceParams {
					t.Errorf("%s: norm %v, want %v", b.Name(), norm, c.Total)
				}
				for i, g := range groups {
					before := read(t, f, c.Name+"/grad."+names[i])
					want := read(t, f, c.Name+"/clipped."+names[i])
					near(t, b.Name()+" "+names[i], less(before, download(t, b, g.Weights)), want, toleranceParams)
				}
			}
		})
	}
}

// clip applies a mode and returns the norm that it found, if it looks for one.
func clip(t *testing.T, b device.Backend, mode string, limit float64, groups []*optim.Group) float64 {
	flag := device.New(b, device.I32, 1)
	b.Fill(flag, 0)
	switch mode {
	case "norm":
		c := optim.NewNormClip(b, limit)
		c.Apply(b, flag, groups...)
		return download(t, b, c.Norm.Value)[0]
	case "value":
		optim.NewValueClip(b, limit, 20).Apply(b, groups...)
	default:
		t.Fatalf("unknown mode %q", mode)
	}
	return 0
}

func TestGoldenAverages(t *testing.T) {
	var cases struct {
		EMA []struct {
			Name   string
			Decay  float64
			Warmup bool      `json:"decay_warmup"`
			Steps  []float64 `json:"decay_per_step"`
		} `json:"ema"`
	}
	f := open(t, &cases)
	for _, c := range cases.EMA {
		t.Run("optim/"+c.Name, func(t *testing.T) {
			for _, b := range backends(t) {
				for _, name := range names {
					path := read(t, f, c.Name+"/params."+name)
					n := len(path) / (len(c.Steps) + 1)
					w := upload(b, path[:n])
					e := optim.NewEMA(b, c.Decay, c.Warmup, w)
					got := download(t, b, e.Averages[0])
					for step := range c.Steps {
						put(b, w, path[(step+1)*n:][:n])
						e.Step(b, device.Array{})
						got = append(got, download(t, b, e.Averages[0])...)
					}
					near(t, b.Name()+" "+name, got, read(t, f, c.Name+"/ema."+name), toleranceParams)
				}
			}
		})
	}
}

// open reads cases.json into cases and opens the arrays beside it.
func open(t *testing.T, cases any) *tensorfile.File {
	t.Helper()
	dir := goldens.Dir(t, "optim")
	goldens.ReadJSON(t, filepath.Join(dir, "cases.json"), cases)
	f, err := tensorfile.OpenSafetensors(filepath.Join(dir, "optim.safetensors"))
	must.Do(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

// strictly decodes JSON in which every key must have its meaning.
func strictly(t *testing.T, data []byte, v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	must.Do(t, d.Decode(v))
}

func read(t *testing.T, f *tensorfile.File, name string) []float64 {
	t.Helper()
	v, err := f.Float64(name)
	must.Do(t, err)
	return v
}

func upload(b device.Backend, values []float64) device.Array {
	a := device.New(b, device.F32, len(values))
	put(b, a, values)
	return a
}

func put(b device.Backend, a device.Array, values []float64) {
	data := make([]byte, 0, 4*len(values))
	for _, v := range values {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(v)))
	}
	b.Upload(a, data)
}

func download(t *testing.T, b device.Backend, a device.Array) []float64 {
	t.Helper()
	data := make([]byte, 4*a.Len())
	b.Download(data, a)
	must.Do(t, b.Sync())
	values := make([]float64, a.Len())
	for i := range values {
		values[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:])))
	}
	return values
}

// less subtracts b, repeated, from a.
func less(a, b []float64) []float64 {
	d := make([]float64, len(a))
	for i, v := range a {
		d[i] = v - b[i%len(b)]
	}
	return d
}

// near compares in relative L2.
func near(t *testing.T, what string, got, want []float64, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d values, want %d", what, len(got), len(want))
		return
	}
	diff, norm := 0.0, 0.0
	for i, v := range want {
		diff += (got[i] - v) * (got[i] - v)
		norm += v * v
	}
	if diff = math.Sqrt(diff); !(diff <= tolerance*math.Sqrt(norm)) {
		t.Errorf("%s: off by %.3g of %.3g, tolerance %g", what, diff, math.Sqrt(norm), tolerance)
	}
}
