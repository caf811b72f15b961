package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"hgld/internal/classes"
	"hgld/internal/registry"
	"hgld/internal/settings"
	"hgld/internal/tensorfile"
	"hgld/internal/torchfile"
	"hgld/labels"
	"hgld/train/embeddings"
	"hgld/train/experiment/outputs"
	"hgld/train/index"
	"hgld/train/qrels"
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
	QrelsUsage        string            `yaml:"qrels_usage" flag:"-" usage:"part of a solution .csv: public or private; empty: both. Of Revisited Oxford and Paris: easy, medium or hard; empty: the published table of all three"`
	Levels            settings.TextList `yaml:"levels" usage:"label columns, finest first; empty: those that may be levels. independent before them, or alone, if they do not form a tree"`
	NAValues          settings.TextList `yaml:"na_values" flag:"-" usage:"cells without a class, in addition to empty cells and -1; unset: nan, None, NA and similar. The value empty makes -1 a class"`
	PartialLabels     string            `yaml:"partial_labels" flag:"-" usage:"rows that lack some levels: refuse, or keep (a missing level is unknown)"`
	EqualIDs          string            `yaml:"equal_ids" flag:"-" usage:"whether equal ids denote the same image (same: exclude it; other: rank it); empty: same, if classes and vectors agree"`
	ExtraParents      string            `yaml:"extra_parents" flag:"-" path:"in" none:"true" usage:"extra parents of classes, .csv with the columns level, class and extra_parent: an item is as relevant as by its best path; empty: those of the run; none: the labels are a tree"`
	Ignore            string            `yaml:"ignore" flag:"-" usage:"label column, such as camera: items with the same value as the query are left out of its ranking"`
	Normalize         bool              `yaml:"normalize" flag:"-" usage:"scale the vectors to length 1 first, so that scores are cosines"`
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
	return []string{s.Ranking, s.Embeddings, labels, s.GalleryEmbeddings, gallery, s.Qrels, s.parents()}
}

// parents returns the file of extra parents, or "" for none.
func (s *evalFileSettings) parents() string {
	if s.ExtraParents == settings.None {
		return ""
	}
	return s.ExtraParents
}

// evaluateEmbeddings evaluates vectors from files.
func (e *evalRun) evaluateEmbeddings(j *job, o retrieval.Evaluation) (*retrieval.Result, error) {
	s := &e.Files
	source := s.input(j)
	if err := source.Complete(); err != nil {
		return nil, labelsHint(asUsage(err), "hgld eval run")
	}
	s.Labels, s.GalleryLabels = source.Labels, source.GalleryLabels
	b, err := j.openDevice()
	if err != nil {
		return nil, err
	}
	in, err := source.Load(b)
	if err != nil {
		return nil, independentHint(asUsage(err))
	}
	defer in.Close()
	setOptions(in, o, j.threads)
	if err := s.bindExtra(j, in); err != nil {
		return nil, err
	}
	j.log("evaluating %s: %d queries, %d gallery items, %s", s.Embeddings, len(in.Query.Labels),
		len(in.Gallery.Labels), count(len(in.Levels), "level"))
	p := j.progress("rank", len(in.Query.Labels))
	defer p.End()
	in.Progress = func(done, _ int) { p.Set(done, "") }
	query, gallery, images, err := e.items(j, in)
	if err != nil {
		return nil, err
	}
	defer images.Close()
	names := in.Classes.Names
	if s.Qrels != "" {
		names = nil
	}
	outputs, err := e.outputs(j, in.Levels, in.Truth, query, gallery, in.Same, in.Self, names)
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
			j.log("level %q: no query shares its class with another item; if the column only names the rows, call it id", level)
		}
	}
	return r, outputs.Finish(j.ctx, r, err)
}

// items returns queries and gallery, with their images if --images names any.
func (e *evalRun) items(j *job, in *embeddings.Evaluation) (query, gallery outputs.Items, _ io.Closer, err error) {
	a, b := outputs.Rows{Side: &in.Query}, outputs.Rows{Side: &in.Gallery}
	if e.Outputs.Images == "" || e.Outputs.Report == "" {
		return a, b, io.NopCloser(nil), nil
	}
	d, closer, err := openItems(&job{ctx: j.ctx, quiet: true}, e.Outputs.Images, "", vectorLabels{})
	if err != nil {
		return nil, nil, nil, err
	}
	find := outputs.ImagesByID(d)
	queries := outputs.ImagedRows{Rows: a, Find: find}
	if qrels.IsRevisited(e.Files.QrelsUsage) {
		if queries.BoxOf, err = boxesOf(e.Files.Qrels); err != nil {
			j.log("the page shows queries without their boxes: %v", err)
		}
	}
	return queries, outputs.ImagedRows{Rows: b, Find: find}, closer, nil
}

