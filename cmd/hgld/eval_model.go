package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"hgld/internal/pipeline"
	"hgld/internal/settings"
	"hgld/labels"
	"hgld/shards"
	"hgld/train/checkpoint"
	"hgld/train/evaluation"
	"hgld/train/experiment/runs"
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
	Data           string   `yaml:"data" path:"in" store:"true" usage:"folder of shards, or {store}; empty: the folder and images of the run"`
	Splits         []string `yaml:"splits" flag:"-" usage:"with hold_out: splits whose classes are held out"`
	HoldOut        float64  `yaml:"hold_out" flag:"-" range:"0 1" usage:"evaluate the classes that a training with this hold_out left out"`
	HoldOutSeed    uint64   `yaml:"hold_out_seed" flag:"-" usage:"which classes were left out"`
	Query          string   `yaml:"query" usage:"split of the queries"`
	Gallery        string   `yaml:"gallery" usage:"split to rank; empty: the queries themselves"`
	LeaveOutCopies bool     `yaml:"leave_out_copies" flag:"-" usage:"leave gallery images that equal the query byte for byte out of its ranking"`
}

// evaluateModel evaluates the network of a run on images.
func (e *evalRun) evaluateModel(j *job, o retrieval.Evaluation) (result *retrieval.Result, err error) {
	choice, err := e.Images.choice(j.ctx, e.Model.Run)
	if err != nil {
		return nil, err
	}
	if choice.ExtraParents = cmp.Or(e.Files.ExtraParents, choice.ExtraParents); choice.ExtraParents == settings.None {
		choice.ExtraParents = ""
	}
	data, err := openDataOf(j.ctx, choice, j.log)
	if err != nil {
		return nil, e.extraHint(err, choice.ExtraParents)
	}
	defer data.Close()
	if len(data.Benchmarks) > 0 {
		return e.evaluateBenchmarks(j, o, choice, data)
	}
	if data.Query == nil {
		return nil, withHint(usagef("no query images are selected"),
			"name the splits with --query and --gallery, or hold out a share of the classes with -o hold_out")
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
		j.log("%d of %d queries are also in the gallery; each is left out of its own ranking", copies, len(o.Self))
	}
	if o.Truth, err = evaluation.TruthOf(data.ExtraParents, data.Query, data.Gallery); err != nil {
		return nil, asUsage(err)
	}
	outputs, err := e.outputs(j, data.Query.Levels(), o.Truth, data.Query, ranked, data.Gallery == nil, o.Self,
		data.Query.Classes)
	if err != nil {
		return nil, err
	}
	defer func() { err = outputs.Finish(j.ctx, result, err) }()
	o.Observer = outputs.Look()
	return e.measure(j, choice, data, choice.Files()[0], &o, func(m *evaluation.Model) (*retrieval.Result, error) {
		return m.Evaluate(j.ctx, data.Query, data.Gallery, o)
	})
}

// measure opens the model, says what is evaluated, and lets evaluate measure it. from names the images.
func (e *evalRun) measure(j *job, choice *selection.Images, data *selection.Data, from string, o *retrieval.Evaluation,
	evaluate func(m *evaluation.Model) (*retrieval.Result, error)) (result *retrieval.Result, err error) {
	m, err := e.Model.open(j)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	images := 0
	for _, d := range data.Evaluated() {
		if d != nil {
			images += d.Len()
		}
	}
	j.log("evaluating %s, %s, on %d images of %s", m.Path, e.Model.stepsText(m), images, from)
	of, err := e.subject(j, m, choice, data)
	if err != nil {
		return nil, err
	}
	what, err := json.Marshal([]any{of, e.Measures, thisTool()})
	if err != nil {
		return nil, err
	}
	if err := m.Agree(what); err != nil {
		return nil, err
	}
	noteDuplicates(j, choice)
	done := showEmbedding(j, o, images)
	defer done()
	if result, err = evaluate(m); err == nil {
		result.Of = of
	}
	return result, err
}

