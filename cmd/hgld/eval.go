package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/internal/pipeline"
	"hgld/shards"
	"hgld/train"
	"hgld/train/embeddings"
	"hgld/train/history"
	"hgld/train/input"
	"hgld/train/metric"
	"hgld/train/report"
	"hgld/train/retrieval"
	"hgld/train/selection"
)

// evalSettings is the section "eval" of hgld.yaml. A model is evaluated on the data of
// its run unless this section names other data. Embeddings from files need no model.
type evalSettings struct {
	Run       string `yaml:"run" path:"in" usage:"run directory, or one of its checkpoints"`
	Best      bool   `yaml:"best" usage:"evaluate the best checkpoint of the run, not the newest"`
	Untrained bool   `yaml:"untrained" usage:"evaluate the untrained network, as a baseline"`

	Data        string   `yaml:"data" path:"in" usage:"folder of shards; empty: the folder and images of the run"`
	Splits      []string `yaml:"splits" usage:"with hold-out: splits whose classes are held out"`
	HoldOut     float64  `yaml:"hold_out" range:"0 1" usage:"evaluate the classes that a training with this hold_out left out"`
	HoldOutSeed uint64   `yaml:"hold_out_seed" usage:"which classes were left out"`
	Query       string   `yaml:"query" usage:"split of the queries"`
	Gallery     string   `yaml:"gallery" usage:"split to rank; empty: the queries themselves"`

	LeaveOutCopies bool `yaml:"leave_out_copies" usage:"leave gallery images that equal the query byte for byte out of its ranking"`

	Embeddings        string `yaml:"embeddings" path:"in" usage:"evaluate these vectors (.npy, .safetensors, .parquet, .pt) instead of a model"`
	Labels            string `yaml:"labels" path:"in" usage:"labels of the vectors: .csv with a column for each level, finest first, .npy of integers, or .parquet with label_0, label_1 …; empty: the .parquet of the vectors, or the .csv or .tsv of the same name"`
	GalleryEmbeddings string `yaml:"gallery_embeddings" path:"in" usage:"vectors to rank; empty: the queries themselves"`
	GalleryLabels     string `yaml:"gallery_labels" path:"in" usage:"labels of the gallery"`
	Ranking           string `yaml:"ranking" path:"in" usage:"evaluate the rankings of another program instead of vectors, as deep as they go: a TREC run, or a .npy of gallery rows as faiss returns them"`
	Qrels             string `yaml:"qrels" path:"in" usage:"correct answers for each query, by id, in place of labels: TREC qrels, the solution .csv of Google Landmarks, or .json with positives and junk"`
	QrelsUsage        string `yaml:"qrels_usage" usage:"part of a solution .csv: public or private; empty: both"`
	Levels            string `yaml:"levels" usage:"tree, or independent if the label columns do not form a tree"`
	Ignore            string `yaml:"ignore" usage:"label column, such as camera: items with the same value as the query are left out of its ranking"`
	Unit              bool   `yaml:"unit" usage:"scale the vectors to length 1 first, so that scores are cosines"`

	Metrics  []string `yaml:"metrics" usage:"metrics: R@k P@k TR@k AP AP#l mAP@R mAP@k MRR Rprec H-AP ASI NDCG NDCG@k"`
	Ties     string   `yaml:"ties" usage:"order of equal scores: row, or average over all orders"`
	PerQuery bool     `yaml:"per_query" usage:"keep the values of every query"`
	Mean     string   `yaml:"mean" usage:"what a mean is taken over: query, or class (first the mean of the queries of each finest class)"`

	Intervals bool   `yaml:"intervals" usage:"compute a 95 % bootstrap interval of every figure"`
	Gap       int    `yaml:"gap" range:"0 1e9" usage:"measure the decomposability gap for random batches of this size; 0: do not"`
	Resample  string `yaml:"resample" usage:"what the bootstrap resamples: query, or class with all its queries"`
	Seed      uint64 `yaml:"seed" usage:"seed of the bootstrap, and of the batches of gap"`

	Threads int    `yaml:"threads" range:"0 1024" usage:"0: all processors"`
	Out     string `yaml:"out" path:"out" usage:"file for the result"`

	Report     string         `yaml:"report" path:"out" usage:"HTML page to write: figures per level, curves, a map, and the images retrieved"`
	Images     string         `yaml:"images" path:"in" usage:"with report: folder, archive or shards with the images named by the ids of the vectors"`
	TREC       string         `yaml:"trec" path:"out" usage:"write PREFIX.run and PREFIX.qrels for trec_eval"`
	TRECPlaces int            `yaml:"trec_places" range:"1 1e7" usage:"length of each ranking in PREFIX.run"`
	export     *report.Export // set by hgld eval export only

	TRECLeast int `yaml:"trec_least" range:"0 64" usage:"how many levels an item must share with the query to be listed in PREFIX.qrels: 1 is the coarsest class, 0 all levels, the finest class"`
}

