package backbone_test

import (
	"math"
	"strings"
	"testing"

	"hgld/internal/tensorfile"
	"hgld/internal/testing/goldens/traces"
	"hgld/internal/testing/must"
	"hgld/train/backbone"
	"hgld/train/device"
	"hgld/train/device/cpu"
	"hgld/train/grad"
	"hgld/train/loss"
	"hgld/train/nn"
	"hgld/train/nn/testing/nntest"
	"hgld/train/optim"
)

// trainer is the net of goldens/trace with its images and its loss, ready to step.
// Groups of the store are the backbone, the head and, if the loss has any, its
// proxies.
type trainer struct {
	b      device.Backend
	arena  *device.Arena
	store  *nn.Store
	net    *backbone.Retrieval
	images device.Array // [32,16,16,4]
	labels []int64      // [32,3]
	loss   func(*grad.Tape, *grad.Var) *grad.Var
}

func newTrainer(t *testing.T, b device.Backend, f *tensorfile.File, seed, bn, lossName string) *trainer {
	t.Helper()
	if bn != "train" && bn != "frozen" {
		t.Fatalf("unknown bn %q", bn)
	}
	tr := &trainer{b: b, store: nn.NewStore()}
	labels, err := f.Tensor("labels")
	must.Do(t, err)
	if tr.labels, err = labels.Int64(); err != nil {
		t.Fatal(err)
	}
	tr.arena = device.NewArena(tr.b)
	head := backbone.Head{Pooling: pooling(t, "gem"), Standard: standard(t, "layernorm"), Dim: 16}
	spec := backbone.Convnet{Widths: []int{16, 32}, Strides: []int{2, 2}}
	tr.net = backbone.NewRetrieval(tr.store, spec, backbone.Options{FreezeNorm: bn == "frozen"}, head)
	bind := tr.newLoss(t, lossName)
	tr.store.Build(tr.b, 0)
	bind()
	tensors, err := tr.store.Export(tr.b)
	must.Do(t, err)
	traces.Start(t, f, seed, tensors, func(tensorfile.Tensor) bool { return false })
	must.Do(t, tr.store.Import(tr.b, tensors, ""))
	tr.images = uploadImages(tr.b, read(t, f, "init."+seed+"/x"), 32, 3, 16, 16)
	return tr
}

// newLoss sets the named loss, as the released code computes it. Its parameters
// are in the store, and bind, after Build, gives them their arrays.
func (tr *trainer) newLoss(t *testing.T, name string) (bind func()) {
	t.Helper()
	if name == definition {
		tr.loss = smoothAP(t, tr.labels, 0.01)
		return func() {}
	}
	released, err := loss.Presets.Get("preset", "released")
	must.Do(t, err)
	kind, err := released.Get("loss", name)
	must.Do(t, err)
	l, err := kind.New(loss.Facts{Classes: []int{8, 4, 2}, Dim: 16})
	must.Do(t, err)
	bind = func() {}
	if trained, ok := l.(loss.Trained); ok {
		var params []*nn.Param
		for _, p := range trained.Params() {
			params = append(params, tr.store.Group("proxies").Param(p.Name, nn.UniformFan(p.FanIn), p.Dims...))
		}
		bind = func() {
			for i, p := range trained.Params() {
				p.Value, p.Grad = params[i].Value, params[i].Grad
			}
		}
	}
	labels, self := device.New(tr.b, device.I32, 32, 3), device.New(tr.b, device.I32, 32)
	putInts(tr.b, labels, tr.labels)
	rows := make([]int64, 32)
	for i := range rows {
		rows[i] = int64(i)
	}
	putInts(tr.b, self, rows)
	tr.loss = func(tape *grad.Tape, e *grad.Var) *grad.Var {
		return l.Forward(tape, &loss.Batch{Query: e, QueryLabels: labels, Gallery: e, GalleryLabels: labels, Self: self})
	}
	return bind
}

// optimizers are those of a case: one for the net, one for the proxies.
func (tr *trainer) optimizers(t *testing.T, c traces.Case) []*optim.Optimizer {
	kind, err := optim.All.Get("optimizer", traces.Rule(c.Optimizer.Kind))
	must.Do(t, err)
	var net, proxies []*optim.Group
	for _, g := range tr.store.Groups {
		group := &optim.Group{
			Name: g.Name, Weights: g.Values, Grads: g.Grads, Rate: c.Optimizer.LR, Decay: c.Optimizer.WeightDecay,
		}
		switch g.Name {
		case "backbone":
			net = append(net, group)
		case "head":
			group.Rate *= c.Optimizer.HeadMult
			net = append(net, group)
		case "proxies":
			group.Rate, group.Decay = c.Optimizer.ProxyLR, 0
			proxies = append(proxies, group)
		}
	}
	return []*optim.Optimizer{
		optim.New(tr.b, kind, net...),
		optim.New(tr.b, optim.Adam{Beta1: 0.9, Beta2: 0.999, Eps: 1e-8}, proxies...),
	}
}

