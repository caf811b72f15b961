package backbone_test

import (
	"crypto/sha256"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"hgld/internal/testing/effort"
	"hgld/internal/testing/must"
	"hgld/train/backbone"
	"hgld/train/device"
	"hgld/train/device/cpu"
	"hgld/train/grad"
	"hgld/train/nn"
	"hgld/train/nn/testing/nntest"
	"hgld/train/optim"
)

// noise is n images of side × side, uniform in (−1, 1).
func noise(b device.Backend, n, side int) device.Array {
	r := rand.New(rand.NewPCG(1, 2))
	x := make([]float64, n*3*side*side)
	for i := range x {
		x[i] = 2*r.Float64() - 1
	}
	return uploadImages(b, x, n, 3, side, side)
}

func TestEveryHeadGivesUnitVectors(t *testing.T) {
	for _, pool := range backbone.Poolings {
		if pool.Name == "none" {
			continue // for backbones that give one vector
		}
		for _, st := range backbone.Standards {
			for _, dim := range []int{0, 16} {
				t.Run(fmt.Sprintf("%s/%s/%d", pool.Name, st.Name, dim), func(t *testing.T) {
					givesUnitVectors(t, specOf(t, "convnet"), backbone.Head{Pooling: pool.Value, Standard: st.Value, Dim: dim})
				})
			}
		}
	}
}

// Two blocks of each kind stand for the deep ones, which the goldens run.
func TestEveryKindOfBackboneGivesUnitVectors(t *testing.T) {
	for _, spec := range []backbone.Spec{
		backbone.ResNet{Blocks: []int{1, 1, 1, 1}}, backbone.ResNet{Blocks: []int{1, 1, 1, 1}, Bottleneck: true},
		backbone.ViT{Width: 12, Depth: 2, Heads: 3, Patch: 16, Input: 32},
		backbone.DeiT{ViT: backbone.ViT{Width: 12, Depth: 2, Heads: 3, Patch: 16, Input: 32}, Distilled: true},
	} {
		pool := "avg"
		if spec.Facts().Vector {
			pool = "none"
		}
		givesUnitVectors(t, spec, backbone.Head{Pooling: pooling(t, pool), Standard: standard(t, "layernorm"), Dim: 16})
	}
}

func givesUnitVectors(t *testing.T, spec backbone.Spec, h backbone.Head) {
	t.Helper()
	b := backend()
	s := nn.NewStore()
	net := backbone.NewRetrieval(s, spec, backbone.Options{}, h)
	s.Build(b, 1)
	tape := grad.NewTape(b, device.NewArena(b)).Evaluate()
	y := net.Forward(tape, tape.Leaf(noise(b, 3, 32), device.Array{}))
	want := h.Dim
	if want == 0 {
		want = net.Backbone.Channels()
	}
	if got := y.Value.Shape(); !slices.Equal(got, []int{3, want}) || spec.Facts().Channels != net.Backbone.Channels() {
		t.Fatalf("%T: %v, want %d columns; its facts say %d channels", spec, got, want, spec.Facts().Channels)
	}
	for row, v := range rowNorms(download(t, b, y.Value), y.Value.Cols()) {
		if math.Abs(v-1) > 1e-6 {
			t.Errorf("%T: row %d has length %v", spec, row, v)
		}
	}
}

// The frozen mean's gradient is that of the learnable one with the same exponent.
func TestPoolingsHaveTheGradientOfTheirDefinition(t *testing.T) {
	of := func(name string) (value, slope []float64) {
		b := backend()
		s := nn.NewStore()
		layer := pooling(t, name).New(s.Group("head"))
		s.Build(b, 1)
		tape := grad.NewTape(b, device.NewArena(b))
		images := noise(b, 2, 6)
		x := tape.Leaf(images, device.New(b, device.F32, images.Shape()...))
		y := layer(tape, x)
		tape.Backward(y, device.Array{})
		return download(t, b, y.Value), download(t, b, x.Grad)
	}
	same := func(what string, parts ...string) {
		value, slope := of(what)
		wantValue, wantSlope := make([]float64, len(value)), make([]float64, len(slope))
		for _, p := range parts {
			v, d := of(p)
			for i := range v {
				wantValue[i] += v[i]
			}
			for i := range d {
				wantSlope[i] += d[i]
			}
		}
		nntest.Near(t, what, value, wantValue, 1e-6)
		nntest.Near(t, "gradient of "+what, slope, wantSlope, 1e-6)
	}
	same("gem-frozen", "gem")
	same("mean-max", "avg", "max")
}

func rowNorms(x []float64, cols int) []float64 {
	var norms []float64
	for ; len(x) > 0; x = x[cols:] {
		sum := 0.0
		for _, v := range x[:cols] {
			sum += v * v
		}
		norms = append(norms, math.Sqrt(sum))
	}
	return norms
}

