package train

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"time"

	"hgld/internal/atomicfile"
	"hgld/internal/seal"
	"hgld/train/checkpoint"
	"hgld/train/config"
	"hgld/train/evaluation"
	"hgld/train/retrieval"
)

// evaluationDue reports whether the run must be evaluated now. It depends only on the state.
func (r *Run) evaluationDue() bool {
	every := r.config.Run.Evaluate
	if every == 0 || r.state.Step == 0 || !r.watches() {
		return false
	}
	if r.config.Steps > 0 {
		return r.state.Step%every == 0
	}
	return r.state.Position.Batch == 0 && r.state.Position.Epoch%every == 0
}

// watch evaluates the run and keeps the current checkpoint if it is the best so far. Of equal
// values the earlier checkpoint stays. The evaluation at the end of a trial does not count if it
// falls between two regular ones, because the full run would not have it.
func (r *Run) watch(ctx context.Context, yield func(Event, error) bool) (proceed bool, err error) {
	e, err := r.evaluate(ctx, r.config.Run.EvalOn)
	if err != nil {
		return true, err
	}
	if !r.evaluationDue() && !r.ended() {
		return yield(r.event(e), nil), nil
	}
	key := r.judge
	value, err := r.common(e.Result.Mean(key))
	if err != nil {
		return true, err
	}
	e.Best = !math.IsNaN(value) && (r.best.Metric != key || r.best.On != e.On || value > float64(r.best.Value))
	if e.Best {
		if proceed, err := r.checkpoint(yield); err != nil || !proceed {
			return proceed, err
		}
		r.best = checkpoint.Best{Version: checkpoint.BestVersion, Metric: key, Value: retrieval.Number(value), On: e.On,
			Step:       r.state.Step,
			Checkpoint: filepath.ToSlash(checkpoint.Name(r.state.Step))}
	}
	r.best.Evaluated, r.best.Newest = r.state.Step, retrieval.Number(value)
	if err := r.writeBest(); err != nil {
		return true, err
	}
	if e.Best && r.o.Dir != "" { // the previous best may have been kept only for that
		if err := checkpoint.Prune(r.o.Dir, r.config.Run.Keep, r.best.Checkpoint); err != nil {
			return true, err
		}
	}
	change := r.heed(value)
	if !yield(r.event(e), nil) {
		return false, nil
	}
	return change == nil || yield(r.event(*change), nil), nil
}

// start does what is due before the first step of this process: the fit of the projection, and an
// evaluation that the previous process did not reach.
func (r *Run) start(ctx context.Context, yield func(Event, error) bool) (proceed bool, err error) {
	if proceed, err := r.startProjection(ctx, yield); err != nil || !proceed {
		return proceed, err
	}
	if proceed, err := r.baseline(ctx, yield); err != nil || !proceed {
		return proceed, err
	}
	if r.evaluationDue() && r.best.Evaluated < r.state.Step && !r.complete() {
		return r.watch(ctx, yield)
	}
	return true, nil
}

// baseline evaluates the network before its first step, if the options ask for it.
func (r *Run) baseline(ctx context.Context, yield func(Event, error) bool) (proceed bool, err error) {
	on := ""
	switch {
	case !r.o.Baseline || r.config.OfVectors() || r.state.Step > 0 || r.complete():
	case r.data.tested(): // the last evaluation, see finish
		on = config.WatchTest
	case r.watches():
		on = r.config.Run.EvalOn
	}
	if on == "" {
		return true, nil
	}
	e, err := r.evaluate(ctx, on)
	e.Kind = Before
	return err != nil || yield(r.event(e), nil), err
}

func (r *Run) writeBest() error {
	if r.o.Dir == "" || r.best.Metric == "" {
		return nil
	}
	text, err := seal.MarshalJSON(r.best)
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(filepath.Join(r.o.Dir, checkpoint.BestFile), text)
}

// recallBest reads the best result up to the latest checkpoint. It forgets later evaluations,
// because they are repeated.
func (r *Run) recallBest() error {
	b, err := checkpoint.ReadBest(r.o.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		r.recallJudged(checkpoint.Best{})
		return nil
	}
	if err != nil {
		return err
	}
	if b.Step <= r.state.Step {
		r.best = b
	}
	r.best.Evaluated = min(b.Evaluated, r.state.Step)
	if b.Evaluated > r.state.Step {
		r.best.Evaluated = 0
	}
	r.recallJudged(b)
	return nil
}

// test evaluates the test.
func (r *Run) test(ctx context.Context, yield func(Event, error) bool) (proceed bool, err error) {
	e, err := r.evaluate(ctx, config.WatchTest)
	if err != nil {
		return true, err
	}
	return yield(r.event(e), nil), nil
}

