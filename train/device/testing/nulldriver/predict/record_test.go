package predict

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
	"hgld/train"
	"hgld/train/config"
	"hgld/train/device/cuda"
	"hgld/train/device/cuda/vendor"
	"hgld/train/device/testing/nulldriver"
	"hgld/train/testing/places"
)

var updateRecord = flag.Bool("update-record", false, "write the table of scripts/results/gpu/model.md")

// steps are the predictions that the record has: of one card each, and of several that train together.
var steps = []struct {
	card, link   string
	cards, nodes int
	network      float64 // Gbit/s
	trained      bool    // BatchNorm
}{
	{card: "h200"}, {card: "h100"}, {card: "a100"}, {card: "4090"}, {card: "l4"},
	{"h100", "nvlink4", 8, 1, 0, false}, {"h100", "nvlink4", 8, 1, 0, true}, {"h100", "pcie5", 8, 1, 0, false},
	{"a100", "nvlink3", 8, 1, 0, false}, {"4090", "pcie4", 8, 1, 0, false}, {"h100", "nvlink4", 32, 4, 100, false},
	{"h100", "nvlink4", 32, 4, 400, false}, {"h100", "nvlink4", 32, 4, 3200, false},
}

// The record's table of cards and groups is what the model predicts for a ResNet-50.
func TestTheRecordHasThePredictions(t *testing.T) {
	t.Setenv(cuda.VendorVariable, "bfloat16")
	t.Setenv(vendor.PlansVariable, "off")
	table := "| cards | BatchNorm | ms a step | of which it waits for sums | images/s | expect |\n" +
		"|---|---|---:|---:|---:|---:|\n"
	for _, s := range steps {
		cards := max(s.cards, 1)
		c := config.Default()
		c.Input.Size, c.Model.Backbone.Name, c.Model.Standard, c.Model.Dim = 224, "resnet50", "l2", 1792
		c.Model.FreezeNorm, c.Model.Precision = !s.trained, "bfloat16"
		c.Sampler.Batch, c.Sampler.M = 256*cards, 4
		c.Optim.Rate, c.Steps, c.Epochs = 1e-5, 1, 0
		data := train.Data{Train: &places.Set{Forms: 8, PerForm: 16 * cards, Views: 4, Size: 8}}
		plan, err := train.PlanShare(c, data, cards)
		must.Do(t, err)
		b, err := nulldriver.Open(nulldriver.Cards[s.card])
		must.Do(t, err)
		var group *nulldriver.Group
		if s.cards > 0 {
			group = &nulldriver.Group{Cards: cards, Nodes: s.nodes, Link: nulldriver.Links[s.link], Network: 1e9 * s.network}
		}
		p, err := Step(c, data, plan, b, group)
		must.Do(t, err)
		table += p.row(cards, s.trained)
		b.Close()
	}
	path := goldens.Root() + "/scripts/results/gpu/model.md"
	text, err := os.ReadFile(path)
	must.Do(t, err)
	const begin, end = "<!-- predicted -->\n", "<!-- end -->\n"
	before, rest, _ := strings.Cut(string(text), begin)
	had, after, found := strings.Cut(rest, end)
	switch {
	case !found:
		t.Fatalf("%s has no table between %s and %s", path, begin, end)
	case *updateRecord:
		err = os.WriteFile(path, []byte(before+begin+table+end+after), 0o644)
	case had != table:
		t.Errorf("%s is not what the model predicts (-update-record writes it):\n%s", path, table)
	}
	must.Do(t, err)
}

// row is a line of the record.
func (p *Prediction) row(cards int, trained bool) string {
	name, waits := fmt.Sprintf("%d × %s", cards, strings.TrimPrefix(p.Card, "NVIDIA ")), "–"
	if g := p.Group; g != nil {
		waits = fmt.Sprintf("%.2f", 1e3*g.Exposed)
		if name += ", " + g.Link; g.Nodes > 1 {
			name += fmt.Sprintf(", in %d machines with %.0f Gbit/s each", g.Nodes, g.Network/1e9)
		}
	}
	least, most := p.bounds()
	return fmt.Sprintf("| %s | %s | %.1f | %s | %.0f | %.0f to %.0f |\n", name,
		map[bool]string{true: "trained", false: "frozen"}[trained], 1e3*p.StepTime, waits, p.Images,
		p.Images*p.StepTime/most, p.Images*p.StepTime/least)
}
