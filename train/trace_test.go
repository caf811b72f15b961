package train

import (
	"cmp"
	"encoding/binary"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"hgld/internal/goldens"
	"hgld/internal/tensorfile"
	"hgld/train/device"
	"hgld/train/device/cpu"
)

// traceLosses names what goldens/trace calls otherwise: its roadmap is calibrated
// by a contrastive term.
var traceLosses = map[string]string{"roadmap": "roadmap-calibration"}

// Advised by goldens/trace; torch in float32 is a tenth of it away.
const (
	toleranceFirst  = 1e-5
	toleranceNorm   = 1e-4
	toleranceLater  = 1e-3
	toleranceParams = 1e-4
)

type traceCase struct {
	Name, Seed, Loss, BN string
	Optimizer            struct {
		Kind        string
		LR          float64
		HeadMult    float64 `json:"head_mult"`
		WeightDecay float64 `json:"weight_decay"`
		ProxyLR     float64 `json:"proxy_lr"`
		Freeze      int     `json:"freeze_backbone_steps"`
	}
	Steps int
	Loses []float64 `json:"loss_per_step"`
	Norms []float64 `json:"grad_norm_per_step"`
}

// config is the configuration of a trace.
func (c traceCase) config(t *testing.T) Config {
	t.Helper()
	d := Default()
	d.Input.Size, d.Input.Resize = 16, 16
	d.Model.Backbone.Settings = map[string]any{"widths": []int{16, 32}, "strides": []int{2, 2}}
	d.Model.FreezeNorm, d.Model.Dim = c.BN == "frozen", 16
	d.Loss = Loss{Named: Named{Name: cmp.Or(traceLosses[c.Loss], c.Loss)}, Preset: "released"}
	d.Sampler.Batch, d.Sampler.M = 32, 4
	rule := map[string]string{"adam": "adam", "sgd nesterov 0.9": "sgd"}[c.Optimizer.Kind]
	d.Optim = Optim{
		Named: Named{Name: rule}, Rate: c.Optimizer.LR, HeadFactor: c.Optimizer.HeadMult,
		ProxyRate: c.Optimizer.ProxyLR, Decay: c.Optimizer.WeightDecay,
	}
	d.Schedule.Name, d.Schedule.WarmUp = "constant", c.Optimizer.Freeze
	d.Steps = c.Steps
	return d
}

// given is a backend whose Pixels gives the floating-point images of the traces.
type given struct {
	device.Backend
	images device.Array
}

func (g given) Pixels(dst, _, _ device.Array, _ device.Pixel) { g.Backend.Copy(dst, g.images) }