const (
	evalExamples = "  hgld eval run                           the model in runs/default, on its own data\n" +
		"  hgld eval run --best                    its best checkpoint in place of the newest\n" +
		"  hgld eval run --untrained               the same network before training\n" +
		"  hgld eval run --embeddings e.npy --labels l.csv"
	evalRunExamples = evalExamples + "\n" +
		"  hgld eval run --run runs/happier --query test --gallery train\n" +
		"  hgld eval run --metrics R@1,mAP@100,H-AP --ties average --json\n" +
		"  hgld eval run --report eval.html        with curves, a map and retrieved images\n" +
		"  hgld eval run --trec happier            happier.run and happier.qrels for trec_eval"
)

func evalStage() pipeline.StageOf[evalSettings] {
	return pipeline.New(pipeline.Spec[evalSettings]{
		Name: "eval", Command: "eval run",
		Defaults: evalSettings{Run: "runs/default", HoldOutSeed: 1, Unit: true, Metrics: train.DefaultMetrics(), Ties: "row",
			Levels: "tree", Mean: "query", Intervals: true, Resample: "query", Seed: 1, Out: "eval.json", TRECPlaces: 1000},
		Files: func(s *evalSettings) (in, out []string) {
			if s.Embeddings != "" || s.Ranking != "" {
				labels, _ := embeddings.LabelsFor(s.Labels, s.Embeddings) // errors are reported when the file is read
				gallery, _ := embeddings.LabelsFor(s.GalleryLabels, s.GalleryEmbeddings)
				return []string{s.Ranking, s.Embeddings, labels, s.GalleryEmbeddings, gallery, s.Qrels}, []string{s.Out}
			}
			return []string{s.Run, s.Data}, []string{s.Out}
		},
		Run:    onJob(runEval),
		Checks: []func(*evalSettings) error{(*evalSettings).check},
	})
}

func evalCommand() *cli.Command {
	return group("eval", "measure retrieval by a model, or by embeddings of any program", evalExamples,
		profiled(computing(stageCommand(evalStage().Stage, "run", "rank the gallery for every query and print the metrics",
			evalRunExamples))),
		evalEmbedCommand(), evalExportCommand(), evalCompareCommand(), evalOverallCommand(), evalRevisitedCommand())
}

// profiled adds the flag that job.profile reads.
func profiled(c *cli.Command) *cli.Command {
	c.Flags = append(c.Flags, &cli.BoolFlag{Name: "profile", Usage: "show how long each part of ranking takes"})
	return c
}

// tieRules maps the setting ties to a rule for equal scores.
var tieRules = map[string]metric.Ties{"row": metric.ScoreThenRow, "average": metric.AverageTies}

