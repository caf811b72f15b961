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
	"hgld/train/evaluation"
	"hgld/train/history"
	"hgld/train/metric"
	"hgld/train/selection"
)

// evalSettings is the section "eval" of hgld.yaml. A model is evaluated on the data of
// its run, unless data are named here. Embeddings from files need no model.
type evalSettings struct {
	Run       string `yaml:"run" path:"in" usage:"run directory, or one of its checkpoints"`
	Best      bool   `yaml:"best" usage:"evaluate the best checkpoint of the run, not the newest"`
	Untrained bool   `yaml:"untrained" usage:"evaluate the network before its training: the baseline"`

	Data        string   `yaml:"data" path:"in" usage:"folder of shards; empty: the folder and images of the run"`
	Splits      []string `yaml:"splits" usage:"with hold-out: splits whose classes are held out"`
	HoldOut     float64  `yaml:"hold_out" range:"0 1" usage:"evaluate the classes that a training with this hold_out left out"`
	HoldOutSeed uint64   `yaml:"hold_out_seed" usage:"which classes were left out"`
	Query       string   `yaml:"query" usage:"split of the queries"`
	Gallery     string   `yaml:"gallery" usage:"split to rank; empty: the queries themselves"`

	LeaveOutCopies bool `yaml:"leave_out_copies" usage:"leave images of the gallery that equal the query byte for byte out of its ranking"`

	Embeddings        string `yaml:"embeddings" path:"in" usage:"evaluate these vectors (.npy, .safetensors, .parquet, .pt) instead of a model"`
	Labels            string `yaml:"labels" path:"in" usage:"labels of the vectors: .csv with a column for each level, finest first, .npy of integers, or .parquet with label_0, label_1 …; empty: in the .parquet of the vectors, or the .csv or .tsv of their name"`
	GalleryEmbeddings string `yaml:"gallery_embeddings" path:"in" usage:"vectors to rank; empty: the queries themselves"`
	GalleryLabels     string `yaml:"gallery_labels" path:"in" usage:"labels of the gallery"`
	Ranking           string `yaml:"ranking" path:"in" usage:"measure these rankings of another program, as far as they reach, not vectors: a TREC run, or .npy of rows of the gallery as faiss finds them"`
	Qrels             string `yaml:"qrels" path:"in" usage:"what is right for each query, by ids, in place of labels: TREC qrels, the solution .csv of Google Landmarks, or .json with positives and junk"`
	QrelsUsage        string `yaml:"qrels_usage" usage:"part of a solution .csv: public or private; empty: both"`
	Levels            string `yaml:"levels" usage:"tree, or independent for columns of labels that are no tree"`
	Ignore            string `yaml:"ignore" usage:"column of the labels, such as camera: items that share its value with the query are taken out of its ranking"`
	Unit              bool   `yaml:"unit" usage:"scale the vectors to length 1 first, so that scores are cosines"`

	Metrics  []string `yaml:"metrics" usage:"metrics: R@k P@k TR@k AP AP#l mAP@R mAP@k MRR Rprec H-AP ASI NDCG NDCG@k"`
	Ties     string   `yaml:"ties" usage:"order of equal scores: row, or average over all orders"`
	PerQuery bool     `yaml:"per_query" usage:"keep the values of every query"`
	Mean     string   `yaml:"mean" usage:"what counts once in a mean: query, or class, the mean over the queries of each finest class"`

	Intervals bool   `yaml:"intervals" usage:"give every figure its 95 % interval, by a bootstrap"`
	Gap       int    `yaml:"gap" range:"0 1e9" usage:"measure the decomposability gap of batches of this size, dealt by seed; 0: not"`
	Resample  string `yaml:"resample" usage:"what the bootstrap draws again: query, or class with all its queries"`
	Seed      uint64 `yaml:"seed" usage:"of the bootstrap, and of the batches of gap"`

	Threads int    `yaml:"threads" range:"0 1024" usage:"0: all processors"`
	Out     string `yaml:"out" path:"out" usage:"file for the result"`

	Report     string             `yaml:"report" path:"out" usage:"HTML page to write: levels, curves, a map and what is retrieved"`
	Images     string             `yaml:"images" path:"in" usage:"with report: folder, archive or shards with the images that the ids of the vectors name"`
	TREC       string             `yaml:"trec" path:"out" usage:"write PREFIX.run and PREFIX.qrels for trec_eval"`
	TRECPlaces int                `yaml:"trec_places" range:"1 1e7" usage:"places of each query in PREFIX.run"`
	export     *evaluation.Export // of hgld eval export; nil elsewhere

	TRECLeast int `yaml:"trec_least" range:"0 64" usage:"least number of levels that an item of PREFIX.qrels shares with the query: 1 is the coarsest class, 0 all levels, the finest class"`
}

const (
	evalExamples = "  hgld eval run                           the model in runs/default, on its own data\n" +
		"  hgld eval run --best                    its best checkpoint in place of the newest\n" +
		"  hgld eval run --untrained               the same network before the training\n" +
		"  hgld eval run --embeddings e.npy --labels l.csv"
	evalRunExamples = evalExamples + "\n" +
		"  hgld eval run --run runs/happier --query test --gallery train\n" +
		"  hgld eval run --metrics R@1,mAP@100,H-AP --ties average --json\n" +
		"  hgld eval run --report eval.html        with curves, a map and what is retrieved\n" +
		"  hgld eval run --trec happier            happier.run and happier.qrels for trec_eval"
)

