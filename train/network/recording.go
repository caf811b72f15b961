package network

import (
	"hgld/train/device"
	"hgld/train/grad"
)

// Recording is a tape that is replayed as a program if the device supports programs and no part of the tape works on
// the host.
type Recording struct {
	Tape    *grad.Tape     // operations that are replayed
	program device.Program // of the tape; nil: none yet, or the device has none
}

// Repeat replays the tape, which has run once.
func (r *Recording) Repeat(b device.Backend) error {
	graphs, able := b.(device.Graphs)
	if !able || r.Tape.OnHost() {
		r.Tape.Replay()
		return nil
	}
	if r.program == nil {
		var err error
		if r.program, err = graphs.Record(r.Tape.Replay); err != nil {
			return err
		}
	}
	r.program.Run()
	return nil
}

// Close frees the program, if there is one.
func (r *Recording) Close() {
	if r.program != nil {
		r.program.Close()
		r.program = nil
	}
}

// Part is a part of a training step.
type Part string

// The parts of a step, whose times table S2 of Smooth-AP compares.
const (
	PartInput     Part = "input"     // uploads and resampling of the batch
	PartNetwork   Part = "network"   // backbone and head, forward and backward
	PartLoss      Part = "loss"      // loss and memory, forward and backward
	PartOptimizer Part = "optimizer" // guards and updates
)

// PartObserver is a backend that is told which part of a step the operations that follow belong to.
type PartObserver interface {
	// Begin is called before the operations of a part.
	Begin(p Part)
}

// Begin says that the operations that follow belong to a part.
func Begin(b device.Backend, p Part) {
	if o, ok := b.(PartObserver); ok {
		o.Begin(p)
	}
}

// BeginPart records the beginning of a part of the forward pass. behind is the part to which the backward pass
// returns once it has passed this point; "" if there is none. Other backends record nothing.
func BeginPart(t *grad.Tape, p, behind Part) {
	if _, ok := t.Backend().(PartObserver); !ok {
		return
	}
	t.Do(func(b device.Backend) { Begin(b, p) })
	if behind != "" {
		t.Back(func(b device.Backend) { Begin(b, behind) })
	}
}
