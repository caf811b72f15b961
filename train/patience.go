package train

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Plateau cuts all rates when the evaluations stop improving, on top of the schedules.
type Plateau struct {
	Factor   float64 `yaml:"factor" json:"factor,omitempty" range:"0 1" usage:"all rates are multiplied by this after patience evaluations; 0: never"`
	Patience int     `yaml:"patience" json:"patience,omitempty" range:"0 1e9" usage:"evaluations in a row that are no better than the best before them, or than the cut before"`
}

// EarlyStop ends a run when its evaluations stop improving.
type EarlyStop struct {
	Patience int `yaml:"patience" json:"patience,omitempty" range:"0 1e9" usage:"evaluations in a row that are no better than the best, after which the run ends; 0: never"`
}

// waits reports whether evaluations change the course of the run.
func (c *Config) waits() bool { return c.Schedule.Plateau.Factor > 0 || c.Stop.Patience > 0 }

// checkPatience returns an error for settings that never take effect.
func (c *Config) checkPatience(d Data) error {
	p := c.Schedule.Plateau
	switch {
	case p.Factor != 0 && !(p.Factor > 0 && p.Factor < 1 && p.Patience > 0):
		return fmt.Errorf("schedule.plateau has factor %v and patience %d: want a factor between 0 and 1, and a patience "+
			"from 1 up", p.Factor, p.Patience)
	case p.Factor == 0 && p.Patience > 0:
		return fmt.Errorf("schedule.plateau has patience %d and no factor: set schedule.plateau.factor, such as 0.1",
			p.Patience)
	case c.waits() && c.Run.Evaluate == 0:
		return errors.New("schedule.plateau and stop.patience count evaluations, and run.evaluate is 0: set it to the " +
			"steps (or epochs) between them")
	case c.waits() && d.Validation == nil && c.Run.Watch != watchTest:
		return errors.New("schedule.plateau and stop.patience count evaluations, and there are no validation classes: hold " +
			"some out of the training (hold_out), or say run.watch=test")
	}
	return nil
}

// judgement is the result of a regular evaluation. A checkpoint holds those before it was saved.
type judgement struct {
	Step  int    `json:"step"`
	Value Number `json:"value"` // of the metric that the run is judged by
}

// criterion says what the judgements of a run measure. A run whose course they change resumes with
// the same criterion alone.
type criterion struct {
	Every  int    `json:"every"`  // run.evaluate
	Metric string `json:"metric"` // key, from run.best
	On     string `json:"on"`     // run.watch
}

// criterion returns that of the run, nil if its evaluations do not change its course.
func (r *Run) criterion() *criterion {
	if !r.config.waits() {
		return nil
	}
	return &criterion{Every: r.config.Run.Evaluate, Metric: r.judge, On: r.config.Run.Watch}
}

// differs describes the settings in which a checkpoint's criterion differs from that of the run.
func (c *criterion) differs(was *criterion) (list []string) {
	if c == nil || was == nil {
		return nil // the settings themselves differ, or there are none
	}
	for _, s := range []struct {
		key      string
		now, was any
	}{{"run.evaluate", c.Every, was.Every}, {"run.best", c.Metric, was.Metric}, {"run.watch", c.On, was.On}} {
		if s.now != s.was {
			list = append(list, fmt.Sprintf("%s is %v, the checkpoint has %v", s.key, s.now, s.was))
		}
	}
	return list
}

// course returns how often the rates were cut by the end of the judgements, and whether the run
// ends with the last of them. A value that is not a number is no better.
func (c *Config) course(list []judgement) (cuts int, stop bool) {
	best := math.Inf(-1)
	stale, waited := 0, 0
	for _, j := range list {
		stale, waited = stale+1, waited+1
		if float64(j.Value) > best {
			best, stale, waited = float64(j.Value), 0, 0
		}
		if p := c.Schedule.Plateau; p.Factor > 0 && stale == p.Patience {
			cuts, stale = cuts+1, 0
		}
		stop = stop || c.Stop.Patience > 0 && waited >= c.Stop.Patience
	}
	return cuts, stop
}

// heed notes the result of a regular evaluation and changes the course of the run. It returns the
// event that tells of lower rates, nil without such.
func (r *Run) heed(value float64) *Event {
	if !r.config.waits() || r.judged(r.state.Step) {
		return nil
	}
	before, _ := r.config.course(r.state.Judged)
	r.state.Judged = append(slices.Clip(r.state.Judged), judgement{r.state.Step, Number(value)})
	if r.follow() == before {
		return nil
	}
	return &Event{Kind: Reduced, Rate: r.step.update.schedule.Factor}
}

// judged reports whether the evaluation of a step is among the judgements.
func (r *Run) judged(step int) bool {
	return slices.ContainsFunc(r.state.Judged, func(j judgement) bool { return j.Step == step })
}

// follow sets rates and end of the run by the judgements so far, and returns how often the rates
// were cut.
func (r *Run) follow() (cuts int) {
	if cuts, r.halted = r.config.course(r.state.Judged); cuts > 0 {
		r.step.update.scale(math.Pow(r.config.Schedule.Plateau.Factor, float64(cuts)))
	}
	return cuts
}

// recallJudged completes the judgements of a checkpoint by the evaluation that followed it: a
// checkpoint is saved before it is evaluated.
func (r *Run) recallJudged(b Best) {
	if !r.config.waits() {
		return
	}
	if b.Evaluated == r.state.Step && r.evaluationDue() && !r.judged(r.state.Step) {
		r.state.Judged = append(slices.Clip(r.state.Judged), judgement{r.state.Step, b.Newest})
	}
	if r.evaluationDue() && !r.judged(r.state.Step) {
		r.best.Evaluated = 0 // start evaluates again
	}
	r.follow()
}