// TestGoldenTrace takes the steps of the traces as a run takes them: recorded,
// replayed, with its optimizers, warm-up and guard.
func TestGoldenTrace(t *testing.T) {
	dir := goldens.Dir(t, "trace")
	var cases struct{ Traces []traceCase }
	goldens.ReadJSON(t, filepath.Join(dir, "cases.json"), &cases)
	f, err := tensorfile.OpenSafetensors(filepath.Join(dir, "trace.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, c := range cases.Traces {
		t.Run("trace/"+c.Name, func(t *testing.T) { c.run(t, f) })
	}
}

func (c traceCase) run(t *testing.T, f *tensorfile.File) {
	config := c.config(t)
	p, err := config.resolve()
	if err != nil {
		t.Fatal(err)
	}
	backend := cpu.New(2)
	n := newNetwork(given{backend, images(t, backend, f, "init."+c.Seed+"/x")}, &config, &p, nil)
	s, err := newStep(n, &config, &p, []int{8, 4, 2})
	if err != nil {
		t.Fatal(err)
	}
	c.start(t, f, n)
	b := &batch{work: work{rows: make([]int, 32)}, pixels: make([]byte, 32*16*16*3), crop: make([]int32, 32*3)}
	classes, err := f.Float32("labels")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range classes {
		b.labels = append(b.labels, int32(l))
	}
	for i := range c.Steps {
		got, err := s.take(b, i)
		if err != nil || !got.finite {
			t.Fatalf("step %d: %+v, %v", i, got, err)
		}
		loss, norm := toleranceLater, toleranceLater
		if i == 0 {
			loss, norm = toleranceFirst, toleranceNorm
		}
		within(t, "loss", i, got.loss, c.Loses[i], loss)
		within(t, "gradient norm", i, gradientNorm(n), c.Norms[i], norm)
	}
	c.compareFinal(t, f, n)
}

// traceName is what goldens/trace calls a tensor of ours.
func traceName(name string) string {
	name = strings.TrimPrefix(strings.TrimPrefix(name, backbonePrefix), lossPrefix)
	return strings.Replace(name, "pooling.", "pool.", 1)
}

// start puts the start values of the trace into the store.
func (c traceCase) start(t *testing.T, f *tensorfile.File, n *network) {
	t.Helper()
	tensors, err := n.store.Export(n.b)
	if err != nil {
		t.Fatal(err)
	}
	for i, have := range tensors {
		if strings.HasPrefix(have.Name, optimizerPrefix) {
			continue
		}
		if tensors[i], err = f.Tensor("init." + c.Seed + "/" + traceName(have.Name)); err != nil {
			t.Fatal(err)
		}
		tensors[i].Name = have.Name
	}
	if err := n.store.Import(n.b, tensors, ""); err != nil {
		t.Fatal(err)
	}
}

// compareFinal compares parameters, running statistics and proxies in relative L2.
func (c traceCase) compareFinal(t *testing.T, f *tensorfile.File, n *network) {
	t.Helper()
	tensors, err := n.store.Export(n.b)
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, x := range tensors {
		key := c.Name + "/final." + traceName(x.Name)
		if strings.HasPrefix(x.Name, optimizerPrefix) {
			continue
		}
		want, err := f.Float64(key)
		if err != nil {
			t.Fatal(err)
		}
		got, err := x.Float64()
		if err != nil {
			t.Fatal(err)
		}
		diff, norm := 0.0, 0.0
		for i, w := range want {
			diff += (got[i] - w) * (got[i] - w)
			norm += w * w
		}
		if !(math.Sqrt(diff) <= toleranceParams*math.Sqrt(norm)) {
			t.Errorf("%s is off by %.2g of %.2g", key, math.Sqrt(diff), math.Sqrt(norm))
		}
		compared++
	}
	for _, name := range f.Names() {
		if strings.HasPrefix(name, c.Name+"/final.") {
			compared--
		}
	}
	if compared != 0 {
		t.Errorf("%d final tensors too few or too many", compared)
	}
}

func within(t *testing.T, what string, step int, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*math.Abs(want)) {
		t.Errorf("%s of step %d: %v, want %v", what, step, got, want)
	}
}

// gradientNorm is the norm over backbone and head, proxies not counted.
func gradientNorm(n *network) float64 {
	sum := 0.0
	for _, g := range n.store.Groups {
		if g.Name == proxyGroup {
			continue
		}
		data := make([]byte, 4*g.Grads.Len())
		n.b.Download(data, g.Grads)
		for i := 0; i < len(data); i += 4 {
			v := float64(math.Float32frombits(binary.LittleEndian.Uint32(data[i:])))
			sum += v * v
		}
	}
	return math.Sqrt(sum)
}

// images brings [32,3,16,16] to the device as [32,16,16,4].
func images(t *testing.T, b device.Backend, f *tensorfile.File, name string) device.Array {
	t.Helper()
	x, err := f.Float32(name)
	if err != nil {
		t.Fatal(err)
	}
	const n, side = 32, 16
	data := make([]byte, 4*n*side*side*4)
	for i, v := range x {
		image, channel, place := i/(3*side*side), i/(side*side)%3, i%(side*side)
		binary.LittleEndian.PutUint32(data[4*((image*side*side+place)*4+channel):], math.Float32bits(v))
	}
	a := device.New(b, device.F32, n, side, side, 4)
	b.Upload(a, data)
	return a
}
