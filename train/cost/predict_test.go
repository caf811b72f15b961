package cost

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"hgld/train"
	"hgld/train/device/cuda/vendor"
	"hgld/train/device/nulldriver"
)

// A prediction takes no card, and no library of NVIDIA's, whatever the settings say.
func TestPredictionIsTheSumOfItsOperations(t *testing.T) {
	t.Setenv("HGLD_CUDA_VENDOR", "all")
	t.Setenv(vendor.PlansVariable, "off")
	c, d := small(5)
	c.Schedule.Freeze = 2
	data := train.Data{Train: d}
	plan, err := train.Plan(c, data)
	if err != nil {
		t.Fatal(err)
	}
	times := map[string]float64{}
	for name, card := range nulldriver.Cards {
		p, err := predictOn(t, c, data, plan, card)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for _, o := range p.Operations {
			sum += o.Seconds
		}
		if math.Abs(sum-p.StepTime) > 1e-12 || p.Images != float64(plan.Batch)/p.StepTime || p.Launches < 50 {
			t.Errorf("%s: operations take %v, the step %v, %v images/s, %d launches", name, sum, p.StepTime, p.Images,
				p.Launches)
		}
		if !slices.ContainsFunc(p.Operations, func(o PredictedOp) bool { return o.Op == "ConvGradW" && o.Calls == 3 }) {
			t.Errorf("%s: the backbone has no gradient in %+v", name, p.Operations)
		}
		var table bytes.Buffer
		if err := p.Table(&table, false); err != nil || !strings.Contains(table.String(), "card        "+card.Name+": ") ||
			strings.Contains(table.String(), "too small") {
			t.Errorf("%s: %v\n%s", name, err, &table)
		}
		times[name] = p.StepTime
	}
	if times["h200"] >= times["h100"] || times["h100"] >= times["l4"] || len(times) != 5 {
		t.Errorf("the times are %v", times)
	}
	plan.Peak = 1 << 40
	p, err := predictOn(t, c, data, plan, nulldriver.L4)
	if err != nil {
		t.Fatal(err)
	}
	var table bytes.Buffer
	const want = "its memory is 1024000.0 MiB too small"
	if err := p.Table(&table, false); err != nil || !strings.Contains(table.String(), want) {
		t.Errorf("%v\n%s", err, &table)
	}
}

func predictOn(t *testing.T, c train.Config, data train.Data, plan *train.Estimate,
	card nulldriver.Card) (*Prediction, error) {
	t.Helper()
	b, err := nulldriver.Open(card)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	return Predict(c, data, plan, b, nil)
}

// Four cards take a step on a quarter of a batch each. All their sums but the last pass during the backward pass.
func TestAPredictedGroupWaitsForItsLastSums(t *testing.T) {
	c, d := small(5)
	data := train.Data{Train: d}
	plan, err := train.PlanShare(c, data, 4)
	if err != nil {
		t.Fatal(err)
	}
	of := func(link nulldriver.Link) *Prediction {
		b, err := nulldriver.Open(nulldriver.H100)
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		p, err := Predict(c, data, plan, b, &nulldriver.Group{Cards: 4, Nodes: 1, Link: link})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	p := of(nulldriver.Links["nvlink4"])
	card := 0.0
	for _, o := range p.Operations {
		card += o.Seconds
	}
	if g := p.Group; !(0 < g.Exposed && g.Exposed < g.Seconds) || math.Abs(card+g.Exposed-p.StepTime) > 1e-12 {
		t.Errorf("the card takes %v of %v s, and the group is %+v", card, p.StepTime, g)
	}
	slow := nulldriver.Links["nvlink4"]
	slow.Bytes = 1e9
	if s := of(slow); s.Group.Exposed <= p.Group.Exposed || s.StepTime <= p.StepTime {
		t.Errorf("a link of 1 GB/s gives %+v, one of 370 %+v", s.Group, p.Group)
	}
	var table bytes.Buffer
	if err := p.Table(&table, false); err != nil || !strings.Contains(table.String(), "\ncards       4 by NVLink 4: ") {
		t.Errorf("%v\n%s", err, &table)
	}
}

// The link works from 1 to 4 s and from 4 to 6 s, while the card computes until 5 s and then waits 1 s.
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
