package optim_test

import (
	"math"
	"testing"

	"hgld/train/device"
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
