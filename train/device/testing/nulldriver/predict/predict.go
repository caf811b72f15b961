// Package predict predicts the time of a training step on GPUs that need not be there: by the launches of the step
// and the model of package nulldriver. No GPU was measured for a prediction.
package predict

import (
	"cmp"
	"slices"

	"hgld/train"
	"hgld/train/config"
	"hgld/train/device/observe"
	"hgld/train/device/testing/nulldriver"
)

// Prediction is the time of a step on a GPU that need not be there, by the model of package nulldriver: hgld's own
// kernels with their real launches, NVIDIA's libraries if the run would use them, and a loader that is never late.
type Prediction struct {
	// Card is the name of the GPU.
	Card string

	// StepTime and Images may both be off by Error, as a share.
	StepTime float64
	Images   float64 // see StepTime
	Error    float64 // see StepTime

	// Short is how many bytes of memory the GPU lacks for the arrays of a step.
	Short int

	// Group is nil for one GPU.
	Group *Group

	// Launches is the number of kernels, and LibraryCalls that of those of NVIDIA's libraries.
	Launches     int
	LibraryCalls int // see Launches

	// Operations are the calls by operation, longest first.
	Operations []Operation
}

// Operation is the calls of an operation in a step.
type Operation struct {
	train.OpWork
	Seconds float64 // of all calls
}

// Step predicts a step of a planned run on the GPU of a device that computes nothing, in a group with others of its
// kind. The plan must be that of one of them. nil: the GPU is alone.
func Step(c config.Config, data train.Data, plan *train.Estimate, b *nulldriver.Device,
	group *nulldriver.Group) (*Prediction, error) {
	card := b.Card()
	p := &Prediction{Card: card.Name, Error: card.Error, Short: max(int(plan.Peak)-card.Memory, 0)}
	byName, times := map[string]*Operation{}, timeline{}
	observed := observe.Operations(b, func(call observe.Call, do func()) {
		o := byName[call.Op]
		if o == nil {
			o = &Operation{}
			o.Op = call.Op
			byName[call.Op] = o
		}
		o.Add(call)
		seconds, launches := b.Predict(call, do)
		o.Seconds += seconds
		times.card += seconds
		p.Launches += launches
	})
	if group != nil {
		observed = grouped{observed, *group, &times}
	}
	c.Run.ResolveResample(b)
	before := 0
	begin := func() {
		clear(byName)
		times, p.Launches, before = timeline{}, 0, b.LibraryCalls()
	}
	if err := train.DryStep(c, data, observed, begin); err != nil {
		return nil, err
	}
	p.LibraryCalls = b.LibraryCalls() - before
	for _, o := range byName {
		p.Operations = append(p.Operations, *o)
		p.StepTime += o.Seconds
	}
	if group != nil {
		p.Group = times.predicted(*group)
		p.StepTime += p.Group.Exposed
	}
	p.Images = float64(plan.Batch) / p.StepTime
	slices.SortFunc(p.Operations, func(a, b Operation) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.Op, b.Op))
	})
	return p, nil
}
