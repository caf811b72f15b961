package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"hgld/internal/registry"
	"hgld/train"
	"hgld/train/embeddings"
	"hgld/train/report"
	"hgld/train/retrieval"
)

// evalEmbeddings evaluates vectors from files.
func evalEmbeddings(j *job, s *evalSettings, o train.EvalOptions) (*retrieval.Result, error) {
	in := s.input(j)
	if err := in.Complete(); err != nil {
		return nil, labelsHint(withCode(exitUsage, err), "hgld eval run")
	}
	s.Labels, s.GalleryLabels = in.Labels, in.GalleryLabels
	b, err := j.openDevice(s.Threads)
	if err != nil {
		return nil, err
	}
	e, err := in.Load(b)
	if err != nil {
		return nil, independentHint(asUsage(err))
	}
	defer e.Close()
	s.choose(e, o)
	j.say("evaluating %s: %d queries, %d gallery items, %s", s.Embeddings, len(e.Query.Labels),
		len(e.Gallery.Labels), count(len(e.Levels), "level"))
	p := j.progress("rank", len(e.Query.Labels))
	defer p.End()
	e.Progress = func(done, _ int) { p.Set(done, "") }
	query, gallery, images, err := s.items(j, e)
	if err != nil {
		return nil, err
	}
	defer images.Close()
	outputs, err := s.outputs(j, e.Levels, query, gallery, e.Same, e.Self, e.Classes.Names)
	if err != nil {
		return nil, err
	}
	evaluate := retrieval.Evaluate
	if s.Levels == "independent" && s.Qrels == "" {
		evaluate = retrieval.EvaluateIndependent
	} else {
		e.Observer = outputs.Look()
	}
	of, err := s.filesMeasured()
	if err != nil {
		return nil, errors.Join(err, outputs.Finish(j.ctx, nil, err))
	}
	r, err := evaluate(j.ctx, b, &e.Evaluation)
	if err == nil {
		r.Of = of
		for _, level := range r.WithoutPositives() {
			j.say("level %q: no query shares its class with another item; if the column only names the rows, call it id", level)
		}
	}
	return r, outputs.Finish(j.ctx, r, trainError(err))
}

// items returns queries and gallery, with their images if --images names any.
func (s *evalSettings) items(j *job, e *embeddings.Evaluation) (query, gallery report.Items, _ io.Closer, err error) {
	a, b := report.Rows{Side: &e.Query}, report.Rows{Side: &e.Gallery}
	if s.Images == "" || s.Report == "" {
		return a, b, io.NopCloser(nil), nil
	}
	d, closer, err := openItems(&job{ctx: j.ctx, quiet: true}, s.Images, "", "")
	if err != nil {
		return nil, nil, nil, err
	}
	find := report.ImagesByID(d)
	return report.ImagedRows{Rows: a, Find: find}, report.ImagedRows{Rows: b, Find: find}, closer, nil
}

// input collects the files to read and how to read them.
func (s *evalSettings) input(j *job) *embeddings.Input {
	return &embeddings.Input{Embeddings: s.Embeddings, Labels: s.Labels, GalleryEmbeddings: s.GalleryEmbeddings,
		GalleryLabels: s.GalleryLabels, Unit: s.Unit, Ignore: s.Ignore, Independent: s.Levels == "independent",
		Limit: j.limit, Qrels: s.Qrels, Usage: s.QrelsUsage, Stay: true, Open: openVectors, Say: j.say}
}

// choose copies the metrics and options to e.
func (s *evalSettings) choose(e *embeddings.Evaluation, o train.EvalOptions) {
	e.Metrics, e.Ties, e.Threads, e.PerQuery, e.Mean = o.Metrics, o.Ties, s.Threads, o.PerQuery, o.Mean
	e.Intervals, e.Gap, e.GapSeed, e.Timing = o.Intervals, o.Gap, o.GapSeed, o.Parts
}

// evalRankings evaluates the rankings of another program.
func evalRankings(j *job, s *evalSettings, o train.EvalOptions) (*retrieval.Result, error) {
	if j.limit > 0 {
		return nil, usagef("--limit selects the first vectors, but --ranking has no vectors")
	}
	e, list, err := s.input(j).LoadRankings(s.Ranking)
	if err != nil {
		return nil, independentHint(asUsage(err))
	}
	s.choose(e, o)
	j.say("evaluating %s: %d queries, %d gallery items, %s", s.Ranking, len(e.Query.Labels),
		len(e.Gallery.Labels), count(len(e.Levels), "level"))
	r, err := retrieval.EvaluateRankings(j.ctx, &e.Evaluation, list)
	var short *retrieval.ReachError
	if errors.As(err, &short) {
		return nil, withHint(usagef("%s: %w", s.Ranking, err),
			"choose metrics that need no more places with --metrics, such as R@1 and mAP@%d", max(short.Has, 1))
	}
	if err != nil {
		return nil, asUsage(fmt.Errorf("%s: %w", s.Ranking, err))
	}
	r.Of, err = s.filesMeasured()
	return r, err
}

// asUsage gives errors about files that do not fit together the exit code of wrong usage.
// Errors that have an exit code, and errors about impossible values, keep theirs.
func asUsage(err error) error {
	if exitCode(err) != exitFailed || errors.As(err, new(*embeddings.ValuesError)) {
		return err
	}
	return withCode(exitUsage, err)
}

// typedAs returns a command with files of vectors and labels, for hints.
func typedAs(command, vectors, labels string) string {
	return fmt.Sprintf("%s --embeddings %s --labels %s", command, vectors, labels)
}

// labelsHint adds the whole command to the error of labels that are missing or swapped.
func labelsHint(err error, command string) error {
	var none *embeddings.NoLabelsError
	var swapped *embeddings.SwappedError
	switch {
	case errors.As(err, &swapped):
		return withHint(err, "%s", typedAs(command, swapped.Vectors, swapped.Table))
	case errors.As(err, &none) && !none.Gallery && len(none.Tables) > 0:
		return withHint(err, "%s", typedAs(command, none.Vectors, none.Tables[0]))
	}
	return err
}

// independentHint adds the setting for columns of labels that do not form a tree.
func independentHint(err error) error {
	if errors.As(err, new(*embeddings.NoTreeError)) {
		return withHint(err, "for columns that do not form a tree, use --levels independent")
	}
	return err
}

// openVectors opens a file of vectors and gives its errors their exit codes.
func openVectors(path string) (embeddings.Vectors, error) {
	v, err := embeddings.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if meant := embeddings.Meant(path); meant != "" {
			err = withHint(err, "did you mean %s?", meant)
		}
		return nil, err
	case errors.As(err, new(*registry.UnknownError)):
		return nil, withCode(exitUsage, err)
	}
	return v, withCode(exitIntegrity, err)
}