func evalStage() pipeline.StageOf[evalSettings] {
	return pipeline.New(pipeline.Spec[evalSettings]{
		Name: "eval", Command: "eval run",
		Defaults: evalSettings{Run: "runs/default", HoldOutSeed: 1, Unit: true, Metrics: train.DefaultMetrics(), Ties: "row",
			Levels: "tree", Mean: "query", Intervals: true, Resample: "query", Seed: 1, Out: "eval.json", TRECPlaces: 1000},
		Files: func(s *evalSettings) (in, out []string) {
			if s.Embeddings != "" || s.Ranking != "" {
				labels, _ := embeddings.LabelsFor(s.Labels, s.Embeddings) // its error comes when it is read
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
	return group("eval", "measure retrieval, of a model or of anybody's embeddings", evalExamples,
		profiled(computing(stageCommand(evalStage().Stage, "run", "rank the gallery for every query and print the metrics",
			evalRunExamples))),
		evalEmbedCommand(), evalExportCommand(), evalCompareCommand(), evalOverallCommand(), evalRevisitedCommand())
}

// profiled adds the flag that job.profile reads.
func profiled(c *cli.Command) *cli.Command {
	c.Flags = append(c.Flags, &cli.BoolFlag{Name: "profile", Usage: "show the time that each part of a ranking takes"})
	return c
}

// tieRules names the orders of equal scores.
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
		o.Parts = new(train.Parts)
	}
	var result *train.Result
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
	saved := history.WriteJSON(s.Out, result) // what was measured is shown even where it cannot be kept
	if j.json {
		return errors.Join(saved, writeJSON(j, result), page)
	}
	return errors.Join(saved, result.Table(j.stdout), page)
}

// evalModel evaluates the network of a run on images.
func evalModel(j *job, s *evalSettings, o train.EvalOptions) (result *train.Result, err error) {
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
		return nil, withHint(usagef("no images are named as queries"),
			"name a split with --query, and one with --gallery that they rank, or a share of classes with --hold-out")
	}
	if j.limit > 0 {
		data.Query = train.First(data.Query, j.limit)
	}
	ranked := data.Gallery
	if ranked == nil {
		ranked = data.Query
	}
	if s.LeaveOutCopies && data.Gallery != nil {
		copies := 0
		if o.Self, copies, err = train.Copies(j.ctx, data.Query, data.Gallery); err != nil {
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

// model opens the network that is evaluated.
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

// state describes how far the network is trained.
func (s *evalSettings) state(m *train.Model) string {
	if s.Untrained {
		return "untrained"
	}
	return fmt.Sprintf("after %d steps", m.Step)
}

// showEmbedding shows how many of all images are embedded.
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

// evalBenchmarks evaluates a test of several parts, one per level, each with its own
// images. Outputs that show single rankings need a single data set.
func evalBenchmarks(j *job, s *evalSettings, o train.EvalOptions, choice *selection.Images,
	data *selection.Data) (result *train.Result, err error) {
	for _, of := range []struct {
		flag string
		set  bool
	}{{"report", s.Report != ""}, {"places", s.export != nil}, {"trec", s.TREC != ""}, {"per-query", s.PerQuery},
		{"leave-out-copies", s.LeaveOutCopies}, {"limit", j.limit > 0}} {
		if of.set {
			return nil, withHint(usagef("--%s needs one data set, and the test of %s has several: %s", of.flag, s.Run,
				strings.Join(choice.Benchmarks, ", ")),
				"--data FOLDER --query query --gallery gallery names one of them")
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

// checkpointOf returns the run itself, which means its newest checkpoint, or the
// checkpoint that its best.json names.
func checkpointOf(run string, best bool) (string, error) {
	if !best {
		return run, nil
	}
	b, err := train.ReadBest(run)
	if errors.Is(err, fs.ErrNotExist) {
		return "", withHint(usagef("%s has no %s, as a run directory has after an evaluation in the training", run,
			train.BestFile),
			"without --best (in hgld.yaml: eval.best: false) the newest checkpoint is taken")
	}
	return filepath.Join(run, b.Checkpoint), trainError(err)
}

// choice returns the data to evaluate on: the data in the settings, or else the data of
// the run.
func (s *evalSettings) choice() (*selection.Images, error) {
	run, err := history.ReadSettings(s.Run)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(s.Run, history.CheckpointsFolder)); run == nil && pipeline.IsMissing(err) {
		if _, err := os.Stat(filepath.Join(s.Run, "SHA256SUMS")); pipeline.IsMissing(err) || shards.IsDataSet(s.Run) {
			return nil, withHint(usagef("%s is neither a run directory nor a checkpoint", s.Run),
				"hgld runs list lists the runs; images are named with --data")
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
		c.Splits = []string{c.Query} // nothing is trained: the data may have no training images
	}
	return &c, nil
}
