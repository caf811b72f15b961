package cost

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"hgld/train"
	"hgld/train/device/nulldriver"
	"hgld/train/device/observe"
)

// Prediction is the time of a step on a card that need not be there, by the model of package nulldriver: hgld's own
// kernels with their real launches, NVIDIA's libraries if the run would use them, and a loader that is never late.
type Prediction struct {
	// Card is the name of the card.
	Card string `json:"card"`

	// StepTime and Images may both be off by Error, as a share.
	StepTime float64 `json:"seconds_a_step"`
	Images   float64 `json:"images_per_second"` // see StepTime
	Error    float64 `json:"error"`             // see StepTime

	// Short is how many bytes of memory the card lacks for the arrays of a step.
	Short int `json:"bytes_short,omitempty"`

	// Group is nil for one card.
	Group *PredictedGroup `json:"group,omitempty"`

	// Launches is the number of kernels, and LibraryCalls that of those of NVIDIA's libraries.
	Launches     int `json:"launches"`
	LibraryCalls int `json:"library_calls"` // see Launches

	// Operations are the calls by operation, longest first.
	Operations []PredictedOp `json:"operations"`
}

// PredictedOp is the calls of an operation in a step.
type PredictedOp struct {
	train.OpWork
	Seconds float64 `json:"seconds"` // of all calls
}

// Predict predicts a step of a planned run on the card of a device that computes nothing, in a group with others of its
// kind. The plan must be that of one of them. nil: the card is alone.
func Predict(c train.Config, data train.Data, plan *train.Estimate, b *nulldriver.Device,
	group *nulldriver.Group) (*Prediction, error) {
	card := b.Card()
	p := &Prediction{Card: card.Name, Error: card.Error, Short: max(int(plan.Peak)-card.Memory, 0)}
	byName, times := map[string]*PredictedOp{}, timeline{}
	observed := observe.Operations(b, func(call observe.Call, do func()) {
		o := byName[call.Op]
		if o == nil {
			o = &PredictedOp{}
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
	c.Run.Settle(b)
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
	slices.SortFunc(p.Operations, func(a, b PredictedOp) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.Op, b.Op))
	})
	return p, nil
}

// Table writes the prediction. vectors says that the run trains on vectors.
func (p *Prediction) Table(to io.Writer, vectors bool) error {
	unit := map[bool]string{true: "vectors", false: "img"}[vectors]
	short := ""
	if p.Short > 0 {
		short = fmt.Sprintf("            its memory is %s too small\n", mebibytes(int64(p.Short)))
	}
	least, most := p.bounds()
	of := "hgld's own kernels"
	if p.LibraryCalls > 0 {
		of = "hgld's kernels and NVIDIA's libraries"
	}
	_, err := fmt.Fprintf(to, "card        %s: %.3g ms a step, %.0f %s/s by a model of %s; expect %.0f to %.0f\n%s",
		p.Card, 1e3*p.StepTime, p.Images, unit, of, p.Images*p.StepTime/most, p.Images*p.StepTime/least, short)
	if err == nil && p.Group != nil {
		err = p.Group.write(to, p.StepTime)
	}
	if err == nil {
		_, err = fmt.Fprintf(to, "\n%-16s%7s%11s%8s%10s%11s\n", "operation", "calls", "ms a step", "share", "MB", "GFLOP")
	}
	for _, o := range p.Operations {
		if err != nil {
			break
		}
		_, err = fmt.Fprintf(to, "%-16s%7d%11.3f%7.1f%%%10.1f%11.1f\n", o.Op, o.Calls, 1e3*o.Seconds,
			100*o.Seconds/p.StepTime, o.Bytes/1e6, o.FLOPs/1e9)
	}
	return err
}
