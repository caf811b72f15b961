package predict

import (
	"math"
	"slices"
	"testing"

	"hgld/internal/testing/must"
	"hgld/train"
	"hgld/train/config"
	"hgld/train/device/cuda/vendor"
	"hgld/train/device/testing/nulldriver"
	"hgld/train/testing/places"
)

// small is a run of a tiny network on drawings.
func small() (config.Config, *places.Set) {
	c := config.Default()
	c.Input.Size, c.Input.Resize, c.Input.Scale = 16, 18, [2]float64{0.5, 1}
	c.Model.Backbone.Settings = map[string]any{"widths": []int{8, 16, 16}, "strides": []int{2, 2, 1}}
	c.Model.Dim = 16
	c.Sampler.Batch, c.Sampler.M = 16, 4
	c.Epochs, c.Steps = 0, 5
	return c, &places.Set{Forms: 4, PerForm: 4, Views: 6, Size: 20}
}

// A prediction takes no GPU, and no library of NVIDIA's, whatever the settings say.
func TestPredictionIsTheSumOfItsOperations(t *testing.T) {
	t.Setenv("HGLD_CUDA_VENDOR", "all")
	t.Setenv(vendor.PlansVariable, "off")
	c, d := small()
	c.Schedule.Freeze = 2
	data := train.Data{Train: d}
	plan, err := train.Plan(c, data)
	must.Do(t, err)
	times := map[string]float64{}
	for name, card := range nulldriver.Cards {
		p, err := predictOn(t, c, data, plan, card)
		must.Do(t, err)
		sum := 0.0
		for _, o := range p.Operations {
			sum += o.Seconds
		}
		if math.Abs(sum-p.StepTime) > 1e-12 || p.Images != float64(plan.Batch)/p.StepTime || p.Launches < 50 {
			t.Errorf("%s: operations take %v, the step %v, %v images/s, %d launches", name, sum, p.StepTime, p.Images,
				p.Launches)
		}
		if !slices.ContainsFunc(p.Operations, func(o Operation) bool { return o.Op == "ConvGradW" && o.Calls == 3 }) {
			t.Errorf("%s: the backbone has no gradient in %+v", name, p.Operations)
		}
		times[name] = p.StepTime
	}
	if times["h200"] >= times["h100"] || times["h100"] >= times["l4"] || len(times) != 5 {
		t.Errorf("the times are %v", times)
	}
	plan.Peak = 1 << 40
	if p, err := predictOn(t, c, data, plan, nulldriver.L4); err != nil || p.Short != 1<<40-24<<30 {
		t.Errorf("%d bytes are short, %v", p.Short, err)
	}
}

func predictOn(t *testing.T, c config.Config, data train.Data, plan *train.Estimate,
	card nulldriver.Card) (*Prediction, error) {
	t.Helper()
	b, err := nulldriver.Open(card)
	must.Do(t, err)
	defer b.Close()
	return Step(c, data, plan, b, nil)
}

// Four GPUs take a step on a quarter of a batch each. All their sums but the last pass during the backward pass.
func TestAPredictedGroupWaitsForItsLastSums(t *testing.T) {
	c, d := small()
	data := train.Data{Train: d}
	plan, err := train.PlanShare(c, data, 4)
	must.Do(t, err)
	of := func(link nulldriver.Link) *Prediction {
		b, err := nulldriver.Open(nulldriver.H100)
		must.Do(t, err)
		defer b.Close()
		p, err := Step(c, data, plan, b, &nulldriver.Group{Cards: 4, Nodes: 1, Link: link})
		must.Do(t, err)
		return p
	}
	p := of(nulldriver.Links["nvlink4"])
	card := 0.0
	for _, o := range p.Operations {
		card += o.Seconds
	}
	if g := p.Group; !(0 < g.Exposed && g.Exposed < g.Seconds) || math.Abs(card+g.Exposed-p.StepTime) > 1e-12 {
		t.Errorf("the GPU takes %v of %v s, and the group is %+v", card, p.StepTime, g)
	}
	slow := nulldriver.Links["nvlink4"]
	slow.Bytes = 1e9
	if s := of(slow); s.Group.Exposed <= p.Group.Exposed || s.StepTime <= p.StepTime {
		t.Errorf("a link of 1 GB/s gives %+v, one of 370 %+v", s.Group, p.Group)
	}
}

// The link works from 1 to 4 s and from 4 to 6 s, while the GPU computes until 5 s and then waits 1 s.
func TestALinkWorksBesideTheCard(t *testing.T) {
	var l timeline
	l.card += 1
	l.aside(3)
	l.card += 4
	l.aside(1)
	l.settle()
	if want := (timeline{card: 6, link: 6, busy: 4, exposed: 1}); l != want {
		t.Errorf("%+v, want %+v", l, want)
	}
	p := Prediction{StepTime: 6, Error: 0.5, Group: l.predicted(nulldriver.Group{Cards: 2, Nodes: 1})}
	least, most := p.bounds()
	if least != 2.5 || most != 12.5 { // half of 5 and no wait; 7.5, and 1 and 4 of the link
		t.Errorf("a step takes %v to %v s, want 2.5 to 12.5", least, most)
	}
}