func TestGoldenTrace(t *testing.T) {
	var cases struct{ Traces []traces.Case }
	f := traces.Open(t, &cases)
	for _, c := range cases.Traces {
		c.Loss = traces.Loss(c.Loss, c.Parts...)
		t.Run("trace/"+c.Name, func(t *testing.T) { runTrace(t, f, c) })
	}
}

// TestTrainingBySmoothAPByDefinition keeps what package loss does out of it.
func TestTrainingBySmoothAPByDefinition(t *testing.T) {
	var cases struct{ Traces []traces.Case }
	f := traces.Open(t, &cases)
	for _, c := range cases.Traces {
		if c.Loss == "smooth-ap" {
			c.Loss = definition
			runTrace(t, f, c)
		}
	}
}

func TestSteadyStepWithItsLossAllocatesNothing(t *testing.T) {
	f := traces.Open(t, &struct{}{})
	for _, name := range []string{"smooth-ap", "happier"} {
		tr := newTrainer(t, cpu.New(1), f, "a", "train", name)
		tape := grad.NewTape(tr.b, tr.arena)
		emb := tr.net.Forward(tape, tape.Leaf(tr.images, device.Array{}))
		tape.Backward(tr.loss(tape, emb), device.Array{})
		if n := testing.AllocsPerRun(3, tape.Replay); n != 0 {
			t.Errorf("%s: %v allocations in a step", name, n)
		}
	}
}

func runTrace(t *testing.T, f *tensorfile.File, c traces.Case) {
	tr := newTrainer(t, backend(), f, c.Seed, c.BN, c.Loss)
	all := tr.optimizers(t, c)
	tape := grad.NewTape(tr.b, tr.arena)
	x := tape.Leaf(tr.images, device.Array{})
	losses, norms := read(t, f, c.Name+"/loss"), read(t, f, c.Name+"/grad_norm")
	var emb, loss *grad.Var
	for step := range c.Steps {
		for _, g := range all[0].Groups {
			g.Frozen = g.Name == "backbone" && step < c.Optimizer.Freeze
		}
		if step == 0 {
			emb = tape.Keep(tr.net.Forward(tape, x))
			loss = tr.loss(tape, emb)
			tape.Backward(loss, device.Array{})
			nntest.Near(t, "first embedding", download(t, tr.b, emb.Value), read(t, f, c.Name+"/embedding0"), traces.FirstLoss)
			tr.compare(t, f, c.Name+"/grad0.", nntest.Gradients[float64], traces.FirstGrad)
		} else {
			tape.Replay()
		}
		tolLoss, tolNorm := traces.Later, traces.Later
		if step == 0 {
			tolLoss, tolNorm = traces.FirstLoss, traces.FirstGrad
		}
		traces.Within(t, "loss", step, download(t, tr.b, loss.Value)[0], losses[step], tolLoss)
		traces.Within(t, "gradient norm", step, tr.gradNorm(t), norms[step], tolNorm)
		for _, o := range all {
			o.Begin(tr.b)
			o.Step(tr.b, tr.store.Guard)
		}
		if step == 0 {
			tr.compare(t, f, c.Name+"/after1.", nntest.Values[float64], traces.Params)
		}
	}
	tr.compare(t, f, c.Name+"/final.", nntest.Values[float64], traces.Params)
	eval := grad.NewTape(tr.b, tr.arena).Evaluate()
	emb = tr.net.Forward(eval, eval.Leaf(tr.images, device.Array{}))
	nntest.Near(t, "final embedding", download(t, tr.b, emb.Value), read(t, f, c.Name+"/final_embedding_eval"),
		traces.Later)
}

// compare compares every tensor of the net that the file has below prefix with
// what of takes out of the store.
func (tr *trainer) compare(t *testing.T, f *tensorfile.File, prefix string,
	of func(testing.TB, *nn.Store, device.Backend) map[string][]float64, tolerance float64) {
	t.Helper()
	ours := of(t, tr.store, tr.b)
	compared := 0
	for name, got := range ours {
		if key := prefix + traces.Tensor(name); f.Has(key) {
			nntest.Near(t, key, got, read(t, f, key), tolerance)
			compared++
		}
	}
	for _, name := range f.Names() {
		if strings.HasPrefix(name, prefix) {
			compared--
		}
	}
	if compared != 0 {
		t.Errorf("%s: %d tensors too few or too many", prefix, compared)
	}
}

// gradNorm is the L2 norm of the gradients of the net.
func (tr *trainer) gradNorm(t *testing.T) float64 {
	sum := 0.0
	for _, g := range tr.store.Groups[:2] {
		for _, v := range download(t, tr.b, g.Grads) {
			sum += v * v
		}
	}
	return math.Sqrt(sum)
}
