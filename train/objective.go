package train

import (
	"fmt"

	"hgld/train/device"
	"hgld/train/grad"
	"hgld/train/loss"
	"hgld/train/nn"
)

// objective is the loss of a run, with what it trains in the store.
type objective struct {
	loss   loss.Loss
	params []*loss.Param
	held   []*nn.Param // where the store keeps them
}

// newObjective finds the loss and declares its proxies. counts is the number of
// classes of each level.
func newObjective(n *network, c *Config, kind loss.Kind, counts []int) (*objective, error) {
	dim := c.Model.Dim
	if dim == 0 {
		dim = n.net.Backbone.Channels()
	}
	l, err := kind.New(loss.Facts{Classes: counts, Dim: dim})
	if err != nil {
		return nil, &ConfigError{fmt.Errorf("loss: %s: %w", c.Loss.Name, err)}
	}
	o := &objective{loss: l}
	if trained, ok := l.(loss.Trained); ok {
		o.params = trained.Params()
		scope := n.store.Group(proxyGroup).In(lossScope)
		for _, p := range o.params {
			o.held = append(o.held, scope.Param(p.Name, nn.UniformFan(p.FanIn), p.Dims...))
		}
	}
	return o, nil
}

// attach gives the loss its arrays, when the store has been built.
func (o *objective) attach() {
	for i, p := range o.params {
		p.Value, p.Grad = o.held[i].Value, o.held[i].Grad
	}
}

// record records the loss of a batch of embeddings, each of which is a query and
// an item of the gallery.
func (o *objective) record(t *grad.Tape, e *grad.Var, labels, self device.Array) *grad.Var {
	return o.loss.Forward(t, &loss.Batch{
		Query: e, QueryLabels: labels, Gallery: e, GalleryLabels: labels, Self: self,
	})
}

// lookUpLoss finds a loss in the table of its preset.
func lookUpLoss(l Loss) (loss.Kind, error) {
	table, err := loss.Presets.Get("preset", l.Preset)
	if err != nil {
		return nil, fmt.Errorf("loss.preset: %w", err)
	}
	return pick(table, "loss", "loss", l.Named)
}