// extraHint adds the settings that help if the extra parents of the run are missing, or do not fit the data.
func (e *evalRun) extraHint(err error, also string) error {
	if e.Files.ExtraParents != "" || also == "" ||
		len(pipeline.Missing([]string{also})) == 0 && !errors.As(err, new(*labels.ExtraParentLevelError)) {
		return err
	}
	return withHint(err, "the run names extra parents of classes, %s: pass -o extra_parents=none to evaluate "+
		"without them, or -o extra_parents=FILE for others", also)
}

// noteDuplicates tells the user of evaluated images that other splits have too, or other classes.
func noteDuplicates(j *job, choice *selection.Images) {
	twice, err := shards.ReadDuplicates(j.ctx, choice.Data)
	if err != nil {
		return // not shards, or damaged, as verify says
	}
	j.logAll("note: %s", twice.Notes(labels.Split(choice.Query), labels.Split(choice.Gallery)))
}

// open opens the network to evaluate.
func (s *evalModelSettings) open(j *job) (*evaluation.Model, error) {
	path, err := checkpointOf(s.Run, s.Best && !s.Untrained)
	if err != nil {
		return nil, err
	}
	decoder, b, err := j.openNetwork()
	if err != nil {
		return nil, err
	}
	m, err := evaluation.Open(path, b, decoder, s.Untrained)
	if err == nil {
		m.Threads = j.threads
	}
	return m, err
}

// stepsText says how long the network was trained.
func (s *evalModelSettings) stepsText(m *evaluation.Model) string {
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
func (e *evalRun) evaluateBenchmarks(j *job, o retrieval.Evaluation, choice *selection.Images,
	data *selection.Data) (result *retrieval.Result, err error) {
	for _, of := range []struct {
		flag string
		set  bool
	}{{"report", e.Outputs.Report != ""}, {"export", e.export != nil}, {"trec", e.Outputs.TREC != ""},
		{"per-query", e.Measures.PerQuery}, {"override leave_out_copies", e.Images.LeaveOutCopies}, {"limit", j.limit > 0}} {
		if of.set {
			return nil, withHint(usagef("--%s needs one data set, and the test of %s has several: %s", of.flag, e.Model.Run,
				strings.Join(choice.Benchmarks, ", ")),
				"choose one of them: --data FOLDER --query query --gallery gallery")
		}
	}
	from := strings.Join(choice.Benchmarks, ", ")
	return e.measure(j, choice, data, from, &o, func(m *evaluation.Model) (*retrieval.Result, error) {
		return m.Benchmarks(j.ctx, data.Benchmarks, o)
	})
}

// checkpointOf returns the path of the checkpoint to load: the run itself, which stands
// for its newest checkpoint, or with best the one named in its best.json.
func checkpointOf(run string, best bool) (string, error) {
	if !best {
		return run, nil
	}
	b, err := checkpoint.ReadBest(run)
	if errors.Is(err, fs.ErrNotExist) {
		return "", withHint(usagef("%s has no %s, which a run gets when it is evaluated during training", run,
			checkpoint.BestFile),
			"without --best (in hgld.yaml: eval.best: false) the newest checkpoint is taken")
	}
	return filepath.Join(run, b.Checkpoint), err
}

// choice returns the images to evaluate a model on: those of the settings if given, otherwise
// those of the run.
func (s *evalImageSettings) choice(ctx context.Context, dir string) (*selection.Images, error) {
	run, err := runs.ReadSettings(dir)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(dir, runs.CheckpointsFolder)); run == nil && pipeline.IsMissing(err) {
		if _, err := os.Stat(filepath.Join(dir, "SHA256SUMS")); pipeline.IsMissing(err) || shards.IsDataSet(ctx, dir) {
			return nil, withHint(usagef("%s is neither a run directory nor a checkpoint", dir),
				"hgld runs list lists the runs; hgld eval run --data names images")
		}
	}
	c := selection.Default()
	if run != nil {
		c = run.Images
	}
	c = c.With(selection.Other{Data: s.Data, Splits: s.Splits, HoldOut: s.HoldOut, HoldOutSeed: s.HoldOutSeed,
		Query: s.Query, Gallery: s.Gallery})
	return &c, nil
}
