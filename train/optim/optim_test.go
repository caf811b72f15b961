package optim_test

import (
	"math"
	"testing"

	"hgld/train/device"
	"hgld/train/device/cpu"
	"hgld/train/device/testing/conformance"
	"hgld/train/optim"
)

// weights makes one group of the given weights and gradients.
func weights(b device.Backend, w, g []float64) *optim.Group {
	return &optim.Group{Name: "net", Weights: upload(b, w), Grads: upload(b, g), Rate: 0.1, Decay: 0.01}
}

// count is a whole number on the device.
func count(t *testing.T, b device.Backend, n device.Array) []float64 {
	f := device.New(b, device.F32, n.Len())
	b.Copy(f, n)
	return download(t, b, f)
}

func TestNothingMovesWhileTheFlagIsSet(t *testing.T) {
	for _, b := range backends(t) {
		for _, e := range optim.All {
			g := weights(b, []float64{1, 2}, []float64{3, math.NaN()})
			o := optim.New(b, e.Value, g)
			ema := optim.NewEMA(b, 0.5, false, g.Weights)
			b.Copy(ema.Averages[0], upload(b, []float64{5, 6}))
			flag := device.New(b, device.I32, 1)
			b.Fill(flag, 0)
			b.Guard(flag, g.Grads)
			o.Begin(b)
			o.Step(b, flag)
			ema.Step(b, flag)
			near(t, e.Name+" weights", download(t, b, g.Weights), []float64{1, 2}, 0)
			near(t, e.Name+" moment", download(t, b, g.Moments[0]), []float64{0, 0}, 0)
			near(t, e.Name+" average", download(t, b, ema.Averages[0]), []float64{5, 6}, 0)
			near(t, e.Name+" steps", append(count(t, b, g.Steps), count(t, b, ema.Steps)...), []float64{0, 0}, 0)
		}
	}
}

func TestIdleGroupKeepsWeightsMomentsAndCount(t *testing.T) {
	for _, b := range backends(t) {
		frozen, head := weights(b, []float64{1}, []float64{1}), weights(b, []float64{1}, []float64{1})
		frozen.Frozen = true
		o := optim.New(b, optim.All[0].Value, frozen, head)
		for range 3 {
			o.Begin(b)
			o.Step(b, device.Array{})
		}
		near(t, "steps of the frozen group", count(t, b, frozen.Steps), []float64{0}, 0)
		near(t, "steps of the other", count(t, b, head.Steps), []float64{3}, 0)
		near(t, "frozen", download(t, b, frozen.Weights), []float64{1}, 0)
		near(t, "moment", download(t, b, frozen.Moments[0]), []float64{0}, 0)
		if w := download(t, b, head.Weights)[0]; w > 0.72 || w < 0.68 {
			t.Errorf("%s: the head went to %v in three steps of 0.1", b.Name(), w)
		}
	}
}

// Adam's first step is the rate whatever the size of the gradient: its moments are
// in proportion, and the corrections undo their small beginnings.
func TestFirstAdamStepIsTheRate(t *testing.T) {
	for _, b := range backends(t) {
		g := weights(b, []float64{0, 0, 0}, []float64{1e-4, -3, 50})
		g.Decay = 0
		o := optim.New(b, optim.Adam{Beta1: 0.9, Beta2: 0.999, Eps: 1e-12}, g)
		o.Begin(b)
		o.Step(b, device.Array{})
		near(t, b.Name(), download(t, b, g.Weights), []float64{-0.1, 0.1, -0.1}, 1e-6)
	}
}

func TestNormOfNoNumberSetsTheFlag(t *testing.T) {
	for _, b := range backends(t) {
		g := weights(b, []float64{1}, []float64{3e38}) // the square is beyond float32
		o := optim.New(b, optim.SGD{}, g)
		flag := device.New(b, device.I32, 1)
		b.Fill(flag, 0)
		o.Begin(b)
		optim.NewNormClip(b, 1).Apply(b, flag, g)
		o.Step(b, flag)
		near(t, b.Name(), download(t, b, g.Weights), []float64{1}, 0)
	}
}

func TestNormClipOfNoGradientIsHarmless(t *testing.T) {
	for _, b := range backends(t) {
		g := weights(b, []float64{1, 1}, []float64{0, 0})
		g.Decay = 0
		o := optim.New(b, optim.SGD{}, g)
		o.Begin(b)
		c := optim.NewNormClip(b, 0.5)
		c.Apply(b, device.New(b, device.I32, 1), g)
		o.Step(b, device.Array{})
		near(t, "weights", download(t, b, g.Weights), []float64{1, 1}, 0)
		near(t, "norm", download(t, b, c.Norm.Value), []float64{0}, 0)
	}
}

func TestValueClipLeavesSmallValuesBitwise(t *testing.T) {
	for _, b := range backends(t) {
		small := float64(float32(1.2345678e-7))
		g := weights(b, []float64{0, 0, 0}, []float64{small, 7, -7})
		optim.NewValueClip(b, 3, 3).Apply(b, g)
		near(t, b.Name(), download(t, b, g.Grads)[:1], []float64{small}, 0)
		near(t, b.Name(), download(t, b, g.Grads)[1:], []float64{3, -3}, 0)
	}
}