func runEval(j *job, s *evalSettings) error {
	set, err := metric.ParseSet(s.Metrics)
	if err != nil {
		return withCode(exitUsage, err)
	}
	ties, known := tieRules[s.Ties]
	if !known {
		return usagef("ties is %.80q, want row or average", s.Ties)
	}
	mean, intervals, err := s.sureness()
	if err != nil {
		return err
	}
	o := train.EvalOptions{Metrics: set, Ties: ties, Mean: mean, Intervals: intervals, Gap: s.Gap, GapSeed: s.Seed,
		PerQuery: s.PerQuery || s.Report != ""} // the report shows single queries
	if j.profile {
		o.Parts = new(retrieval.Timing)
	}
	var result *retrieval.Result
	if s.Ranking != "" {
		result, err = evalRankings(j, s, o)
	} else if s.Embeddings != "" {
		result, err = evalEmbeddings(j, s, o)
	} else {
		result, err = evalModel(j, s, o)
	}
	if err != nil && !isUnshown(err) {
		return err
	}
	page := pageError(err)
	if o.Parts != nil {
		j.say("%s", o.Parts)
	}
	result.Tool = thisTool()
	if !s.PerQuery {
		result.PerQuery = nil
	}
	saved := history.WriteJSON(s.Out, result) // print the result even if it cannot be written
	if j.json {
		return errors.Join(saved, writeJSON(j, result), page)
	}
	return errors.Join(saved, result.Table(j.stdout), page)
}

// evalModel evaluates the network of a run on images.
func evalModel(j *job, s *evalSettings, o train.EvalOptions) (result *retrieval.Result, err error) {
	choice, err := s.choice()
	if err != nil {
		return nil, err
	}
	data, err := openData(choice)
	if err != nil {
		return nil, err
	}
	defer data.Close()
	if len(data.Benchmarks) > 0 {
		return evalBenchmarks(j, s, o, choice, data)
	}
	if data.Query == nil {
		return nil, withHint(usagef("no query images are selected"),
			"name the splits with --query and --gallery, or hold out a share of the classes with --hold-out")
	}
	if j.limit > 0 {
		data.Query = input.First(data.Query, j.limit)
	}
	ranked := data.Gallery
	if ranked == nil {
		ranked = data.Query
	}
	if s.LeaveOutCopies && data.Gallery != nil {
		copies := 0
		if o.Self, copies, err = input.Copies(j.ctx, data.Query, data.Gallery); err != nil {
			return nil, err
		}
		j.say("%d of %d queries are also in the gallery; each is left out of its own ranking", copies, len(o.Self))
	}
	outputs, err := s.outputs(j, data.Query.Levels(), data.Query, ranked, data.Gallery == nil, o.Self, data.Query.Classes)
	if err != nil {
		return nil, err
	}
	defer func() { err = outputs.Finish(j.ctx, result, err) }()
	o.Look = outputs.Look()
	m, err := s.model(j)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	images := data.Query.Len()
	if data.Gallery != nil {
		images += data.Gallery.Len()
	}
	j.say("evaluating %s, %s, on %d images of %s", m.Path, s.state(m), images, choice.Files()[0])
	of, err := s.subject(j, m, choice, data)
	if err != nil {
		return nil, err
	}
	done := showEmbedding(j, &o, images)
	defer done()
	result, err = m.Evaluate(j.ctx, data.Query, data.Gallery, o)
	if err != nil {
		return nil, trainError(err)
	}
	result.Of = of
	return result, nil
}

// model opens the network to evaluate.
func (s *evalSettings) model(j *job) (*train.Model, error) {
	path, err := checkpointOf(s.Run, s.Best && !s.Untrained)
	if err != nil {
		return nil, err
	}
	decoder, _, err := imageDecoder()
	if err != nil {
		return nil, err
	}
	b, err := j.openDevice(s.Threads)
	if err != nil {
		return nil, err
	}
	m, err := train.Open(path, b, decoder, s.Untrained)
	return m, trainError(err)
}

// state says how long the network was trained.
func (s *evalSettings) state(m *train.Model) string {
	if s.Untrained {
		return "untrained"
	}
	return fmt.Sprintf("after %d steps", m.Step)
}

