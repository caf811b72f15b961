package train

import (
	"hgld/train/device"
	"hgld/train/grad"
)

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

// begin says that the operations that follow belong to a part.
func begin(b device.Backend, p Part) {
	if o, ok := b.(PartObserver); ok {
		o.Begin(p)
	}
}

// beginPart records the beginning of a part of the forward pass. behind is the part to which the backward pass
// returns once it has passed this point; "" if there is none. Other backends record nothing.
func beginPart(t *grad.Tape, p, behind Part) {
	if _, ok := t.Backend().(PartObserver); !ok {
		return
	}
	t.Do(func(b device.Backend) { begin(b, p) })
	if behind != "" {
		t.Back(func(b device.Backend) { begin(b, behind) })
	}
}
