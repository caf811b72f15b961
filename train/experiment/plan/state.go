package plan

import (
	"fmt"
	"math"
	"os"
	"path/filepath"

	"hgld/internal/atomicfile"
	"hgld/train"
	"hgld/train/config"
	"hgld/train/experiment/runs"
	"hgld/train/retrieval"
)

// divergedFolder holds a file for each run whose values were not finite. Such a run is never finished.
const divergedFolder = "diverged"

// Phase says how far a run is.
type Phase string

// The phases of a run.
const (
	Pending  Phase = "pending"  // it has no directory
	Begun    Phase = "begun"    // it can be continued
	Finished Phase = "finished" // it took its last step and was evaluated
	Diverged Phase = "diverged" // its loss or gradients were not finite
)

// State is the state of a run.
type State struct {
	Run    *Run              `json:"run"`                  // of the plan
	Phase  Phase             `json:"phase"`                // how far it is
	Step   string            `json:"step,omitempty"`       // of a run that has begun: "step 3 of 9"
	Taken  int               `json:"taken,omitempty"`      // steps of a run that has begun
	By     string            `json:"by,omitempty"`         // the process that trains it, "" if there is none
	Left   float64           `json:"hours_left,omitempty"` // that its steps need, as they went; 0: not known
	Result *retrieval.Result `json:"-"`                    // of a finished run
	Before *retrieval.Result `json:"-"`                    // before its first step, or nil
}

// RunError says that a run directory does not hold the run of the plan.
type RunError struct {
	Path string // of the file
	What string // is wrong with it
}

// Error names the run directory and what is wrong.
func (e *RunError) Error() string { return fmt.Sprintf("%s: %s", e.Path, e.What) }

// State reads the state of a run from its directory. A [RunError] says that the directory holds a run
// with other settings, or a result that is not in its log.
func (p *Plan) State(r *Run) (*State, error) {
	if s := p.ended[r.Name]; s != nil {
		return s, nil
	}
	s, err := p.read(r)
	if err == nil && (s.Phase == Finished || s.Phase == Diverged) {
		p.ended[r.Name] = s
	}
	return s, err
}

// States reads the states of all runs, in their order.
func (p *Plan) States() ([]*State, error) {
	var list []*State
	for _, r := range p.Runs {
		s, err := p.State(r)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

func (p *Plan) read(r *Run) (*State, error) {
	dir := r.Settings.Out
	s := &State{Run: r, Phase: Pending}
	switch _, err := os.Stat(filepath.Join(p.Dir, divergedFolder, r.Name)); {
	case err == nil:
		s.Phase = Diverged
		return s, nil
	case !atomicfile.IsMissing(err):
		return nil, err
	}
	past, err := runs.Read(dir)
	if err != nil || past.Settings == nil {
		return s, err
	}
	changes, err := differences(r.Settings, past.Settings)
	if err != nil {
		return nil, err
	}
	if len(changes) > 0 {
		c := changes[0]
		return nil, &RunError{filepath.Join(dir, runs.SettingsFile),
			fmt.Sprintf("%s is %s, but the study wants %s", c.Key, c.To, c.From)}
	}
	if s.Phase, s.Step = Begun, past.State(); s.Step != "done" {
		if steps := past.Steps(); len(steps) > 0 {
			s.Taken = steps[len(steps)-1].Step
		}
		if s.By, err = runs.Worker(dir); s.By != "" {
			s.Left = past.SecondsLeft() / 3600
		}
		return s, err
	}
	var last *retrieval.Result
	for _, e := range past.Events {
		if e.Kind == train.Evaluated {
			last = e.Result
		}
	}
	if last == nil && past.Result == nil {
		return nil, &RunError{dir, "nothing was evaluated: want held-out classes or a test"}
	}
	if past.Result == nil || last == nil {
		return s, nil // it was killed before it wrote the other
	}
	for _, v := range last.Values {
		if mean := past.Result.Mean(v.Key); mean != float64(v.Mean) && !math.IsNaN(mean) {
			return nil, &RunError{filepath.Join(dir, runs.EvaluationFile),
				fmt.Sprintf("%s is not the value in %s", v.Key, runs.EventsFile)}
		}
	}
	s.Phase, s.Step, s.Result, s.Before = Finished, "", past.Result, past.Before
	return s, nil
}

// differences lists the settings in which a run differs from its plan. A run completes its settings
// from the data and the tables, which is no difference.
func differences(plan, run *runs.Settings) ([]runs.Change, error) {
	absolute, err := absolutes()
	if err != nil {
		return nil, err
	}
	a, b := withPaths(plan, absolute), withPaths(run, absolute)
	if a.Steps > 0 {
		a.Epochs = 0
	}
	if a.Input.Std == [3]float32{} {
		a.Input.Mean, a.Input.Std = b.Input.Mean, b.Input.Std
	}
	if a.Model.Precision == "auto" {
		a.Model.Precision = b.Model.Precision
	}
	switch a.Model.Projection {
	case config.ProjectionAuto:
		a.Model.Projection = b.Model.Projection
	case config.ProjectionRandom:
		a.Model.Projection = ""
	}
	if a.Images.Embeddings != "" { // a head on vectors
		a.Model.Pooling, a.Model.Backbone = b.Model.Pooling, b.Model.Backbone
	}
	return runs.Changes(a, b), nil
}

// MarkDiverged records that the values of a run were not finite, and why it ended.
func (p *Plan) MarkDiverged(r *Run, why error) error {
	folder := filepath.Join(p.Dir, divergedFolder)
	if err := atomicfile.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	return atomicfile.WriteFile(filepath.Join(folder, r.Name), []byte(why.Error()+"\n"))
}
