package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"hgld/internal/pipeline"
	"hgld/labels"
	"hgld/shards"
	"hgld/train"
	"hgld/train/history"
	"hgld/train/input"
	"hgld/train/retrieval"
	"hgld/train/selection"
)

// evalModelSettings choose the model to evaluate.
type evalModelSettings struct {
	Run       string `yaml:"run" path:"in" usage:"run directory, or one of its checkpoints"`
	Best      bool   `yaml:"best" usage:"evaluate the best checkpoint of the run, not the newest"`
	Untrained bool   `yaml:"untrained" usage:"evaluate the untrained network, as a baseline"`
}

// evalImageSettings choose the images to evaluate a model on. By default these are the images
// that its run names.
type evalImageSettings struct {
	Data           string   `yaml:"data" path:"in" store:"s3" usage:"folder of shards, or s3://bucket/prefix; empty: the folder and images of the run"`
	Splits         []string `yaml:"splits" usage:"with hold-out: splits whose classes are held out"`
	HoldOut        float64  `yaml:"hold_out" range:"0 1" usage:"evaluate the classes that a training with this hold_out left out"`
	HoldOutSeed    uint64   `yaml:"hold_out_seed" usage:"which classes were left out"`
	Query          string   `yaml:"query" usage:"split of the queries"`
	Gallery        string   `yaml:"gallery" usage:"split to rank; empty: the queries themselves"`
	LeaveOutCopies bool     `yaml:"leave_out_copies" usage:"leave gallery images that equal the query byte for byte out of its ranking"`
}

// evaluateModel evaluates the network of a run on images.
func (e *evaluation) evaluateModel(j *job, o retrieval.Evaluation) (result *retrieval.Result, err error) {
	choice, err := e.Images.choice(j.ctx, e.Model.Run)
	if err != nil {
		return nil, err
	}
	choice.Also = cmp.Or(e.Files.Also, choice.Also)
	if e.Files.Tree {
		choice.Also = ""
	}
	data, err := openDataOf(j.ctx, choice, j.say)
	if err != nil {
		return nil, e.furtherHint(err, choice.Also)
	}
	defer data.Close()
	if len(data.Benchmarks) > 0 {
		return e.evaluateBenchmarks(j, o, choice, data)
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
	if e.Images.LeaveOutCopies && data.Gallery != nil {
		copies := 0
		if o.Self, copies, err = input.Copies(j.ctx, data.Query, data.Gallery); err != nil {
			return nil, err
		}
		j.say("%d of %d queries are also in the gallery; each is left out of its own ranking", copies, len(o.Self))
	}
	if o.Truth, err = train.TruthOf(data.Further, data.Query, data.Gallery); err != nil {
		return nil, asUsage(err)
	}
	outputs, err := e.outputs(j, data.Query.Levels(), o.Truth, data.Query, ranked, data.Gallery == nil, o.Self,
		data.Query.Classes)
	if err != nil {
		return nil, err
	}
	defer func() { err = outputs.Finish(j.ctx, result, err) }()
	o.Observer = outputs.Look()
	m, err := e.Model.open(j, e.Threads)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	images := data.Query.Len()
	if data.Gallery != nil {
		images += data.Gallery.Len()
	}
	j.say("evaluating %s, %s, on %d images of %s", m.Path, e.Model.stepsText(m), images, choice.Files()[0])
	of, err := e.subject(j, m, choice, data)
	if err != nil {
		return nil, err
	}
	noteDuplicates(j, choice)
	done := showEmbedding(j, &o, images)
	defer done()
	result, err = m.Evaluate(j.ctx, data.Query, data.Gallery, o)
	if err != nil {
		return nil, err
	}
	result.Of = of
	return result, nil
}

// furtherHint adds the settings that help if the further parents of the run are missing, or do not fit the data.
func (e *evaluation) furtherHint(err error, also string) error {
	if e.Files.Also != "" || also == "" ||
		len(pipeline.Missing([]string{also})) == 0 && !errors.As(err, new(*labels.FurtherLevelError)) {
		return err
	}
	return withHint(err, "the run names further parents of classes, %s: --tree measures without any, and --also FILE "+
		"with others", also)
}

// noteDuplicates tells the user of evaluated images that other splits have too, or other classes.
func noteDuplicates(j *job, choice *selection.Images) {
	twice, err := shards.ReadDuplicates(j.ctx, choice.Data)
	if err != nil {
		return // not shards, or damaged, as verify says
	}
	j.sayAll("note: %s", twice.Notes(labels.Split(choice.Query), labels.Split(choice.Gallery)))
}

// open opens the network to evaluate. threads applies to the CPU.
func (s *evalModelSettings) open(j *job, threads int) (*train.Model, error) {
	path, err := checkpointOf(s.Run, s.Best && !s.Untrained)
	if err != nil {
		return nil, err
	}
	decoder, b, err := j.openNetwork(threads)
	if err != nil {
		return nil, err
	}
	return train.Open(path, b, decoder, s.Untrained)
}

// stepsText says how long the network was trained.
func (s *evalModelSettings) stepsText(m *train.Model) string {
	if s.Untrained {
		return "untrained"
	}
	return fmt.Sprintf("after %d steps", m.Step)
}

// showEmbedding shows the progress of embedding all images.
func showEmbedding(j *job, o *retrieval.Evaluation, images int) (end func()) {
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

// evaluateBenchmarks evaluates a test that consists of several data sets, one per level. It
// returns a usage error for outputs that show single rankings, which need one data set.
func (e *evaluation) evaluateBenchmarks(j *job, o retrieval.Evaluation, choice *selection.Images,
	data *selection.Data) (result *retrieval.Result, err error) {
	for _, of := range []struct {
		flag string
		set  bool
	}{{"report", e.Outputs.Report != ""}, {"places", e.export != nil}, {"trec", e.Outputs.TREC != ""},
		{"per-query", e.Measures.PerQuery}, {"leave-out-copies", e.Images.LeaveOutCopies}, {"limit", j.limit > 0}} {
		if of.set {
			return nil, withHint(usagef("--%s needs one data set, and the test of %s has several: %s", of.flag, e.Model.Run,
				strings.Join(choice.Benchmarks, ", ")),
				"choose one of them: --data FOLDER --query query --gallery gallery")
		}
	}
	m, err := e.Model.open(j, e.Threads)
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
	j.say("evaluating %s, %s, on %d images of %s", m.Path, e.Model.stepsText(m), images,
		strings.Join(choice.Benchmarks, ", "))
	of, err := e.subject(j, m, choice, data)
	if err != nil {
		return nil, err
	}
	noteDuplicates(j, choice)
	done := showEmbedding(j, &o, images)
	defer done()
	result, err = m.Benchmarks(j.ctx, data.Benchmarks, o)
	if err != nil {
		return nil, err
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
	return filepath.Join(run, b.Checkpoint), err
}

// choice returns the images to evaluate a model on: those of the settings if given, otherwise
// those of the run.
func (s *evalImageSettings) choice(ctx context.Context, dir string) (*selection.Images, error) {
	run, err := history.ReadSettings(dir)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(dir, history.CheckpointsFolder)); run == nil && pipeline.IsMissing(err) {
		if _, err := os.Stat(filepath.Join(dir, "SHA256SUMS")); pipeline.IsMissing(err) || shards.IsDataSet(ctx, dir) {
			return nil, withHint(usagef("%s is neither a run directory nor a checkpoint", dir),
				"hgld runs list lists the runs; hgld eval run --data names images")
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
