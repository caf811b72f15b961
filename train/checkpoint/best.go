package checkpoint

import (
	"encoding/json"
	"fmt"
	"path/filepath"

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

// Judgement is the result of a regular evaluation. A checkpoint stores those made before it was
// saved.
type Judgement struct {
	Step  int              `json:"step"`  // step that was evaluated
	Value retrieval.Number `json:"value"` // of the metric that ranks evaluations
}

// Criterion says what the judgements of a run measure. A run whose course depends on them resumes
// only with the same criterion.
type Criterion struct {
	Every  int    `json:"every"`  // run.evaluate
	Metric string `json:"metric"` // key, from run.best
	On     string `json:"on"`     // run.eval_on
}

// Differs lists the settings in which a checkpoint's criterion differs from the run's.
func (c *Criterion) Differs(was *Criterion) (list []string) {
	if c == nil || was == nil {
		return nil // the settings differ, or there is no criterion
	}
	for _, s := range []struct {
		key      string
		now, was any
	}{{"run.evaluate", c.Every, was.Every}, {"run.best", c.Metric, was.Metric}, {"run.eval_on", c.On, was.On}} {
		if s.now != s.was {
			list = append(list, fmt.Sprintf("%s is %v, the checkpoint has %v", s.key, s.now, s.was))
		}
	}
	return list
}