// input collects the files to read and how to read them.
func (s *evalFileSettings) input(j *job) *embeddings.Input {
	_, columns := s.levels()
	return &embeddings.Input{Embeddings: s.Embeddings, Labels: s.Labels, GalleryEmbeddings: s.GalleryEmbeddings,
		GalleryLabels: s.GalleryLabels, Unit: s.Normalize, EqualIDs: s.EqualIDs, Limit: j.limit, Qrels: s.Qrels,
		Usage: s.QrelsUsage, InPlace: true, Open: openVectors, Verify: verifyVectors(j.ctx),
		Labelling: embeddings.Labelling{Ignore: s.Ignore, Independent: s.independent(), Columns: columns,
			Missing: s.NAValues, Partial: s.PartialLabels == classes.KeepPartial, Part: "validation",
			Recorded: index.Recorded, Log: j.log}}
}

// bindExtra lets extra parents of classes decide, if a file names some.
func (s *evalFileSettings) bindExtra(j *job, in *embeddings.Evaluation) error {
	file := s.parents()
	if file == "" {
		return nil
	}
	list, err := labels.OpenExtraParents(file)
	if err != nil {
		return err
	}
	truth, err := retrieval.NewMultiParent(in.Levels, in.Classes.Names, in.Query.Labels, in.Gallery.Labels, list)
	if err != nil {
		return asUsage(err)
	}
	truth.Report(file, list, j.log)
	in.Truth = truth
	return nil
}

// setOptions copies the options to an evaluation of files.
func setOptions(in *embeddings.Evaluation, o retrieval.Evaluation, threads int) {
	in.Metrics, in.Ties, in.Threads, in.PerQuery, in.Mean = o.Metrics, o.Ties, threads, o.PerQuery, o.Mean
	in.Intervals, in.Gap, in.GapSeed, in.Timing = o.Intervals, o.Gap, o.GapSeed, o.Timing
}

// evaluateRankings evaluates the rankings of another program.
func (e *evalRun) evaluateRankings(j *job, o retrieval.Evaluation) (*retrieval.Result, error) {
	if j.limit > 0 {
		return nil, usagef("--limit selects the first vectors, but --ranking has no vectors")
	}
	s := &e.Files
	in, list, err := s.input(j).LoadRankings(s.Ranking)
	if err != nil {
		return nil, independentHint(asUsage(err))
	}
	setOptions(in, o, j.threads)
	in.Unranked = e.Measures.Mean == allQueries
	if err := s.bindExtra(j, in); err != nil {
		return nil, err
	}
	j.log("evaluating %s: %d queries, %d gallery items, %s", s.Ranking, len(in.Query.Labels),
		len(in.Gallery.Labels), count(len(in.Levels), "level"))
	r, err := retrieval.EvaluateRankings(j.ctx, &in.Evaluation, list)
	var short *retrieval.RankingTooShortError
	if errors.As(err, &short) && short.Has > 0 {
		return nil, withHint(usagef("%s: %w", s.Ranking, err),
			"choose metrics that need no more places with --metrics, such as R@1 and mAP@%d", short.Has)
	}
	if short != nil {
		return nil, withHint(usagef("%s: %w", s.Ranking, err),
			"add its ranking, leave it out of the labels of the queries, or pass -o mean=all to count it as 0")
	}
	if err != nil {
		return nil, asUsage(fmt.Errorf("%s: %w", s.Ranking, err))
	}
	r.Of, err = s.measured()
	return r, err
}