func TestSwapTwiceChangesNothing(t *testing.T) {
	for _, b := range backends(t) {
		w := upload(b, []float64{1, 2})
		e := optim.NewEMA(b, 0.5, false, w)
		put(b, w, []float64{3, 4})
		e.Step(b, device.Array{})
		e.Swap(b)
		near(t, "averages in place", download(t, b, w), []float64{2, 3}, 0)
		e.Swap(b)
		near(t, "weights back", download(t, b, w), []float64{3, 4}, 0)
	}
}

func TestSteadyStepAllocatesNothing(t *testing.T) {
	for _, b := range backends(t) {
		if b.Name() == "host" {
			continue // its loops are closures
		}
		for _, e := range optim.All {
			g := weights(b, make([]float64, 40), make([]float64, 40))
			o := optim.New(b, e.Value, g)
			c, v := optim.NewNormClip(b, 1), optim.NewValueClip(b, 1, 40)
			ema := optim.NewEMA(b, 0.9, true, g.Weights)
			flag := device.New(b, device.I32, 1)
			b.Fill(flag, 0)
			step := func() {
				o.Begin(b)
				v.Apply(b, g)
				c.Apply(b, flag, o.Groups...)
				o.Step(b, flag)
				ema.Step(b, flag)
			}
			if n := testing.AllocsPerRun(10, step); n != 0 {
				t.Errorf("%s, %s: %v allocations in a step", b.Name(), e.Name, n)
			}
		}
	}
}

// Elements without decay are stepped like those of a group without decay, also where the
// gradient is bounded. All others are stepped as if there were no spans.
func TestNoDecayElementsAreNotDecayed(t *testing.T) {
	w, g := []float64{1, -2, 3, 4, -5, 6, 7}, []float64{0.3, 0.1, -0.2, 0.5, 0.7, -0.1, 0.2}
	for _, b := range backends(t) {
		for _, e := range optim.All {
			step := func(change func(*optim.Group)) []float64 {
				group := weights(b, w, g)
				group.Decay = 0.5
				change(group)
				o := optim.New(b, e.Value, group)
				clip := optim.NewNormClip(b, 0.4)
				flag := device.New(b, device.I32, 1)
				b.Fill(flag, 0)
				for range 3 {
					o.Begin(b)
					clip.Apply(b, flag, group)
					o.Step(b, flag)
				}
				return download(t, b, group.Weights)
			}
			decayed := step(func(*optim.Group) {})
			plain := step(func(g *optim.Group) { g.Decay = 0 })
			got := step(func(g *optim.Group) {
				g.Spans = []optim.Span{{Lo: 0, Hi: 2, NoDecay: true}, {Lo: 4, Hi: 5, NoDecay: true},
					{Lo: 5, Hi: 6, NoDecay: true}}
			})
			want := append(append(append([]float64{}, plain[:2]...), decayed[2:4]...), plain[4:6]...)
			near(t, e.Name, got, append(want, decayed[6]), 0)
			if decayed[0] == plain[0] {
				t.Errorf("%s: the decay changes nothing", e.Name)
			}
		}
	}
}

// A span with a factor is stepped like a group whose rate is that share, its decay included.
func TestSpansHaveAShareOfTheRate(t *testing.T) {
	w, g := []float64{1, -5, 3, 4}, []float64{0.3, 0.1, -0.2, 0.5}
	for _, b := range backends(t) {
		for _, e := range optim.All {
			step := func(change func(*optim.Group)) []float64 {
				group := weights(b, w, g)
				group.Decay = 0.5
				change(group)
				o := optim.New(b, e.Value, group)
				flag := device.New(b, device.I32, 1)
				b.Fill(flag, 0)
				for range 3 {
					o.Begin(b)
					o.Step(b, flag)
				}
				return download(t, b, group.Weights)
			}
			whole := step(func(*optim.Group) {})
			quarter := step(func(g *optim.Group) { g.Rate /= 4 })
			bare := step(func(g *optim.Group) { g.Rate, g.Decay = g.Rate/4, 0 })
			got := step(func(g *optim.Group) {
				g.Spans = []optim.Span{{Lo: 1, Hi: 2, Factor: 0.25}, {Lo: 2, Hi: 3, Factor: 0.25, NoDecay: true}}
			})
			near(t, e.Name, got, []float64{whole[0], quarter[1], bare[2], whole[3]}, 0)
			if whole[1] == quarter[1] || bare[2] == quarter[2] {
				t.Errorf("%s: rate or decay change nothing", e.Name)
			}
		}
	}
}

func TestSpansOutsideTheGroupPanic(t *testing.T) {
	for _, spans := range [][]optim.Span{{{Lo: 1, Hi: 4}}, {{Lo: 1, Hi: 2}, {Lo: 0, Hi: 1}}, {{Lo: 2, Hi: 1}}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("spans %v of 3 elements were taken", spans)
				}
			}()
			b := backends(t)[0]
			g := weights(b, []float64{1, 2, 3}, []float64{0, 0, 0})
			g.Spans = spans
			optim.New(b, optim.All[0].Value, g)
		}()
	}
}

// backends are those that every case runs on: the definition, and the CPU's own or a GPU.
func backends(t *testing.T) []device.Backend {
	t.Helper()
	b := cpu.New(0)
	b.Poison = true
	return []device.Backend{host{}, conformance.CardOr(t, b)}
}
