package plan

import (
	"errors"
	"fmt"
	"time"

	"hgld/train"
)

// Trainer trains the runs of a plan for [Plan.Train].
type Trainer struct {
	Train   func(r *Run) error               // trains a run or continues it, and returns nil once it is finished
	Missing func(r *Run) string              // returns an input of a run that does not exist, or ""
	Report  func() error                     // writes the report of the runs that are finished by now
	Log     func(format string, args ...any) // tells the user what goes on
	Now     func() time.Time                 // the clock
}

// Outcome counts the runs of a call of [Plan.Train].
type Outcome struct {
	Before   int             `json:"before"`            // finished before the call
	Trained  int             `json:"trained"`           // finished by it
	Diverged int             `json:"diverged"`          // before or in the call
	Missing  []*MissingError `json:"missing,omitempty"` // lists the runs that lack an input
}

// MissingError says that a run was left out because an input does not exist.
type MissingError struct {
	Run   string `json:"run"`   // name
	Input string `json:"input"` // path
}

// Error names the run and the input.
func (e *MissingError) Error() string { return fmt.Sprintf("%s: %s does not exist", e.Run, e.Input) }

// reportRest is how many times as long as a report took the next one waits: a report has all runs, so that one after
// each of many short runs would take most of their time.
const reportRest = 10

// Train trains those of the runs that are not finished, in their order. It writes the report at the end, and before it
// after each run, unless the last report is less than [reportRest] times as old as it took to write. Runs without
// their inputs are left out and listed. A run that diverges is recorded and not repeated. Any other failure ends the
// call; a later one continues.
func (p *Plan) Train(runs []*Run, c Trainer) (out *Outcome, err error) {
	out = new(Outcome)
	var next time.Time // when a report is due
	late := false      // a run ended since the last report
	report := func() error {
		late = false
		begin := c.Now()
		err := c.Report()
		end := c.Now()
		next = end.Add(reportRest * end.Sub(begin))
		return err
	}
	defer func() {
		if err == nil || late {
			err = errors.Join(err, report())
		}
	}()
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
		c.Log("run %d of %d: %s, seed %d", i+1, len(runs), r.Variant.Label(), r.Seed)
		switch err := c.Train(r); {
		case errors.Is(err, train.ErrNotFinite):
			c.Log("%v; the run is marked diverged", err)
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
		if late = true; c.Now().Before(next) {
			continue
		}
		if err := report(); err != nil {
			return out, err
		}
	}
	return out, nil
}
