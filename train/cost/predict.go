package cost

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"hgld/train"
	"hgld/train/device/cuda"
	"hgld/train/device/cuda/nulldriver"
	"hgld/train/device/observe"
)

// Prediction is the time of a step on a card that need not be there, by the model of package nulldriver: hgld's own
// kernels with their real launches, without NVIDIA's libraries, and a loader that is never late.
type Prediction struct {
	Card       string        `json:"card"`
	StepTime   float64       `json:"seconds_a_step"`
	Images     float64       `json:"images_per_second"`
	Error      float64       `json:"error"` // share of either by which they may be off
	Launches   int           `json:"launches"`
	Short      int           `json:"bytes_short,omitempty"` // of the card's memory; 0: the arrays of a step fit
	Operations []PredictedOp `json:"operations"`            // longest first
}

// PredictedOp is the calls of an operation in a step.
type PredictedOp struct {
	train.OpWork
	Seconds float64 `json:"seconds"`
}

// Predict predicts a step of a planned run on a card.
func Predict(c train.Config, data train.Data, plan *train.Estimate, card nulldriver.Card) (*Prediction, error) {
	d := nulldriver.New(card)
	b, err := cuda.OpenWith(d, 0)
	if err != nil {
		return nil, err
	}
	b.WithoutLibraries()
	p := &Prediction{Card: card.Name, Error: card.Error, Short: max(int(plan.Peak)-card.Memory, 0)}
	byName := map[string]*PredictedOp{}
	observed := observe.Operations(b, func(call observe.Call, do func()) {
		d.Launches = nil
		do()
		o := byName[call.Op]
		if o == nil {
			o = &PredictedOp{}
			o.Op = call.Op
			byName[call.Op] = o
		}
		o.Add(call)
		o.Seconds += card.Seconds(call, d.Launches)
		p.Launches += len(d.Launches)
	})
	c.Run.Settle(b)
	if err := train.DryStep(c, data, observed, func() { clear(byName); p.Launches = 0 }); err != nil {
		return nil, err
	}
	for _, o := range byName {
		p.Operations = append(p.Operations, *o)
		p.StepTime += o.Seconds
	}
	p.Images = float64(plan.Batch) / p.StepTime
	slices.SortFunc(p.Operations, func(a, b PredictedOp) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.Op, b.Op))
	})
	return p, b.Close()
}

// Table writes the prediction. vectors says that the run trains on vectors.
func (p *Prediction) Table(to io.Writer, vectors bool) error {
	unit := map[bool]string{true: "vectors", false: "img"}[vectors]
	short := ""
	if p.Short > 0 {
		short = fmt.Sprintf("            its memory is %s too small\n", mebibytes(int64(p.Short)))
	}
	_, err := fmt.Fprintf(to, "card        %s: %.3g ms a step, %.0f %s/s by a model of hgld's own kernels; "+
		"expect %.0f to %.0f\n%s\n%-16s%7s%11s%8s%10s%11s\n", p.Card, 1e3*p.StepTime, p.Images, unit, p.Images/(1+p.Error),
		p.Images/(1-p.Error), short, "operation", "calls", "ms a step", "share", "MB", "GFLOP")
	for _, o := range p.Operations {
		if err != nil {
			break
		}
		_, err = fmt.Fprintf(to, "%-16s%7d%11.3f%7.1f%%%10.1f%11.1f\n", o.Op, o.Calls, 1e3*o.Seconds,
			100*o.Seconds/p.StepTime, o.Bytes/1e6, o.FLOPs/1e9)
	}
	return err
}
