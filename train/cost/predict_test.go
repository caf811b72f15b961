package cost

import (
	"bytes"
	"maps"
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
	if order := []string{"h100", "a100", "4090", "l4"}; times["h100"] >= times["l4"] || len(times) != len(order) {
		t.Errorf("the times are %v", slices.Sorted(maps.Keys(times)))
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
	return Predict(c, data, plan, b)
}
