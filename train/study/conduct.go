package study

import (
	"errors"
	"fmt"
	"slices"

	"hgld/train"
)

// Conductor trains the runs of a plan for [Plan.Conduct].
type Conductor struct {
	// Train trains a run or continues it, and returns nil once it is finished.
	Train func(r *Run) error
	// Missing returns an input of a run that does not exist, or "".
	Missing func(r *Run) string
	// Say tells the user what goes on.
	Say func(format string, args ...any)
}

// Outcome counts the runs of a call of [Plan.Conduct].
type Outcome struct {
	Before   int `json:"before"`   // finished before the call
	Trained  int `json:"trained"`  // finished by it
	Diverged int `json:"diverged"` // before or in the call
	// Missing lists the runs that lack an input.
	Missing []*MissingError `json:"missing,omitempty"`
}

// MissingError says that a run was left out because an input does not exist.
type MissingError struct {
	Run   string `json:"run"`   // name
	Input string `json:"input"` // path
}

// Error names the run and the input.
func (e *MissingError) Error() string { return fmt.Sprintf("%s: %s does not exist", e.Run, e.Input) }

// Conduct trains those of the runs that are not finished, in their order, and writes the report after
// each. Runs without their inputs are left out and listed. A run that diverges is recorded and not
// repeated. Any other failure ends the call; a later one continues.
func (p *Plan) Conduct(runs []*Run, c Conductor) (*Outcome, error) {
	out := new(Outcome)
	for i, r := range runs {
		s, err := p.State(r)
		if err != nil {
			return out, err
		}
		switch input := c.Missing(r); {
		case s.Phase == Finished:
			out.Before++
			continue
		case s.Phase == Diverged:
			out.Diverged++
			continue
		case input != "":
			out.Missing = append(out.Missing, &MissingError{r.Name, input})
			continue
		}
		c.Say("run %d of %d: %s, seed %d", i+1, len(runs), r.Variant.Label(), r.Seed)
		switch err := c.Train(r); {
		case errors.Is(err, train.ErrNotFinite):
			c.Say("%v; the run counts as diverged", err)
			if err := p.MarkDiverged(r, err); err != nil {
				return out, err
			}
			out.Diverged++
		case err != nil:
			return out, fmt.Errorf("%s: %w", r.Name, err)
		default:
			if s, err := p.State(r); err != nil {
				return out, err
			} else if s.Phase != Finished {
				return out, &RunError{r.Settings.Out, "the training ended, but the run is not finished"}
			}
			out.Trained++
		}
		if err := p.WriteReport(); err != nil {
			return out, err
		}
	}
	return out, p.WriteReport()
}

// WriteReport writes the report of the runs that are finished by now. Another process may finish a run
// and write the report meanwhile; then it is written again, so that the last one has all runs.
func (p *Plan) WriteReport() error {
	for {
		before, err := p.phases()
		if err != nil {
			return err
		}
		r, err := p.Report()
		if err != nil {
			return err
		}
		if err := r.Write(p.Dir); err != nil {
			return err
		}
		after, err := p.phases()
		if err != nil || slices.Equal(before, after) {
			return err
		}
	}
}

// phases returns which runs are finished or diverged.
func (p *Plan) phases() ([]Phase, error) {
	states, err := p.States()
	if err != nil {
		return nil, err
	}
	var list []Phase
	for _, s := range states {
		phase := s.Phase
		if phase == Begun {
			phase = Pending // the report does not tell them apart
		}
		list = append(list, phase)
	}
	return list, nil
}
