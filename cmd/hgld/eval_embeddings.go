package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"hgld/internal/registry"
	"hgld/internal/settings"
	"hgld/internal/tensorfile"
	"hgld/internal/torchfile"
	"hgld/labels"
	"hgld/shards/dataset"
	"hgld/train/embeddings"
	"hgld/train/index"
	"hgld/train/report"
	"hgld/train/retrieval"
)

// evalFileSettings name embeddings or rankings from files, which need no model, and their labels.
type evalFileSettings struct {
	Embeddings        string            `yaml:"embeddings" path:"in" usage:"evaluate these vectors (.npy, .npz, .safetensors, .parquet, .pt, .pkl) instead of a model"`
	Labels            string            `yaml:"labels" path:"in" usage:"labels of the vectors: .csv with a column for each level, finest first, .npy of integers or texts, or .parquet; empty: those in the file of the vectors, or the .csv or .tsv of the same name"`
	GalleryEmbeddings string            `yaml:"gallery_embeddings" path:"in" usage:"vectors to rank; empty: the queries themselves"`
	GalleryLabels     string            `yaml:"gallery_labels" path:"in" usage:"labels of the gallery"`
	Ranking           string            `yaml:"ranking" path:"in" usage:"evaluate the rankings of another program instead of vectors, as deep as they go: a TREC run, or a .npy of gallery rows as faiss returns them"`
	Qrels             string            `yaml:"qrels" path:"in" usage:"correct answers for each query, by id, in place of labels: TREC qrels, the solution .csv of Google Landmarks, or .json with positives and junk"`
	QrelsUsage        string            `yaml:"qrels_usage" usage:"part of a solution .csv: public or private; empty: both. Of Revisited Oxford and Paris: easy, medium or hard"`
	Levels            settings.TextList `yaml:"levels" usage:"label columns, finest first; empty: those that may be levels. independent before them, or alone, if they do not form a tree"`
	Missing           settings.TextList `yaml:"missing" usage:"cells that mean no class besides the empty one and -1; empty: also nan, None, NA and their kin. The word empty makes -1 a class"`
	Uneven            string            `yaml:"uneven" usage:"rows that lack some levels: refuse, or keep (a missing level says nothing)"`
	EqualIDs          string            `yaml:"equal_ids" usage:"what a query and a gallery item with the same id are: same (image, left out of its ranking) or other (ranked); empty: same, if classes and vectors agree"`
	Also              string            `yaml:"also" path:"in" usage:"further parents of classes, .csv with the columns level, class and also: an item is as relevant as by the best of its paths; empty: those of the run, or else the labels are a tree"`
	Tree              bool              `yaml:"tree" usage:"the labels are a tree, without the further parents that the run names"`
	Ignore            string            `yaml:"ignore" usage:"label column, such as camera: items with the same value as the query are left out of its ranking"`
	Unit              bool              `yaml:"unit" usage:"scale the vectors to length 1 first, so that scores are cosines"`
}

// The words that may stand before the columns of levels.
const (
	treeLevels        = "tree"
	independentLevels = "independent"
)

// levels returns how the levels belong together, and the columns that are levels.
func (s *evalFileSettings) levels() (kind string, columns []string) {
	if len(s.Levels) > 0 && (s.Levels[0] == treeLevels || s.Levels[0] == independentLevels) {
		return s.Levels[0], s.Levels[1:]
	}
	return treeLevels, s.Levels
}

// independent reports whether the levels do not form a tree.
func (s *evalFileSettings) independent() bool {
	kind, _ := s.levels()
	return kind == independentLevels
}

// named reports whether the settings name embeddings or rankings.
func (s *evalFileSettings) named() bool { return s.Embeddings != "" || s.Ranking != "" }

