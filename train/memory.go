package train

import (
	"fmt"
	"maps"
	"slices"

	"hgld/train/device"
	"hgld/train/grad"
	"hgld/train/loss"
	"hgld/train/nn"
)

// CrossBatch is a memory of the embeddings of earlier batches. It is a second gallery for every
// ranking and pair loss ("Cross-Batch Memory", CVPR 2020; loss.Ring). The loss's setting
// memory_combine says how the two losses are joined.
type CrossBatch struct {
	Size   int     `yaml:"size" json:"size,omitempty" range:"0 1e7" usage:"number of embeddings; 0: no memory"`
	Unique bool    `yaml:"unique" json:"unique,omitempty" usage:"keep the last embedding of each training image, instead of size"`
	Start  int     `yaml:"start" json:"start,omitempty" range:"0 1e9" usage:"first step that reads the memory, counted from 1 (an epoch in a run of epochs); it fills from the first step on"`
	First  bool    `yaml:"first" json:"first,omitempty" usage:"the loss reads the memory before the batch is added, not after"`
	Weight float64 `yaml:"weight" json:"weight,omitempty" range:"0 1e6" usage:"weight of its loss relative to the loss of the batch; 0: 1"`
}

// exists reports whether there is a memory of embeddings.
func (m CrossBatch) exists() bool { return m.Size > 0 || m.Unique }

// of returns m for data with the given number of images.
func (m CrossBatch) of(images int) CrossBatch {
	if m.Unique {
		m.Size = images
	}
	return m
}

// ringPrefix begins the names of the ring's arrays.
const ringPrefix = "ring."

// memory is what a loss keeps from earlier batches: the ring of their embeddings, if there is
// one, and the loss's own state.
type memory struct {
	CrossBatch
	loss   loss.Stateful // nil: it keeps no state
	ring   *loss.Ring    // nil: there is none
	states map[string]*loss.State
	read   bool // the next step reads it
}

// newMemory makes the ring and collects the state that belongs in a checkpoint.
func newMemory(o CrossBatch, l loss.Loss, batch, dim, levels int) (*memory, error) {
	m := &memory{CrossBatch: o, states: map[string]*loss.State{}}
	if keeps, ok := l.(loss.Stateful); ok {
		m.loss = keeps
		for _, s := range keeps.States() {
			m.states[s.Name] = s
		}
	}
	if o.Size == 0 {
		return m, nil
	}
	var err error
	if m.ring, err = loss.NewRing(o.Size, batch, dim, levels); err != nil {
		return nil, &ConfigError{fmt.Errorf("memory.size: %w", err)}
	}
	for _, s := range m.ring.States() {
		m.states[ringPrefix+s.Name] = s
	}
	return m, nil
}

// attach makes the arrays, empty, and adds them to the checkpoint.
func (m *memory) attach(b device.Backend, store *nn.Store) {
	for _, name := range slices.Sorted(maps.Keys(m.states)) {
		s := m.states[name]
		s.Value = device.New(b, s.Type, s.Dims...)
		b.Fill(s.Value, s.Start)
		store.Register(memoryPrefix+name, s.Value)
	}
}

// prepare prepares a step with the given items. batches is the number of batches before it; at is
// the progress of the run in steps or epochs. It reports whether this is the first step whose
// loss reads the ring.
func (m *memory) prepare(b device.Backend, items []int, batches, at int) (changed bool) {
	switch {
	case m.ring == nil:
		return false
	case m.Unique:
		m.ring.AtItems(b, items)
	default:
		m.ring.At(b, batches)
	}
	read := at+1 >= m.Start
	changed, m.read = read != m.read, read
	return changed
}

// before records what the loss of embeddings reads of the ring, or returns nil if it does not
// read it.
func (m *memory) before(t *grad.Tape, e *grad.Var, labels device.Array) *loss.Memory {
	if m.ring == nil {
		return nil
	}
	if !m.First {
		m.ring.Push(t, e, labels)
	}
	if !m.read {
		return nil
	}
	g := m.ring.Gallery(t, !m.First)
	g.Weight = float32(m.Weight)
	return g
}

// after records the work that remains after the backward pass.
func (m *memory) after(t *grad.Tape, e *grad.Var, labels device.Array) {
	if m.ring != nil && m.First {
		m.ring.Push(t, e, labels)
	}
}

// forget records that the batch leaves nothing behind if guard is set, which means that a value
// of the step was not finite.
func (m *memory) forget(t *grad.Tape, guard device.Array) {
	if m.loss != nil {
		m.loss.Forget(t, guard)
	}
	if m.ring != nil {
		m.ring.Forget(t, guard)
	}
}
