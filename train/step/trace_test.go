package step

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"hgld/internal/tensorfile"
	"hgld/internal/testing/goldens/traces"
	"hgld/internal/testing/must"
	"hgld/labels"
	"hgld/train/checkpoint"
	"hgld/train/config"
	"hgld/train/device"
	"hgld/train/device/cpu"
	"hgld/train/device/testing/conformance"
	"hgld/train/input"
	"hgld/train/network"
)

// traceCase is a training of goldens/trace.
type traceCase traces.Case

// config is the configuration of a trace.
func (c traceCase) config(t *testing.T) config.Config {
	t.Helper()
	d := config.Default()
	d.Input.Size, d.Input.Resize = 16, 16
	d.Model.Backbone.Settings = map[string]any{"widths": []int{16, 32}, "strides": []int{2, 2}}
	d.Model.FreezeNorm, d.Model.Dim = c.BN == "frozen", 16
	d.Loss = config.Loss{Named: config.Named{Name: traces.Loss(c.Loss, c.Parts...)}, Preset: "released"}
	d.Sampler.Batch, d.Sampler.M = 32, 4
	d.Optim = config.Optim{
		Named: config.Named{Name: traces.Rule(c.Optimizer.Kind)}, Rate: c.Optimizer.LR, HeadFactor: c.Optimizer.HeadMult,
		ProxyRate: c.Optimizer.ProxyLR, Decay: c.Optimizer.WeightDecay,
	}
	d.Schedule.Name, d.Schedule.Freeze = "constant", c.Optimizer.Freeze
	d.Steps = c.Steps
	return d
}

// given is a backend whose Pixels gives the floating-point images of the traces.
type given struct {
	device.Backend
	images device.Array
}

// Pixels gives the images of the rows that bytes are, which may be a part of the
// batch.
func (g given) Pixels(dst, bytes, _ device.Array, _ device.Pixel) {
	first := bytes.Off / (bytes.Len() / bytes.Dims[0])
	g.Backend.Copy(dst, g.images.RowRange(first, first+dst.Dims[0]))
}

// TestGoldenTrace takes the steps of the traces as a run takes them: recorded,
// replayed, with its optimizers, warm-up and guard.
func TestGoldenTrace(t *testing.T) {
	var cases struct{ Traces []traceCase }
	f := traces.Open(t, &cases)
	for _, c := range cases.Traces {
		t.Run("trace/"+c.Name, func(t *testing.T) { c.run(t, f) })
	}
}

func (c traceCase) run(t *testing.T, f *tensorfile.File) {
	config := c.config(t)
	s, b := c.step(t, f, &config)
	for i := range c.Steps {
		got, err := wait(s.Queue(b, i))
		if err != nil || !got.Finite {
			t.Fatalf("step %d: %+v, %v", i, got, err)
		}
		loss, norm := traces.Later, traces.Later
		if i == 0 {
			loss, norm = traces.FirstLoss, traces.FirstGrad
		}
		traces.Within(t, "loss", i, got.Loss, c.Losses[i], loss)
		traces.Within(t, "gradient norm", i, gradientNorm(t, s.n), c.Norms[i], norm)
	}
	c.compareFinal(t, f, s.n)
}

// step is the step of a trace at its start, with its one batch.
func (c traceCase) step(t *testing.T, f *tensorfile.File, config *config.Config) (*Step, *input.Batch) {
	t.Helper()
	p, err := config.Resolve()
	must.Do(t, err)
	backend := conformance.CardOr(t, cpu.New(2))
	n := network.New(given{backend, images(t, backend, f, "init."+c.Seed+"/x")}, config, &p, nil)
	b := &input.Batch{Work: input.Work{Rows: make([]int, 32)}, Pixels: make([]byte, 32*16*16*3), Crop: make([]int32, 32*3)}
	classes, err := f.Float32("labels")
	must.Do(t, err)
	var rows []labels.Path
	for i, l := range classes {
		b.Labels = append(b.Labels, int32(l))
		if i%3 == 2 {
			rows = append(rows, b.Labels[i-2:])
		}
	}
	s, err := New(n, config, &p, rows, []int{8, 4, 2}, 1)
	must.Do(t, err)
	c.start(t, f, n)
	return s, b
}

// start puts the start values of the trace into the store.
func (c traceCase) start(t *testing.T, f *tensorfile.File, n *network.Network) {
	t.Helper()
	tensors, err := n.Store.Export(n.Backend)
	must.Do(t, err)
	traces.Start(t, f, c.Seed, tensors, checkpoint.ForTraining)
	must.Do(t, n.Store.Import(n.Backend, tensors, ""))
}

// compareFinal compares parameters, running statistics and proxies in relative L2.
func (c traceCase) compareFinal(t *testing.T, f *tensorfile.File, n *network.Network) {
	t.Helper()
	tensors, err := n.Store.Export(n.Backend)
	must.Do(t, err)
	compared := 0
	for _, x := range tensors {
		key := c.Name + "/final." + traces.Tensor(x.Name)
		if strings.HasPrefix(x.Name, checkpoint.OptimizerPrefix) {
			continue
		}
		want, err := f.Float64(key)
		must.Do(t, err)
		got, err := x.Float64()
		must.Do(t, err)
		diff, norm := 0.0, 0.0
		for i, w := range want {
			diff += (got[i] - w) * (got[i] - w)
			norm += w * w
		}
		if !(math.Sqrt(diff) <= traces.Params*math.Sqrt(norm)) {
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

// gradientNorm is the norm over backbone and head, proxies not counted.
func gradientNorm(t *testing.T, n *network.Network) float64 {
	t.Helper()
	sum := 0.0
	for _, g := range n.Store.Groups {
		if g.Name == config.ProxyGroup {
			continue
		}
		data := make([]byte, 4*g.Grads.Len())
		must.Do(t, n.Backend.Wait(n.Backend.Download(data, g.Grads)))
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
	must.Do(t, err)
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