func TestNamesAreThoseOfCheckpoints(t *testing.T) {
	b := backend()
	s, _ := convnet(t, b, false)
	all := nntest.Values[float64](t, s, b)
	for name, n := range map[string]int{
		"backbone.conv1.weight": 32 * 3 * 9, "backbone.bn4.running_var": 128, "backbone.bn2.bias": 64,
		"pooling.p": 1, "fc.weight": 64 * 128, "fc.bias": 64,
	} {
		if len(all[name]) != n {
			t.Errorf("%s has %d numbers, want %d", name, len(all[name]), n)
		}
	}
	for _, p := range s.Groups[1].Params {
		if !slices.Contains([]string{"pooling.p", "fc.weight", "fc.bias"}, p.Name()) {
			t.Errorf("%s is in the head", p.Name())
		}
	}
}

// convnet is the default small net with 64 dimensions.
func convnet(tb testing.TB, b device.Backend, freeze bool) (*nn.Store, *backbone.Retrieval) {
	tb.Helper()
	spec, err := backbone.All.Get("backbone", "convnet")
	must.Do(tb, err)
	s := nn.NewStore()
	net := backbone.NewRetrieval(s, spec, backbone.Options{FreezeNorm: freeze},
		backbone.Head{Pooling: pooling(tb, "gem"), Standard: standard(tb, "layernorm"), Dim: 64})
	s.Build(b, 1)
	return s, net
}

// recorded is a whole step on images, from the forward pass to Adam, with a
// gradient of the embeddings that is a function of them.
func recorded(tb testing.TB, b device.Backend, n, side int) (step func(), arena *device.Arena) {
	s, net := convnet(tb, b, false)
	arena = device.NewArena(b)
	tape := grad.NewTape(b, arena)
	adam, err := optim.All.Get("optimizer", "adam")
	must.Do(tb, err)
	var groups []*optim.Group
	for _, g := range s.Groups {
		groups = append(groups, &optim.Group{Name: g.Name, Weights: g.Values, Grads: g.Grads, Rate: 1e-3})
	}
	o := optim.New(b, adam, groups...)
	emb := net.Forward(tape, tape.Leaf(noise(b, n, side), device.Array{}))
	seed := device.New(b, device.F32, emb.Value.Shape()...)
	b.Fill(seed, 0.1)
	tape.Backward(emb, seed)
	step = func() {
		tape.Replay()
		o.Begin(b)
		o.Step(b, s.Guard)
	}
	return step, arena
}

func TestSteadyStepAllocatesNothing(t *testing.T) {
	b := cpu.New(1)
	step, arena := recorded(t, b, 4, 32)
	step()
	held := arena.Held()
	if n := testing.AllocsPerRun(3, step); n != 0 {
		t.Errorf("%v allocations in a step", n)
	}
	if arena.Held() != held {
		t.Errorf("the arena grew from %d to %d bytes", held, arena.Held())
	}
}

func TestStepIsTheSameOnAnyNumberOfThreads(t *testing.T) {
	run := func(threads int) []float64 {
		b := cpu.New(threads)
		s, net := convnet(t, b, false)
		tape := grad.NewTape(b, device.NewArena(b))
		emb := net.Forward(tape, tape.Leaf(noise(b, 5, 32), device.Array{}))
		tape.Backward(emb, device.Array{})
		return append(download(t, b, s.Groups[0].Grads), download(t, b, s.Groups[1].Grads)...)
	}
	if !slices.Equal(run(1), run(3)) {
		t.Error("one thread and three give different gradients")
	}
}

// TestWeightsAreTheSameInEveryRunOnAnyNumberOfThreads trains with all kinds of
// tiles that convolutions are cut into.
func TestWeightsAreTheSameInEveryRunOnAnyNumberOfThreads(t *testing.T) {
	trained := func(threads int) [sha256.Size]byte {
		b := cpu.New(threads)
		store, step := classification{"resnet18", 64, 6, false}.train(t, b)
		step()
		step()
		tensors, err := store.Export(b)
		must.Do(t, err)
		hash := sha256.New()
		for _, x := range tensors {
			hash.Write(x.Data)
		}
		return [sha256.Size]byte(hash.Sum(nil))
	}
	want := trained(1)
	threads := []int{2}
	if effort.Exhaustive() {
		threads = []int{2, 2, 3}
	}
	for _, threads := range threads {
		if got := trained(threads); got != want {
			t.Errorf("%d threads: weights of hash %x, want %x", threads, got, want)
		}
	}
}

func TestRecomputedNetHasTheSameGradientInLessMemory(t *testing.T) {
	run := func(recompute bool) ([]float64, int) {
		b := backend()
		s, net := convnet(t, b, true)
		arena := device.NewArena(b)
		tape := grad.NewTape(b, arena)
		x := tape.Leaf(noise(b, 8, 32), device.Array{})
		if recompute {
			tape.Backward(tape.Recompute(net.Forward, x), device.Array{})
		} else {
			tape.Backward(net.Forward(tape, x), device.Array{})
		}
		return download(t, b, s.Groups[0].Grads), arena.Peak()
	}
	want, _ := run(false)
	got, _ := run(true)
	nntest.Near(t, "gradient", got, want, 0)
}
