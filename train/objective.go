package train

import (
	"fmt"
	"slices"

	"hgld/labels"
	"hgld/train/device"
	"hgld/train/external"
	"hgld/train/grad"
	"hgld/train/loss"
	"hgld/train/nn"
	"hgld/train/sample"
)

// objective is the loss of a run, with its parameters in the store.
type objective struct {
	loss   loss.Loss
	memory *memory
	key    *device.Array // of the store
	params []*loss.Param
	held   []*nn.Param // parameters as the store holds them

	processes []*external.Process // of external losses

	levels, paths int // of a row of labels; see loss.Batch
}

// newObjective makes the loss and declares its proxies. rows holds the labels of the data, counts
// the number of classes of each level. A row of a batch has the given number of paths.
func newObjective(n *network, c *Config, p *resolved, rows []labels.Path, counts []int, paths int) (*objective, error) {
	remembered := c.Memory.of(len(rows))
	f := loss.Facts{Classes: counts, Dim: c.Model.Dim, Paths: ClassPaths(rows, counts[0]), Batch: p.sampler.Size(),
		Memory: remembered.Size}
	if f.Dim == 0 {
		f.Dim = n.net.Backbone.Channels()
	}
	if s, ok := p.sampler.(sample.Grouped); ok {
		f.PerClass = s.PerClass()
	}
	if err := checkEveryLevel(c, p.loss, rows); err != nil {
		return nil, &ConfigError{err}
	}
	l, err := p.loss.New(f)
	if err != nil {
		return nil, &ConfigError{fmt.Errorf("loss: %s: %w", c.Loss.Name, err)}
	}
	if err := checkOneClass(c, l, paths); err != nil {
		return nil, &ConfigError{err}
	}
	m, err := newMemory(remembered, l, f.Batch, f.Dim, len(counts)*paths)
	if err != nil {
		return nil, err
	}
	o := &objective{loss: l, memory: m, key: &n.store.Key, levels: len(counts), paths: paths}
	if trained, ok := l.(loss.Trained); ok {
		o.params = trained.Params()
		scope := n.store.Group(proxyGroup).In(lossScope)
		for _, p := range o.params {
			o.held = append(o.held, scope.Param(p.Name, p.Init(), p.Dims...))
		}
	}
	return o, nil
}

// checkEveryLevel returns an error if a loss needs the class of every row at each level above the finest,
// and one lacks it.
func checkEveryLevel(c *Config, k loss.Kind, rows []labels.Path) error {
	if !loss.EveryLevel(k) {
		return nil
	}
	lacking := 0
	for _, p := range rows {
		if p[1:].Depth() < len(p)-1 {
			lacking++
		}
	}
	if lacking == 0 {
		return nil
	}
	return fmt.Errorf("loss: %s needs the class of every item at every level, and %d of %d lack one; take another loss, "+
		"or leave these items out", c.Loss.Name, lacking, len(rows))
}

// checkOneClass returns an error if items may have several classes of a level at which the loss compares with one.
func checkOneClass(c *Config, l loss.Loss, paths int) error {
	level := slices.Max(append(loss.OneClass(l), 0))
	if paths == 1 || level == 0 {
		return nil
	}
	return fmt.Errorf("loss: %s compares an item with one class of level %d, and further parents give some several: a "+
		"loss that compares items with one another there takes them; or leave also out of the training, and name it in "+
		"evaluations alone", c.Loss.Name, level)
}

// attach sets the arrays of the loss. The store must be built.
func (o *objective) attach(n *network) {
	for i, p := range o.params {
		p.Value, p.Grad = o.held[i].Value, o.held[i].Grad
	}
	o.memory.attach(n.b, n.store)
}

// record records the loss of a batch of embeddings. Each embedding is both a query and a gallery
// item. m may be nil.
func (o *objective) record(t *grad.Tape, e *grad.Var, labels, self device.Array, m *loss.Memory) *grad.Var {
	return o.loss.Forward(t, &loss.Batch{
		Query: e, QueryLabels: labels, Gallery: e, GalleryLabels: labels, Self: self, Memory: m, Key: *o.key, Paths: o.paths,
	})
}

// ClassPaths returns the labels of each of n finest classes, nil for a class without a row.
func ClassPaths(rows []labels.Path, n int) []labels.Path {
	paths := make([]labels.Path, n)
	for _, p := range rows {
		if p[0] >= 0 {
			paths[p[0]] = p
		}
	}
	return paths
}

// Kind looks up the loss in the table of its preset and applies the settings.
func (l Loss) Kind() (loss.Kind, error) {
	table, err := loss.Presets.Get("preset", l.Preset)
	if err != nil {
		return nil, fmt.Errorf("loss.preset: %w", err)
	}
	return pick(loss.WithExternal(table), "loss", "loss", l.Named)
}
