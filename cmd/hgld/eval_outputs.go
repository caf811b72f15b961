package main

import (
	"context"
	"errors"
	"strconv"

	"hgld/labels"
	"hgld/train"
)

// rankedItems is one side of an evaluation, as files and pages name it. A
// train.Dataset is one, and so are vectors from files.
type rankedItems interface {
	Len() int
	ID(i int) string
	Labels(i int) labels.Path
}

// vectorItems are the rows of files, called by their id or their number.
type vectorItems struct{ side *train.Side }

func (v vectorItems) Len() int                 { return len(v.side.Labels) }
func (v vectorItems) Labels(i int) labels.Path { return v.side.Labels[i] }

func (v vectorItems) ID(i int) string {
	if v.side.IDs == nil {
		return strconv.Itoa(i)
	}
	return v.side.IDs[i]
}

// evalOutput is something that an evaluation writes beside its figures.
type evalOutput interface {
	// look says what it wants to be shown.
	look(l *train.Look)
	ranking(query int, rows []int32, scores []float32) error
	finish(ctx context.Context, r *train.Result) error
	// abandon gives back what is open where the evaluation ended with an error.
	abandon() error
}

// evalOutputs are all outputs of a run, which share one look.
type evalOutputs struct {
	list   []evalOutput
	places []int
	shared train.Look
}

// outputs opens what the settings ask for. With same, query i is row i of the
// gallery; else self is its row there, if it has one. classes names the classes of
// a level.
func (s *evalSettings) outputs(j *job, levels []string, query, gallery rankedItems, same bool, self []int32, classes func(level int) []string) (*evalOutputs, error) {
	o := &evalOutputs{}
	if s.TREC != "" {
		own := func(q int) int {
			switch {
			case same:
				return q
			case self != nil:
				return int(self[q])
			}
			return -1
		}
		t, err := newTREC(s, len(levels), query, gallery, own)
		if err != nil {
			return nil, err
		}
		o.list = append(o.list, t)
	}
	if s.Report != "" {
		o.list = append(o.list, newEvalPage(j, s, levels, query, gallery, classes))
	}
	for _, out := range o.list {
		var l train.Look
		out.look(&l)
		o.places = append(o.places, l.Places)
		o.shared.Places = max(o.shared.Places, l.Places)
		if l.Vector != nil {
			o.shared.Queries, o.shared.Vector = l.Queries, l.Vector
		}
		if l.Curves != nil {
			o.shared.Curves = l.Curves
		}
	}
	o.shared.Ranking = func(query int, rows []int32, scores []float32) error {
		for i, out := range o.list {
			n := min(o.places[i], len(rows))
			if err := out.ranking(query, rows[:n], scores[:n]); err != nil {
				return err
			}
		}
		return nil
	}
	return o, nil
}

// look is what the evaluation is asked to show.
func (o *evalOutputs) look() *train.Look { return &o.shared }

// finish writes everything, or gives it up where the evaluation failed.
func (o *evalOutputs) finish(ctx context.Context, r *train.Result, err error) error {
	for _, out := range o.list {
		if err == nil {
			err = out.finish(ctx, r)
		}
		err = errors.Join(err, out.abandon())
	}
	return err
}