// showEmbedding shows the progress of embedding all images.
func showEmbedding(j *job, o *train.EvalOptions, images int) (end func()) {
	p := j.progress("embed", images)
	before := 0
	o.Progress = func(done, total int) {
		p.Set(before+done, "")
		if done == total {
			before += total
		}
	}
	return p.End
}

// evalBenchmarks evaluates a test that consists of several data sets, one per level. It
// returns a usage error for outputs that show single rankings, which need one data set.
func evalBenchmarks(j *job, s *evalSettings, o train.EvalOptions, choice *selection.Images,
	data *selection.Data) (result *retrieval.Result, err error) {
	for _, of := range []struct {
		flag string
		set  bool
	}{{"report", s.Report != ""}, {"places", s.export != nil}, {"trec", s.TREC != ""}, {"per-query", s.PerQuery},
		{"leave-out-copies", s.LeaveOutCopies}, {"limit", j.limit > 0}} {
		if of.set {
			return nil, withHint(usagef("--%s needs one data set, and the test of %s has several: %s", of.flag, s.Run,
				strings.Join(choice.Benchmarks, ", ")),
				"choose one of them: --data FOLDER --query query --gallery gallery")
		}
	}
	m, err := s.model(j)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	images := 0
	for _, b := range data.Benchmarks {
		images += b.Query.Len()
		if b.Gallery != nil {
			images += b.Gallery.Len()
		}
	}
	j.say("evaluating %s, %s, on %d images of %s", m.Path, s.state(m), images, strings.Join(choice.Benchmarks, ", "))
	of, err := s.subject(j, m, choice, data)
	if err != nil {
		return nil, err
	}
	done := showEmbedding(j, &o, images)
	defer done()
	result, err = m.Benchmarks(j.ctx, data.Benchmarks, o)
	if err != nil {
		return nil, trainError(err)
	}
	result.Of = of
	return result, nil
}

// checkpointOf returns the path of the checkpoint to load: the run itself, which stands
// for its newest checkpoint, or with best the one named in its best.json.
func checkpointOf(run string, best bool) (string, error) {
	if !best {
		return run, nil
	}
	b, err := train.ReadBest(run)
	if errors.Is(err, fs.ErrNotExist) {
		return "", withHint(usagef("%s has no %s, which a run gets when it is evaluated during training", run,
			train.BestFile),
			"without --best (in hgld.yaml: eval.best: false) the newest checkpoint is taken")
	}
	return filepath.Join(run, b.Checkpoint), trainError(err)
}

// choice returns the data to evaluate on: those of the settings if given, otherwise those
// of the run.
func (s *evalSettings) choice() (*selection.Images, error) {
	run, err := history.ReadSettings(s.Run)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(s.Run, history.CheckpointsFolder)); run == nil && pipeline.IsMissing(err) {
		if _, err := os.Stat(filepath.Join(s.Run, "SHA256SUMS")); pipeline.IsMissing(err) || shards.IsDataSet(s.Run) {
			return nil, withHint(usagef("%s is neither a run directory nor a checkpoint", s.Run),
				"hgld runs list lists the runs; name images with --data")
		}
	}
	c := selection.Default()
	if run != nil {
		c = run.Images
	}
	if s.Data != "" {
		c.Data, c.Benchmarks = s.Data, nil
	}
	if len(s.Splits) > 0 {
		c.Splits = s.Splits
	}
	if s.HoldOut != 0 {
		c.HoldOut, c.HoldOutSeed, c.Query, c.Gallery, c.Benchmarks = s.HoldOut, s.HoldOutSeed, "", "", nil
	}
	if s.Query != "" {
		c.HoldOut, c.Query, c.Gallery, c.Benchmarks = 0, s.Query, s.Gallery, nil
	}
	if c.HoldOut == 0 && c.Query != "" {
		c.Splits = []string{c.Query} // an evaluation needs no training images
	}
	return &c, nil
}