// asUsage gives errors about files that do not fit together the exit code of wrong usage, and those about damaged
// arrays, read for vectors or for labels, that of damage. Errors that have an exit code, and errors about impossible
// values, keep theirs.
func asUsage(err error) error {
	var array *tensorfile.FormatError
	var pickle *torchfile.FormatError
	switch {
	case exitCode(err) != exitFailed || errors.As(err, new(*embeddings.ValuesError)):
		return err
	case errors.As(err, &array) && !array.Unsupported, errors.As(err, &pickle) && pickle.Refused == "":
		return withCode(exitIntegrity, err)
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
	if errors.As(err, &tree) && !tree.Partial() {
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
		return outputs.VerifyExport(ctx, path)
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

// vectorsAdvice has the exit codes and next steps for errors of files of vectors and labels.
var vectorsAdvice = []advice{
	kind(exitOK, func(*embeddings.TwoTablesError) string { return "choose one with --labels" }),
	sentinel(embeddings.ErrNoClasses, exitOK, "name them with --levels, or give the labels as a .csv with --labels"),
	kind(exitUsage, func(e *classes.NoLevelError) string {
		return "to use this column anyway, pass --levels " + word(e.Level)
	}),
	kind(exitOK, func(e *embeddings.NoTreeError) string {
		if e.Partial() {
			return fillIn
		}
		return ""
	}),
	kind(exitUsage, func(*embeddings.SameIDError) string {
		return "set equal_ids to " + embeddings.SameImages + " to exclude them as the same image, or to " +
			embeddings.OtherImages + " to rank them"
	}),
	kind(exitUsage, func(e *classes.UndecidedError) string {
		return "name them finest first: --levels " + word(strings.Join(e.Levels, ","))
	}),
	kind(exitOK, convertVectors),
	kind(exitOK, oneOfSeveral),
	kind(exitOK, missingLabels),
}

// missingLabels is the hint for vectors without labels.
func missingLabels(e *embeddings.NoLabelsError) string {
	flag := map[bool]string{false: "--labels", true: "--gallery-labels"}[e.Gallery]
	if len(e.Tables) == 0 {
		return flag + " names a table with a heading such as id,product,category: the levels, finest first"
	}
	return fmt.Sprintf("%s names one of %s", flag, strings.Join(e.Tables[:min(len(e.Tables), 5)], ", "))
}

// convertVectors is the hint for a file of vectors of another kind.
func convertVectors(e *embeddings.KindError) string {
	extension := filepath.Ext(e.Path)
	npy := strings.TrimSuffix(e.Path, extension) + ".npy"
	from, to := strconv.Quote(e.Path), strconv.Quote(npy)
	python := func(imports, array string) string {
		return "python3 -c " + word(fmt.Sprintf("import %s; np.save(%s, %s)", imports, to, array))
	}
	switch extension {
	case ".csv", ".tsv", ".txt":
		comma := map[string]string{".csv": `, delimiter=","`}[extension]
		return fmt.Sprintf("for labels, use --labels; if it holds vectors, %s makes %s of it",
			python("numpy as np", fmt.Sprintf("np.loadtxt(%s%s)", from, comma)), word(npy))
	case ".h5", ".hdf5":
		return fmt.Sprintf("%s makes %s of its dataset NAME",
			python("h5py, numpy as np", fmt.Sprintf(`h5py.File(%s)["NAME"][:]`, from)), word(npy))
	case ".mat":
		return fmt.Sprintf("%s makes %s of its array NAME",
			python("scipy.io, numpy as np", fmt.Sprintf(`scipy.io.loadmat(%s)["NAME"]`, from)), word(npy))
	case ".fvecs":
		return fmt.Sprintf("%s makes %s of it", python("numpy as np", fmt.Sprintf(
			`(a := np.fromfile(%s, "<i4")).reshape(-1, a[0] + 1)[:, 1:].view("<f4")`, from)), word(npy))
	case ".faiss", ".index":
		return fmt.Sprintf("%s makes %s of its vectors", python("faiss, numpy as np", fmt.Sprintf(
			"(i := faiss.read_index(%s)).reconstruct_n(0, i.ntotal)", from)), word(npy))
	case ".joblib":
		return fmt.Sprintf("use np.save(%s, x) in the program that made it", to)
	}
	return ""
}

// oneOfSeveral is the hint for a file with several arrays of floats.
func oneOfSeveral(e *embeddings.SeveralError) string {
	load := map[string]string{
		".npz":         "import numpy as np; x = np.load(%[1]s)[%[2]s]",
		".safetensors": "import numpy as np; from safetensors.numpy import load_file; x = load_file(%[1]s)[%[2]s]",
		".pt":          "import numpy as np, torch; x = torch.load(%[1]s)[%[2]s]",
		".pkl":         "import numpy as np, pickle; x = pickle.load(open(%[1]s, 'rb'))[%[2]s]",
	}
	form := load[filepath.Ext(e.Path)]
	if form == "" {
		return ""
	}
	name := e.Names[0]
	to := strings.TrimSuffix(e.Path, filepath.Ext(e.Path)) + "-vectors.npy"
	line := fmt.Sprintf(form+"; np.save(%[3]s, x)", strconv.Quote(e.Path), strconv.Quote(name), strconv.Quote(to))
	return fmt.Sprintf("python3 -c %s makes %s of %s", word(line), word(to), word(name))
}
