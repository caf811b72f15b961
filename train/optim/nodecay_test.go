package optim_test

import (
	"testing"

	"hgld/train/device"
	"hgld/train/optim"
)

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
