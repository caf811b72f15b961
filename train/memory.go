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

// CrossBatch is a memory of the embeddings of earlier batches, a second gallery for
// every ranking and pair loss ("Cross-Batch Memory", CVPR 2020; loss.Ring). How its
// loss joins that of the batch is the setting memory_combine of the loss.
type CrossBatch struct {
	Size   int     `yaml:"size" json:"size,omitempty" range:"0 1e7" usage:"embeddings; 0: no memory"`
	Unique bool    `yaml:"unique" json:"unique,omitempty" usage:"in place of size: one for each training image, its last"`
	Start  int     `yaml:"start" json:"start,omitempty" range:"0 1e9" usage:"first step, or epoch of a run in epochs, that reads it, from 1; it fills from the first on"`
	First  bool    `yaml:"first" json:"first,omitempty" usage:"the loss reads it before the batch goes in, and not after"`
	Weight float64 `yaml:"weight" json:"weight,omitempty" range:"0 1e6" usage:"of its loss beside that of the batch; 0: 1"`
}

func (m CrossBatch) check() error {
	switch {
	case m.Size < 0 || m.Start < 0 || !(m.Weight >= 0):
		return fmt.Errorf("memory.size is %d, memory.start %d and memory.weight %v, want numbers from 0 up", m.Size,
			m.Start, m.Weight)
	case m.Size > 0 && m.Unique:
		return fmt.Errorf("memory.size is %d, and with memory.unique there is a place for each training image: leave one "+
			"of them out", m.Size)
	}
	return nil
}

// exists reports whether there is a memory of embeddings.
func (m CrossBatch) exists() bool { return m.Size > 0 || m.Unique }

// of is m for data of so many images.
func (m CrossBatch) of(images int) CrossBatch {
	if m.Unique {
		m.Size = images
	}
	return m
}

// ringPrefix begins the names of the ring's arrays.
const ringPrefix = "ring."

// memory is what a loss knows of earlier batches: the ring of their embeddings, if
// there is one, and what the loss itself keeps.
type memory struct {
	CrossBatch
	loss   loss.Stateful // nil: it keeps nothing
	ring   *loss.Ring    // nil: none
	states map[string]*loss.State
	read   bool // in the step to come
}

// newMemory makes the ring, and gathers what belongs in a checkpoint.
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

// attach makes the arrays, empty, and adds them to what a checkpoint holds.
func (m *memory) attach(b device.Backend, store *nn.Store) {
	for _, name := range slices.Sorted(maps.Keys(m.states)) {
		s := m.states[name]
		s.Value = device.New(b, s.Type, s.Dims...)
		b.Fill(s.Value, s.Start)
		store.Register(memoryPrefix+name, s.Value)
	}
}

// prepare prepares a step of the given items, the number of batches before it being
// given, and reports whether it is the first whose loss reads the ring; at is how far
// the run has come, in steps or epochs.
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

// before records what the loss of embeddings reads of the ring, nil if it does not.
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

// after records what is left to do when the backward pass has run.
func (m *memory) after(t *grad.Tape, e *grad.Var, labels device.Array) {
	if m.ring != nil && m.First {
		m.ring.Push(t, e, labels)
	}
}

// forget records that the batch leaves nothing behind if guard is set, which it is
// where a value of the step was not finite.
func (m *memory) forget(t *grad.Tape, guard device.Array) {
	if m.loss != nil {
		m.loss.Forget(t, guard)
	}
	if m.ring != nil {
		m.ring.Forget(t, guard)
	}
}