// evaluate measures a part of the data, with the averaged weights if the run keeps them.
func (r *Run) evaluate(ctx context.Context, on string) (Event, error) {
	began := time.Now()
	swap := func() error {
		return r.thread.Do(func() error { r.step.Update.Swap(r.o.Backend); return r.o.Backend.Sync() })
	}
	if err := swap(); err != nil {
		return Event{}, fmt.Errorf("train: evaluation: %w", err)
	}
	m := evaluation.New(r.config, r.state.Step, r.network, r.thread)
	m.Threads = r.o.Threads
	o := retrieval.Evaluation{Metrics: r.resolved.Metrics, PerQuery: r.o.Baseline}
	var result *retrieval.Result
	var err error
	query, gallery := r.data.Query, r.data.Gallery
	if on == config.WatchValidation {
		query, gallery = r.data.Validation, nil
	}
	switch {
	case on == config.WatchLandmarks:
		result, err = m.Landmarks(ctx, r.data.Landmarks)
	case on == config.WatchTest && len(r.data.Benchmarks) > 0:
		result, err = m.Benchmarks(ctx, r.data.Benchmarks, o)
	default:
		if o.Truth, err = evaluation.TruthOf(r.data.ExtraParents, query, gallery); err == nil {
			result, err = m.Evaluate(ctx, query, gallery, o)
		}
	}
	if err := errors.Join(err, swap()); err != nil {
		return Event{}, r.stopped(ctx, err)
	}
	e := Event{Kind: Evaluated, On: on, Result: result, Seconds: time.Since(began).Seconds(), PerQuery: result.PerQuery}
	result.PerQuery = nil // the log has the means
	return e, nil
}

// watches reports whether the data that run.eval_on names are there.
func (r *Run) watches() bool {
	switch r.config.Run.EvalOn {
	case config.WatchTest:
		return r.data.tested()
	case config.WatchLandmarks:
		return true
	}
	return r.data.Validation != nil
}

// keys returns the keys of the metrics of watched evaluations, at so many levels of the data.
func (r *Run) keys(levels int) []string {
	if r.config.Run.EvalOn == config.WatchLandmarks {
		return evaluation.LandmarkKeys(r.data.Landmarks)
	}
	return r.resolved.Metrics.Keys(levels)
}

// criterion returns the criterion of the run, or nil if evaluations do not change its course.
func (r *Run) criterion() *checkpoint.Criterion {
	if !r.config.Waits() {
		return nil
	}
	return &checkpoint.Criterion{Every: r.config.Run.Evaluate, Metric: r.judge, On: r.config.Run.EvalOn}
}

// course returns how often the judgements have cut the rates, and whether the last one ends the
// run. NaN is no improvement.
func course(c *config.Config, list []checkpoint.Judgement) (cuts int, stop bool) {
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
	if !r.config.Waits() || r.judged(r.state.Step) {
		return nil
	}
	before, _ := course(&r.config, r.state.Judged)
	r.state.Judged = append(slices.Clip(r.state.Judged), checkpoint.Judgement{Step: r.state.Step,
		Value: retrieval.Number(value)})
	if r.follow() == before {
		return nil
	}
	return &Event{Kind: Reduced, Rate: r.step.Update.Schedule.Factor}
}

// judged reports whether the evaluation after a step is already among the judgements.
func (r *Run) judged(step int) bool {
	return slices.ContainsFunc(r.state.Judged, func(j checkpoint.Judgement) bool { return j.Step == step })
}

// follow sets the rates and the end of the run from the judgements so far, and returns how often
// the rates were cut.
func (r *Run) follow() (cuts int) {
	if cuts, r.halted = course(&r.config, r.state.Judged); cuts > 0 {
		r.step.Update.Scale(math.Pow(r.config.Schedule.Plateau.Factor, float64(cuts)))
	}
	return cuts
}

// recallJudged adds the evaluation that followed a checkpoint to its judgements. A checkpoint is
// saved before it is evaluated, so it lacks that one.
func (r *Run) recallJudged(b checkpoint.Best) {
	if !r.config.Waits() {
		return
	}
	if b.Evaluated == r.state.Step && r.evaluationDue() && !r.judged(r.state.Step) {
		r.state.Judged = append(slices.Clip(r.state.Judged), checkpoint.Judgement{Step: r.state.Step, Value: b.Newest})
	}
	if r.evaluationDue() && !r.judged(r.state.Step) {
		r.best.Evaluated = 0 // start then evaluates again
	}
	r.follow()
}
