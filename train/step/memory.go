package step

import (
	"fmt"
	"maps"
	"slices"

	"hgld/train/checkpoint"
	"hgld/train/config"
	"hgld/train/device"
	"hgld/train/grad"
	"hgld/train/loss"
	"hgld/train/nn"
)

// ringPrefix begins the names of the ring's arrays.
const ringPrefix = "ring."

// Memory is what a loss keeps from earlier batches: the ring of their embeddings, if there is
// one, and the loss's own state.
type Memory struct {
	config.CrossBatch
	loss   loss.Stateful // nil: it keeps no state
	ring   *loss.Ring    // nil: there is none
	states map[string]*loss.State
	read   bool // the next step reads it
}

// newMemory makes the ring and collects the state that belongs in a checkpoint.
func newMemory(o config.CrossBatch, l loss.Loss, batch, dim, levels int) (*Memory, error) {
	m := &Memory{CrossBatch: o, states: map[string]*loss.State{}}
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
		return nil, &config.Error{Err: fmt.Errorf("memory.size: %w", err)}
	}
	for _, s := range m.ring.States() {
		m.states[ringPrefix+s.Name] = s
	}
	return m, nil
}

// attach makes the arrays, empty, and adds them to the checkpoint.
func (m *Memory) attach(b device.Backend, store *nn.Store) {
	for _, name := range slices.Sorted(maps.Keys(m.states)) {
		s := m.states[name]
		s.Value = device.New(b, s.Type, s.Dims...)
		b.Fill(s.Value, s.Start)
		store.Register(checkpoint.MemoryPrefix+name, s.Value)
	}
}

// prepare prepares a step with the given items. batches is the number of batches before it; at is
// the progress of the run in steps or epochs. It reports whether this is the first step whose
// loss reads the ring.
func (m *Memory) prepare(b device.Backend, items []int, batches, at int) (changed bool) {
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
func (m *Memory) before(t *grad.Tape, e *grad.Var, labels device.Array) *loss.Memory {
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
func (m *Memory) after(t *grad.Tape, e *grad.Var, labels device.Array) {
	if m.ring != nil && m.First {
		m.ring.Push(t, e, labels)
	}
}

// forget records that the batch leaves nothing behind if guard is set, which means that a value
// of the step was not finite.
func (m *Memory) forget(t *grad.Tape, guard device.Array) {
	if m.loss != nil {
		m.loss.Forget(t, guard)
	}
	if m.ring != nil {
		m.ring.Forget(t, guard)
	}
}
