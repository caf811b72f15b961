package main

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"hgld/internal/registry"
	"hgld/train"
	"hgld/train/device"
	"hgld/train/embeddings"
	"hgld/train/evaluation"
)

// evalEmbeddings measures vectors from files.
func evalEmbeddings(j *job, s *evalSettings, o train.EvalOptions) (*train.Result, error) {
	s.Labels, s.GalleryLabels = embeddings.Beside(s.Labels, s.Embeddings), embeddings.Beside(s.GalleryLabels,
		s.GalleryEmbeddings)
	if s.Labels == "" {
		return nil, usagef("--embeddings needs --labels, one row for each vector")
	}
	if (s.GalleryEmbeddings == "") != (s.GalleryLabels == "") {
		return nil, usagef("--gallery-embeddings and --gallery-labels go together")
	}
	b, err := j.openDevice(s.Threads)
	if err != nil {
		return nil, err
	}
	classes := &embeddings.Classes{}
	e := &train.Evaluation{Metrics: o.Metrics, Ties: o.Ties, Threads: s.Threads, PerQuery: o.PerQuery, Mean: o.Mean,
		Intervals: o.Intervals, Gap: o.Gap, GapSeed: o.GapSeed}
	if e.Query, err = j.side(b, classes, s.Embeddings, s.Labels, s.Unit); err != nil {
		return nil, err
	}
	if s.GalleryEmbeddings == "" {
		e.Gallery = e.Query
		e.Self = make([]int32, len(e.Query.Labels))
		for i := range e.Self {
			e.Self[i] = int32(i)
		}
	} else if e.Gallery, err = j.side(b, classes, s.GalleryEmbeddings, s.GalleryLabels, s.Unit); err != nil {
		return nil, err
	}
	if n := min(j.limit, len(e.Query.Labels)); n > 0 {
		e.Query.Vectors, e.Query.Labels = e.Query.Vectors.RowRange(0, n), e.Query.Labels[:n]
		e.Query.IDs, e.Self = e.Query.IDs[:min(n, len(e.Query.IDs))], e.Self[:min(n, len(e.Self))]
	}
	e.Levels = classes.Levels()
	j.say("evaluating %s: %d queries, %d gallery items, %d levels", s.Embeddings, len(e.Query.Labels),
		len(e.Gallery.Labels), len(e.Levels))
	p := j.progress("rank", len(e.Query.Labels))
	defer p.End()
	e.Progress = func(done, _ int) { p.Set(done, "") }
	outputs, err := s.outputs(j, e.Levels, evaluation.Rows{Side: &e.Query}, evaluation.Rows{Side: &e.Gallery},
		e.Self != nil, nil, classes.Names)
	if err != nil {
		return nil, err
	}
	e.Look = outputs.Look()
	of, err := s.filesMeasured()
	if err != nil {
		return nil, errors.Join(err, outputs.Finish(j.ctx, nil, err))
	}
	r, err := train.Evaluate(j.ctx, b, e)
	if err == nil {
		r.Of = of
		sayWithoutPositives(j, r)
	}
	return r, outputs.Finish(j.ctx, r, err)
}

// sayWithoutPositives names the levels at which no two items share a class. A table
// whose first column numbers or names its rows has such a one.
func sayWithoutPositives(j *job, r *train.Result) {
	for l, level := range r.Levels {
		without := func(v train.Value) bool {
			return strings.HasSuffix(v.Key, fmt.Sprintf("_level%d", l)) && v.Skipped == r.Queries
		}
		if slices.ContainsFunc(r.Values, without) {
			j.say("level %q: no query has an item of its class to find; if the column only names the rows, call it id", level)
		}
	}
}

// side reads vectors and their labels.
func (j *job) side(b device.Backend, classes *embeddings.Classes, file, labelFile string, unit bool) (train.Side,
	error) {
	list, ids, err := classes.Read(labelFile)
	if err != nil {
		return train.Side{}, withCode(exitUsage, err)
	}
	v, err := openVectors(file)
	if err != nil {
		return train.Side{}, err
	}
	defer v.Close()
	if rows, _ := v.Rows(); rows != len(list) {
		return train.Side{}, usagef("%s has %d vectors and %s %d rows of labels", file, rows, labelFile, len(list))
	}
	watched := &embeddings.ZeroRows{Vectors: v}
	a, err := train.Upload(b, watched, unit)
	if err != nil {
		return train.Side{}, fmt.Errorf("%s: %w", file, err)
	}
	if watched.Count > 0 {
		name := ""
		if watched.First < len(ids) {
			name = fmt.Sprintf(" (%s)", ids[watched.First])
		}
		j.say("careful: %d of %d vectors of %s are all zeros, row %d%s first; all their scores are 0, so that "+
			"they rank by row and say nothing: look for images that were not embedded, and leave them out",
			watched.Count, len(list), file, watched.First, name)
	}
	return train.Side{Vectors: a, Labels: list, IDs: ids}, nil
}

// openVectors opens a file of vectors and gives its errors their exit codes.
func openVectors(path string) (embeddings.Vectors, error) {
	v, err := embeddings.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, err
	case errors.As(err, new(*registry.UnknownError)):
		return nil, withCode(exitUsage, err)
	}
	return v, withCode(exitIntegrity, err)
}
