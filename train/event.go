package train

import (
	"hgld/train/retrieval"
	"hgld/train/step"
)

// Kind is the kind of an Event.
type Kind string

// The kinds of events.
const (
	Projected Kind = "projection" // the projection was fitted to principal components; Images, Seconds
	Stepped   Kind = "step"       // Loss, Terms, rates, Norm, Images, Seconds, Waited
	Skipped   Kind = "skipped"    // a value was not finite and nothing was changed; Batch and IDs identify the images
	Before    Kind = "before"     // what the untrained network gives: Result, On, Seconds; if Options.Baseline asks for it
	Evaluated Kind = "evaluation" // Result, On, Best, Seconds
	Saved     Kind = "checkpoint" // Path
	Reduced   Kind = "reduced"    // evaluations stopped improving: Rate is the factor of all rates from here
	Stopped   Kind = "stopped"    // evaluations stopped improving: the run ends before its last step
	Done      Kind = "done"       // the run is complete
)

// Event is one thing that happened in a run. Its JSON is a line of events.jsonl.
type Event struct {
	Kind  Kind `json:"event"` // what happened
	Step  int  `json:"step"`  // steps taken so far
	Epoch int  `json:"epoch"` // epochs completed

	// Loss is nil if no query had a positive, because such a step has no loss.
	Loss *float64 `json:"loss,omitempty"`
	// Terms are the terms of a loss that is a weighted sum, and empty for other losses.
	Terms []step.TermValue `json:"terms,omitempty"`

	Rate      float64 `json:"lr,omitempty"`       // rate of the backbone, 0 while it is frozen
	HeadRate  float64 `json:"head_lr,omitempty"`  // rate of the head
	ProxyRate float64 `json:"proxy_lr,omitempty"` // rate of the proxies
	// Region is the share, 0 to 1, of the differences of scores in the operating region of the loss's
	// sigmoid: S7 of Smooth-AP. It is there if run.log names it.
	Region *float64 `json:"region,omitempty"`
	// Norm is the norm of the gradient of backbone and head before clipping.
	Norm    *float64 `json:"grad_norm,omitempty"`
	Images  int      `json:"images,omitempty"`  // images of the batch
	Seconds float64  `json:"seconds,omitempty"` // duration of the step or the evaluation
	Waited  float64  `json:"waited,omitempty"`  // part of Seconds spent waiting for images
	// RankWaits are the seconds that each of several processes has waited for the others in the step before. The one
	// that waits least is the slowest.
	RankWaits []float64         `json:"rank_waits,omitempty"`
	Batch     *BatchOf          `json:"batch,omitempty"`  // batch of a skipped step
	IDs       []string          `json:"ids,omitempty"`    // images of a skipped step
	On        string            `json:"on,omitempty"`     // validation or test
	Best      bool              `json:"best,omitempty"`   // the evaluation is the best so far
	Result    *retrieval.Result `json:"result,omitempty"` // result of the evaluation
	Path      string            `json:"path,omitempty"`   // folder of the checkpoint

	// PerQuery are the values of every query, with Options.Baseline.
	PerQuery *retrieval.PerQuery `json:"-"`
}

// BatchOf identifies a batch in the sampler's stream. Together with the seed of the run it
// determines the rows and their augmentation.
type BatchOf struct {
	Epoch int `json:"epoch"` // from 0
	Index int `json:"index"` // from 0, within the epoch
}

// Taken reports whether e ends a step, whether or not the step changed the network.
func (e *Event) Taken() bool { return e.Kind == Stepped || e.Kind == Skipped }