// inputs lists the files to read.
func (s *evalFileSettings) inputs() []string {
	labels, _ := embeddings.LabelsFor(s.Labels, s.Embeddings) // errors are reported when the file is read
	gallery, _ := embeddings.LabelsFor(s.GalleryLabels, s.GalleryEmbeddings)
	return []string{s.Ranking, s.Embeddings, labels, s.GalleryEmbeddings, gallery, s.Qrels, s.Also}
}

// evaluateEmbeddings evaluates vectors from files.
func (e *evaluation) evaluateEmbeddings(j *job, o retrieval.Evaluation) (*retrieval.Result, error) {
	s := &e.Files
	source := s.input(j)
	if err := source.Complete(); err != nil {
		return nil, labelsHint(withCode(exitUsage, err), "hgld eval run")
	}
	s.Labels, s.GalleryLabels = source.Labels, source.GalleryLabels
	b, err := j.openDevice(e.Threads)
	if err != nil {
		return nil, err
	}
	in, err := source.Load(b)
	if err != nil {
		return nil, independentHint(asUsage(err))
	}
	defer in.Close()
	setOptions(in, o, e.Threads)
	if err := s.bindFurther(j, in); err != nil {
		return nil, err
	}
	j.say("evaluating %s: %d queries, %d gallery items, %s", s.Embeddings, len(in.Query.Labels),
		len(in.Gallery.Labels), count(len(in.Levels), "level"))
	p := j.progress("rank", len(in.Query.Labels))
	defer p.End()
	in.Progress = func(done, _ int) { p.Set(done, "") }
	query, gallery, images, err := e.items(j, in)
	if err != nil {
		return nil, err
	}
	defer images.Close()
	outputs, err := e.outputs(j, in.Levels, in.Truth, query, gallery, in.Same, in.Self, in.Classes.Names)
	if err != nil {
		return nil, err
	}
	evaluate := retrieval.Evaluate
	if s.independent() && s.Qrels == "" {
		evaluate = retrieval.EvaluateIndependent
	} else {
		in.Observer = outputs.Look()
	}
	of, err := s.measured()
	if err != nil {
		return nil, errors.Join(err, outputs.Finish(j.ctx, nil, err))
	}
	r, err := evaluate(j.ctx, b, &in.Evaluation)
	if err == nil {
		r.Of = of
		for _, level := range r.WithoutPositives() {
			j.say("level %q: no query shares its class with another item; if the column only names the rows, call it id", level)
		}
	}
	return r, outputs.Finish(j.ctx, r, err)
}

// items returns queries and gallery, with their images if --images names any.
func (e *evaluation) items(j *job, in *embeddings.Evaluation) (query, gallery report.Items, _ io.Closer, err error) {
	a, b := report.Rows{Side: &in.Query}, report.Rows{Side: &in.Gallery}
	if e.Outputs.Images == "" || e.Outputs.Report == "" {
		return a, b, io.NopCloser(nil), nil
	}
	d, closer, err := openItems(&job{ctx: j.ctx, quiet: true}, e.Outputs.Images, "", vectorLabels{})
	if err != nil {
		return nil, nil, nil, err
	}
	find := report.ImagesByID(d)
	return report.ImagedRows{Rows: a, Find: find}, report.ImagedRows{Rows: b, Find: find}, closer, nil
}

// input collects the files to read and how to read them.
func (s *evalFileSettings) input(j *job) *embeddings.Input {
	_, columns := s.levels()
	return &embeddings.Input{Embeddings: s.Embeddings, Labels: s.Labels, GalleryEmbeddings: s.GalleryEmbeddings,
		GalleryLabels: s.GalleryLabels, Unit: s.Unit, Ignore: s.Ignore, Independent: s.independent(), Columns: columns,
		Missing: s.Missing, Uneven: s.Uneven == dataset.KeepUneven, EqualIDs: s.EqualIDs, Part: "validation",
		Limit: j.limit, Qrels: s.Qrels, Usage: s.QrelsUsage, Stay: true, Open: openVectors,
		Verify: verifyVectors(j.ctx), Recorded: index.Recorded, Say: j.say}
}

