package train

import (
	"fmt"
	"math"
	"slices"

	"hgld/train/retrieval"
)

// Plateau cuts all rates, in addition to the schedules, when evaluations stop improving.
type Plateau struct {
	Factor   float64 `yaml:"factor" json:"factor,omitempty" range:"0 1" usage:"factor for all rates after patience evaluations without improvement; 0: never"`
	Patience int     `yaml:"patience" json:"patience,omitempty" range:"0 1e9" usage:"evaluations in a row without improvement before the rates are cut; a cut restarts the count"`
}

// EarlyStop ends a run when its evaluations stop improving.
type EarlyStop struct {
	Patience int `yaml:"patience" json:"patience,omitempty" range:"0 1e9" usage:"evaluations in a row without improvement before the run ends; 0: never"`
}

// waits reports whether evaluations change the course of the run.
func (c *Config) waits() bool { return c.Schedule.Plateau.Factor > 0 || c.Stop.Patience > 0 }

// judgement is the result of a regular evaluation. A checkpoint stores those made before it was
// saved.
type judgement struct {
	Step  int              `json:"step"`
	Value retrieval.Number `json:"value"` // of the metric that ranks evaluations
}

// criterion says what the judgements of a run measure. A run whose course depends on them resumes
// only with the same criterion.
type criterion struct {
	Every  int    `json:"every"`  // run.evaluate
	Metric string `json:"metric"` // key, from run.best
	On     string `json:"on"`     // run.watch
}

// criterion returns the criterion of the run, or nil if evaluations do not change its course.
func (r *Run) criterion() *criterion {
	if !r.config.waits() {
		return nil
	}
	return &criterion{Every: r.config.Run.Evaluate, Metric: r.judge, On: r.config.Run.Watch}
}

// differs lists the settings in which a checkpoint's criterion differs from the run's.
func (c *criterion) differs(was *criterion) (list []string) {
	if c == nil || was == nil {
		return nil // the settings differ, or there is no criterion
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

// course returns how often the judgements have cut the rates, and whether the last one ends the
// run. NaN is no improvement.
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

// heed records the result of a regular evaluation and changes the course of the run. It returns
// an event if the rates were cut, and nil otherwise.
func (r *Run) heed(value float64) *Event {
	if !r.config.waits() || r.judged(r.state.Step) {
		return nil
	}
	before, _ := r.config.course(r.state.Judged)
	r.state.Judged = append(slices.Clip(r.state.Judged), judgement{r.state.Step, retrieval.Number(value)})
	if r.follow() == before {
		return nil
	}
	return &Event{Kind: Reduced, Rate: r.step.update.schedule.Factor}
}

// judged reports whether the evaluation after a step is already among the judgements.
func (r *Run) judged(step int) bool {
	return slices.ContainsFunc(r.state.Judged, func(j judgement) bool { return j.Step == step })
}

// follow sets the rates and the end of the run from the judgements so far, and returns how often
// the rates were cut.
func (r *Run) follow() (cuts int) {
	if cuts, r.halted = r.config.course(r.state.Judged); cuts > 0 {
		r.step.update.scale(math.Pow(r.config.Schedule.Plateau.Factor, float64(cuts)))
	}
	return cuts
}

// recallJudged adds the evaluation that followed a checkpoint to its judgements. A checkpoint is
// saved before it is evaluated, so it lacks that one.
func (r *Run) recallJudged(b Best) {
	if !r.config.waits() {
		return
	}
	if b.Evaluated == r.state.Step && r.evaluationDue() && !r.judged(r.state.Step) {
		r.state.Judged = append(slices.Clip(r.state.Judged), judgement{r.state.Step, b.Newest})
	}
	if r.evaluationDue() && !r.judged(r.state.Step) {
		r.best.Evaluated = 0 // start then evaluates again
	}
	r.follow()
}
