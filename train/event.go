package train

// Kind says what an Event tells of.
type Kind string

// The kinds of events.
const (
	Stepped   Kind = "step"       // Loss, Rate, Images, Seconds, Waited
	Skipped   Kind = "skipped"    // a value was not finite: nothing was changed; IDs are the images
	Evaluated Kind = "evaluation" // Result, Seconds
	Saved     Kind = "checkpoint" // Path
	Done      Kind = "done"       // the run is complete
)

// Event is one thing that happened in a run. Its JSON is a line of events.jsonl.
type Event struct {
	Kind  Kind `json:"event"`
	Step  int  `json:"step"`  // steps taken so far
	Epoch int  `json:"epoch"` // epochs completed

	Loss    float64  `json:"loss,omitempty"`
	Rate    float64  `json:"lr,omitempty"` // of the backbone
	Images  int      `json:"images,omitempty"`
	Seconds float64  `json:"seconds,omitempty"`
	Waited  float64  `json:"waited,omitempty"` // of these, waiting for images
	IDs     []string `json:"ids,omitempty"`
	Result  *Result  `json:"result,omitempty"`
	Path    string   `json:"path,omitempty"`
}