// bindFurther lets further parents of classes decide, if a file names some.
func (s *evalFileSettings) bindFurther(j *job, in *embeddings.Evaluation) error {
	if s.Also == "" {
		return nil
	}
	list, err := labels.OpenFurtherParents(s.Also)
	if err != nil {
		return err
	}
	truth, err := retrieval.NewFurther(in.Levels, in.Classes.Names, in.Query.Labels, in.Gallery.Labels, list)
	if err != nil {
		return asUsage(err)
	}
	truth.Report(s.Also, list, j.say)
	in.Truth = truth
	return nil
}

// setOptions copies the options to an evaluation of files.
func setOptions(in *embeddings.Evaluation, o retrieval.Evaluation, threads int) {
	in.Metrics, in.Ties, in.Threads, in.PerQuery, in.Mean = o.Metrics, o.Ties, threads, o.PerQuery, o.Mean
	in.Intervals, in.Gap, in.GapSeed, in.Timing = o.Intervals, o.Gap, o.GapSeed, o.Timing
}

// evaluateRankings evaluates the rankings of another program.
func (e *evaluation) evaluateRankings(j *job, o retrieval.Evaluation) (*retrieval.Result, error) {
	if j.limit > 0 {
		return nil, usagef("--limit selects the first vectors, but --ranking has no vectors")
	}
	s := &e.Files
	in, list, err := s.input(j).LoadRankings(s.Ranking)
	if err != nil {
		return nil, independentHint(asUsage(err))
	}
	setOptions(in, o, e.Threads)
	if err := s.bindFurther(j, in); err != nil {
		return nil, err
	}
	j.say("evaluating %s: %d queries, %d gallery items, %s", s.Ranking, len(in.Query.Labels),
		len(in.Gallery.Labels), count(len(in.Levels), "level"))
	r, err := retrieval.EvaluateRankings(j.ctx, &in.Evaluation, list)
	var short *retrieval.ReachError
	if errors.As(err, &short) && short.Has > 0 {
		return nil, withHint(usagef("%s: %w", s.Ranking, err),
			"choose metrics that need no more places with --metrics, such as R@1 and mAP@%d", short.Has)
	}
	if short != nil {
		return nil, withHint(usagef("%s: %w", s.Ranking, err),
			"add its ranking, or leave it out of the labels of the queries")
	}
	if err != nil {
		return nil, asUsage(fmt.Errorf("%s: %w", s.Ranking, err))
	}
	r.Of, err = s.measured()
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
	return fmt.Sprintf("%s --embeddings %s --labels %s", command, word(vectors), word(labels))
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
	var tree *embeddings.NoTreeError
	if errors.As(err, &tree) && !tree.Uneven() {
		return withHint(err, "for columns that do not form a tree, use --levels independent")
	}
	return err
}

// verifyVectors returns a function that compares a file of vectors, or their table, with the record beside it.
func verifyVectors(ctx context.Context) func(path string) error {
	return func(path string) error {
		if err := index.Verify(ctx, path); err != nil {
			return err
		}
		return report.VerifyExport(ctx, path)
	}
}

// openVectors opens a file of vectors and gives its errors their exit codes.
func openVectors(path string) (embeddings.Vectors, error) {
	v, err := embeddings.Open(path)
	var array *tensorfile.FormatError
	var pickle *torchfile.FormatError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if meant := embeddings.Meant(path); meant != "" {
			err = withHint(err, "did you mean %s?", meant)
		}
		return nil, err
	case errors.As(err, new(*registry.UnknownError)), errors.As(err, new(*embeddings.ContentError)),
		errors.As(err, &array) && array.Unsupported, errors.As(err, &pickle) && pickle.Refused != "":
		return nil, withCode(exitUsage, err)
	}
	return v, withCode(exitIntegrity, err)
}
