package main

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"hgld/train"
	"hgld/train/device"
	"hgld/train/evaluation"
	"hgld/train/experiment/report"
	"hgld/train/experiment/runs"
	"hgld/train/input"
	"hgld/train/retrieval"
	"hgld/train/selection"
)

// baseline is what a run is compared with: its network before the first step, or the input vectors of a head.
type baseline struct {
	name   string
	advice string            // what to try if the run made something worse
	run    string            // its directory
	before *retrieval.Result // nil: not known
	after  *retrieval.Result // the last evaluation of the same images; nil: none yet
}

// baselineOf returns what a run is compared with. For images the run measures it, see [train.Before]; a run that
// continues has it in its directory.
func baselineOf(j *job, b device.Backend, r *train.Run, data *selection.Data, run string) (*baseline, error) {
	l := &baseline{name: "the network", run: run,
		advice: "try a lower optim.lr, more steps, or weights to start from (model.weights)"}
	if _, are := input.AsVectored(data.Validation); are {
		l.name, l.advice = "the input vectors", "try a lower optim.lr or fewer steps"
		if c := r.Config(); c.Model.Projection == "" && c.Model.Dim > 0 {
			l.advice = "try -o model.projection=pca, a lower optim.lr or fewer steps"
		}
		if r.Step() == 0 {
			defer j.ranks.Busy("measuring the input vectors")()
			result, err := evaluation.MeasureVectors(j.ctx, b, data.Validation, r.Config(), data.ExtraParents, j.threads)
			if err != nil {
				return l, trainError(err)
			}
			result.On = "validation"
			return l, l.keep(j, result)
		}
	}
	var err error
	if r.Step() > 0 {
		if l.before, err = runs.ReadResult(filepath.Join(run, runs.BeforeFile)); errors.Is(err, fs.ErrNotExist) {
			err = nil // an older hgld began the run
		}
	}
	return l, err
}

// keep prints and writes the result before training.
func (l *baseline) keep(j *job, before *retrieval.Result) error {
	l.before, before.Tool = before, thisTool()
	err := runs.WriteJSON(filepath.Join(l.run, runs.BeforeFile), before)
	if err != nil || j.json {
		return err
	}
	j.print("before training, %s: ", l.name)
	return before.Table(j.stdout)
}

// note takes an event of the run.
func (l *baseline) note(j *job, e train.Event) error {
	if e.Kind != train.Before && e.Kind != train.Evaluated {
		return nil
	}
	result := *e.Result
	result.On, result.PerQuery = e.On, e.PerQuery
	if e.Kind == train.Before {
		return l.keep(j, &result)
	}
	if l.before != nil && l.before.On == e.On {
		l.after = &result
	}
	return nil
}

// compare prints what the training changed, query by query, and says so if it made something worse.
func (l *baseline) compare(j *job) error {
	if l.before == nil || l.after == nil || l.before.PerQuery == nil || l.after.PerQuery == nil {
		return nil
	}
	pairs, err := report.Pairs([]string{"before training", "after training"}, []*retrieval.Result{l.before, l.after},
		retrieval.NewIntervals(retrieval.ByQuery, 1))
	if err != nil {
		return err
	}
	if !j.json {
		j.print("\n")
		if err := pairs[0].Table().Write(j.stdout, "text"); err != nil {
			return err
		}
	}
	var worse []string
	for _, d := range pairs[0].Differences {
		if d.Mean < 0 && d.Holm <= 0.05 {
			worse = append(worse, d.Key)
		}
	}
	if len(worse) > 0 {
		j.log("the training made %s worse than %s before it: %s", strings.Join(worse, ", "), l.name, l.advice)
	}
	return nil
}
