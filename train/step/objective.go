package step

import (
	"fmt"
	"slices"

	"hgld/labels"
	"hgld/train/config"
	"hgld/train/device"
	"hgld/train/external"
	"hgld/train/grad"
	"hgld/train/loss"
	"hgld/train/network"
	"hgld/train/nn"
	"hgld/train/sample"
)

// lossScope is the scope of the loss's parameters in the store.
const lossScope = loss.ParamScope

// Objective is the loss of a run, with its parameters in the store.
type Objective struct {
	Loss   loss.Loss // the loss
	memory *Memory
	key    *device.Array // of the store
	Params []*loss.Param // proxies and other parameters of the loss
	held   []*nn.Param   // parameters as the store holds them

	Processes []*external.Process // of external losses

	levels, paths int // of a row of labels; see loss.Batch
}

// newObjective makes the loss and declares its proxies. rows holds the labels of the data, counts
// the number of classes of each level. A row of a batch has the given number of paths.
func newObjective(n *network.Network, c *config.Config, p *config.Resolved, rows []labels.Path, counts []int,
	paths int) (*Objective, error) {
	remembered := c.Memory.ForImages(len(rows))
	f := loss.Facts{Classes: counts, Dim: c.Model.Dim, Paths: ClassPaths(rows, counts[0]), Batch: p.Sampler.Size(),
		Memory: remembered.Size}
	if f.Dim == 0 {
		f.Dim = n.Net.Backbone.Channels()
	}
	if s, ok := p.Sampler.(sample.Grouped); ok {
		f.PerClass = s.PerClass()
	}
	if err := checkEveryLevel(c, p.Loss, rows); err != nil {
		return nil, &config.Error{Err: err}
	}
	l, err := p.Loss.New(f)
	if err != nil {
		return nil, &config.Error{Err: fmt.Errorf("loss: %s: %w", c.Loss.Name, err)}
	}
	if err := checkOneClass(c, l, paths); err != nil {
		return nil, &config.Error{Err: err}
	}
	m, err := newMemory(remembered, l, f.Batch, f.Dim, len(counts)*paths)
	if err != nil {
		return nil, err
	}
	o := &Objective{Loss: l, memory: m, key: &n.Store.Key, levels: len(counts), paths: paths}
	if trained, ok := l.(loss.Trained); ok {
		o.Params = trained.Params()
		scope := n.Store.Group(config.ProxyGroup).In(lossScope)
		for _, p := range o.Params {
			o.held = append(o.held, scope.Param(p.Name, p.Init(), p.Dims...))
		}
	}
	return o, nil
}

// checkEveryLevel returns an error if a loss needs the class of every row at each level above the finest,
// and one lacks it.
func checkEveryLevel(c *config.Config, k loss.Kind, rows []labels.Path) error {
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
func checkOneClass(c *config.Config, l loss.Loss, paths int) error {
	level := slices.Max(append(loss.OneClass(l), 0))
	if paths == 1 || level == 0 {
		return nil
	}
	return fmt.Errorf("loss: %s compares an item with one class of level %d, and extra parents give some several: a "+
		"loss that compares items with one another there takes them; or leave also out of the training, and name it in "+
		"evaluations alone", c.Loss.Name, level)
}

// attach sets the arrays of the loss. The store must be built.
func (o *Objective) attach(n *network.Network) {
	for i, p := range o.Params {
		p.Value, p.Grad = o.held[i].Value, o.held[i].Grad
	}
	o.memory.attach(n.Backend, n.Store)
}

// record records the loss of a batch of embeddings. Each embedding is both a query and a gallery
// item. m may be nil.
func (o *Objective) record(t *grad.Tape, e *grad.Var, labels, self device.Array, m *loss.Memory) *grad.Var {
	return o.Loss.Forward(t, &loss.Batch{
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

// Start starts the processes of external losses, in a folder.
func (o *Objective) Start(folder string, seed uint64) error {
	for _, l := range loss.Externals(o.Loss) {
		p, err := external.Start(l, folder, seed)
		if err != nil {
			return err
		}
		l.Process = p
		o.Processes = append(o.Processes, p)
	}
	return nil
}

// err returns the failure of a process.
func (o *Objective) err() error {
	for _, l := range loss.Externals(o.Loss) {
		if err := l.Err(); err != nil {
			return err
		}
	}
	return nil
}

// States asks the processes for their states.
func (o *Objective) States() (list [][]byte, err error) {
	for _, p := range o.Processes {
		state, err := p.State()
		if err != nil {
			return nil, err
		}
		list = append(list, state)
	}
	return list, nil
}

// close ends the processes.
func (o *Objective) close() {
	for _, p := range o.Processes {
		p.Close()
	}
}
