package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hgld/internal/atomicfile"
	"hgld/internal/registry"
	"hgld/internal/regular"
	"hgld/internal/seal"
	"hgld/train/retrieval"
)

// BestFile is the file in a run directory that holds a Best.
const BestFile = "best.json"

// Best is the checkpoint with the highest value of a metric.
type Best struct {
	Version    int              `json:"hgld_best"`  // format version
	Metric     string           `json:"metric"`     // its key, such as H-AP
	Value      retrieval.Number `json:"value"`      // the highest so far
	On         string           `json:"on"`         // data that was measured: validation, test or landmarks
	Step       int              `json:"step"`       // step of the checkpoint
	Checkpoint string           `json:"checkpoint"` // its folder, relative to the run directory
	Evaluated  int              `json:"evaluated"`  // step of the latest evaluation
	Newest     retrieval.Number `json:"newest"`     // value of that evaluation
}

// BestVersion is the format version of best.json.
const BestVersion = 1

// Values of run.watch: the part of the data that is evaluated during training.
const (
	watchValidation = "validation"
	watchTest       = "test"
	watchLandmarks  = "landmarks"
)

var watched = []string{watchValidation, watchTest, watchLandmarks}

// ReadBest reads the best.json of a run directory. If there is none yet, the error
// wraps fs.ErrNotExist.
func ReadBest(run string) (Best, error) {
	var b Best
	path := filepath.Join(run, BestFile)
	text, err := regular.ReadFile(path)
	if err != nil {
		return b, err
	}
	if err := json.Unmarshal(text, &b); err != nil {
		return b, &DamagedError{path, err.Error()}
	}
	if b.Version < 1 || b.Version > BestVersion {
		return b, fmt.Errorf("train: %s has format version %d; this hgld reads up to %d", path, b.Version, BestVersion)
	}
	if err := seal.CheckJSON(text); err != nil {
		return b, &DamagedError{path, err.Error()}
	}
	return b, nil
}

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
	e, err := r.evaluate(ctx, r.config.Run.Watch)
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
		r.best = Best{Version: BestVersion, Metric: key, Value: retrieval.Number(value), On: e.On, Step: r.state.Step,
			Checkpoint: filepath.ToSlash(checkpointName(r.state.Step))}
	}
	r.best.Evaluated, r.best.Newest = r.state.Step, retrieval.Number(value)
	if err := r.writeBest(); err != nil {
		return true, err
	}
	if e.Best && r.o.Dir != "" { // the previous best may have been kept only for that
		if err := tidy(r.o.Dir, r.config.Run.Keep, r.best.Checkpoint); err != nil {
			return true, err
		}
	}
	change := r.heed(value)
	if !yield(r.event(e), nil) {
		return false, nil
	}
	return change == nil || yield(r.event(*change), nil), nil
}

// bestKey returns the key of the metric that ranks evaluations. A per-level metric without a level means its first
// key: that of the finest level, or of the part that judges in a benchmark of landmarks.
func (c *Config) bestKey(keys []string) (string, error) {
	switch want := c.Run.Best; {
	case want == "" && slices.Contains(keys, "H-AP"):
		return "H-AP", nil
	case want == "":
		return keys[0], nil
	case slices.Contains(keys, want):
		return want, nil
	default:
		for _, key := range keys {
			if name, _, leveled := strings.Cut(key, "_level"); leveled && name == want {
				return key, nil
			}
		}
		return "", fmt.Errorf("run.best: %w", registry.Unknown("metric", want, keys))
	}
}

func (r *Run) writeBest() error {
	if r.o.Dir == "" || r.best.Metric == "" {
		return nil
	}
	text, err := seal.MarshalJSON(r.best)
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(filepath.Join(r.o.Dir, BestFile), text)
}

// recallBest reads the best result up to the latest checkpoint. It forgets later evaluations,
// because they are repeated.
func (r *Run) recallBest() error {
	b, err := ReadBest(r.o.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		r.recallJudged(Best{})
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
	e, err := r.evaluate(ctx, watchTest)
	if err != nil {
		return true, err
	}
	return yield(r.event(e), nil), nil
}

// evaluate measures a part of the data, with the averaged weights if the run keeps them.
func (r *Run) evaluate(ctx context.Context, on string) (Event, error) {
	began := time.Now()
	swap := func() error {
		return r.thread.Do(func() error { r.step.update.swap(r.o.Backend); return r.o.Backend.Sync() })
	}
	if err := swap(); err != nil {
		return Event{}, fmt.Errorf("train: evaluation: %w", err)
	}
	m := &Model{Config: r.config, Step: r.state.Step, network: r.network, thread: r.thread}
	o := retrieval.Evaluation{Metrics: r.resolved.metrics}
	var result *retrieval.Result
	var err error
	query, gallery := r.data.Query, r.data.Gallery
	if on == watchValidation {
		query, gallery = r.data.Validation, nil
	}
	switch {
	case on == watchLandmarks:
		result, err = m.Landmarks(ctx, r.data.Landmarks)
	case on == watchTest && len(r.data.Benchmarks) > 0:
		result, err = m.Benchmarks(ctx, r.data.Benchmarks, o)
	default:
		if o.Truth, err = TruthOf(r.data.Further, query, gallery); err == nil {
			result, err = m.Evaluate(ctx, query, gallery, o)
		}
	}
	if err := errors.Join(err, swap()); err != nil {
		return Event{}, r.stopped(ctx, err)
	}
	return Event{Kind: Evaluated, On: on, Result: result, Seconds: time.Since(began).Seconds()}, nil
}
