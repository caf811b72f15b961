package train

// Kind says what an Event tells of.
type Kind string

// The kinds of events.
const (
	Projected Kind = "projection" // the projection starts from principal components; Images, Seconds
	Stepped   Kind = "step"       // Loss, Terms, rates, Norm, Images, Seconds, Waited
	Skipped   Kind = "skipped"    // a value was not finite: nothing was changed; Batch, and IDs are its images
	Evaluated Kind = "evaluation" // Result, On, Best, Seconds
	Saved     Kind = "checkpoint" // Path
	Reduced   Kind = "reduced"    // the evaluations do not improve: Rate is the factor of all rates from here
	Stopped   Kind = "stopped"    // the evaluations did not improve: the run ends before its last step
	Done      Kind = "done"       // the run is complete
)

// Event is one thing that happened in a run. Its JSON is a line of events.jsonl.
type Event struct {
	Kind  Kind `json:"event"` // what happened
	Step  int  `json:"step"`  // steps taken so far
	Epoch int  `json:"epoch"` // epochs completed

	// Loss is nil where no query had a positive: such a step has no loss. Older logs
	// leave a loss of exactly 0 out as well.
	Loss *float64 `json:"loss,omitempty"`
	// Terms are those of a loss that is a weighted sum, none of another one.
	Terms []TermValue `json:"terms,omitempty"`

	Rate      float64 `json:"lr,omitempty"`       // of the backbone, 0 while it is frozen
	HeadRate  float64 `json:"head_lr,omitempty"`  // of the head
	ProxyRate float64 `json:"proxy_lr,omitempty"` // of the proxies
	// Norm is that of the gradient of backbone and head before it is bounded. Older logs
	// have it only where optim.clip was set.
	Norm    *float64 `json:"grad_norm,omitempty"`
	Images  int      `json:"images,omitempty"`  // of the batch
	Seconds float64  `json:"seconds,omitempty"` // of the step or the evaluation
	Waited  float64  `json:"waited,omitempty"`  // of these, waiting for images
	Batch   *BatchOf `json:"batch,omitempty"`   // of a skipped step
	IDs     []string `json:"ids,omitempty"`     // of the images of a skipped step
	On      string   `json:"on,omitempty"`      // validation or test
	Best    bool     `json:"best,omitempty"`    // the evaluation is the best so far
	Result  *Result  `json:"result,omitempty"`  // of the evaluation
	Path    string   `json:"path,omitempty"`    // of the checkpoint
}

// BatchOf says which batch of the sampler's stream a step was taken with: with the
// seed of the run, its rows and their augmentation follow from it.
type BatchOf struct {
	Epoch int `json:"epoch"` // from 0
	Index int `json:"index"` // from 0, within the epoch
}
