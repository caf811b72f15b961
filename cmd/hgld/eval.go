package main

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"hgld/train"
	"hgld/train/device/cpu"
	"hgld/train/metric"
)

// evalSettings is the section "eval" of hgld.yaml. A model is evaluated on the
// data that its run names, unless data are named here; embeddings of any origin
// need no model.
type evalSettings struct {
	Run       string `yaml:"run" path:"in" usage:"run directory, or one of its checkpoints"`
	Untrained bool   `yaml:"untrained" usage:"evaluate the network as the run began it: the baseline"`

	Data        string   `yaml:"data" path:"in" usage:"folder of shards; empty: that of the run, and its choice of images"`
	Splits      []string `yaml:"splits" usage:"with hold-out: splits whose classes are held out"`
	HoldOut     float64  `yaml:"hold_out" usage:"evaluate the classes that a training with this share left out"`
	HoldOutSeed uint64   `yaml:"hold_out_seed" usage:"which classes were left out"`
	Query       string   `yaml:"query" usage:"split of the queries"`
	Gallery     string   `yaml:"gallery" usage:"split that they rank; empty: the queries themselves"`

	Embeddings        string `yaml:"embeddings" path:"in" usage:"evaluate these vectors (.npy, .safetensors), not a model"`
	Labels            string `yaml:"labels" path:"in" usage:"their labels: .csv with a column for each level, finest first, or .npy of integers"`
	GalleryEmbeddings string `yaml:"gallery_embeddings" path:"in" usage:"vectors that they rank; empty: the queries themselves"`
	GalleryLabels     string `yaml:"gallery_labels" path:"in" usage:"labels of the gallery"`
	Unit              bool   `yaml:"unit" usage:"scale the vectors to length 1 first, so that scores are cosines"`

	Metrics  []string `yaml:"metrics" usage:"what is measured: R@k P@k TR@k AP AP#l mAP@R mAP@k H-AP ASI NDCG NDCG@k"`
	Ties     string   `yaml:"ties" usage:"order of equal scores: row, or average over all orders"`
	PerQuery bool     `yaml:"per_query" usage:"keep the values of every query"`
	Threads  int      `yaml:"threads" usage:"0: all processors"`
	Out      string   `yaml:"out" path:"out" usage:"file for the result"`
}

const (
	evalExamples = "  hgld eval run                           the model in runs/default, on its own data\n" +
		"  hgld eval run --untrained               the same network before the training\n" +
		"  hgld eval run --embeddings e.npy --labels l.csv"
	evalRunExamples = evalExamples + "\n" +
		"  hgld eval run --run runs/happier --query test --gallery train\n" +
		"  hgld eval run --metrics R@1,mAP@100,H-AP --ties average --json"
)

func evalStage() stage {
	defaults := evalSettings{Run: "runs/default", HoldOutSeed: 1, Unit: true, Metrics: train.DefaultMetrics(), Ties: "row", Out: "eval.json"}
	return newStage("eval", "eval run", defaults, func(s *evalSettings) (in, out []string) {
		if s.Embeddings != "" {
			return []string{s.Embeddings, s.Labels, s.GalleryEmbeddings, s.GalleryLabels}, []string{s.Out}
		}
		return []string{s.Run, s.Data}, []string{s.Out}
	}, runEval)
}

func evalCommand() *cli.Command {
	return group("eval", "measure retrieval, of a model or of anybody's embeddings", evalExamples,
		evalStage().subcommand("run", "rank the gallery for every query and print the metrics", evalRunExamples))
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
		return usagef("ties is %q, want row or average", s.Ties)
	}
	var result *train.Result
	if s.Embeddings != "" {
		result, err = evalEmbeddings(j, s, set, ties)
	} else {
		result, err = evalModel(j, s, train.EvalOptions{Metrics: set, Ties: ties, PerQuery: s.PerQuery})
	}
	if err != nil {
		return err
	}
	if err := saveJSON(s.Out, result); err != nil {
		return err
	}
	if j.json {
		return writeJSON(j, result)
	}
	return result.Table(j.stdout)
}

// evalModel embeds images with the network of a run.
func evalModel(j *job, s *evalSettings, o train.EvalOptions) (result *train.Result, err error) {
	choice, err := s.choice()
	if err != nil {
		return nil, err
	}
	data, err := choice.open()
	if err != nil {
		return nil, err
	}
	defer data.close()
	if data.Query == nil {
		return nil, withHint(usagef("nothing says which images are the queries"),
			"name a split with --query, and one with --gallery that they rank, or a share of classes with --hold-out")
	}
	if j.limit > 0 {
		data.Query = firstOf(data.Query, j.limit)
	}
	m, err := train.Open(s.Run, cpu.New(s.Threads), nil, s.Untrained)
	if err != nil {
		return nil, trainError(err)
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	state := fmt.Sprintf("after %d steps", m.Step)
	if s.Untrained {
		state = "untrained"
	}
	images := data.Query.Len()
	if data.Gallery != nil {
		images += data.Gallery.Len()
	}
	j.say("evaluating %s, %s, on %d images of %s", m.Path, state, images, choice.Data)
	p := j.progress("embed", images)
	defer p.end()
	before := 0
	o.Progress = func(done, total int) {
		p.set(before+done, "")
		if done == total {
			before += total
		}
	}
	result, err = m.Evaluate(j.ctx, data.Query, data.Gallery, o)
	return result, trainError(err)
}

// firstOf returns the first n items of a data set.
func firstOf(d train.Dataset, n int) train.Dataset {
	s := &train.Subset{Of: d}
	for i := range min(n, d.Len()) {
		s.Rows = append(s.Rows, i)
	}
	return s
}

// choice is the data to evaluate on: what the settings name, or what the run was
// trained with.
func (s *evalSettings) choice() (*retrievalData, error) {
	run, err := readRunSettings(s.Run)
	if err != nil {
		return nil, err
	}
	c := defaultData()
	if run != nil {
		c = run.Images
	}
	if s.Data != "" {
		c.Data = s.Data
	}
	if len(s.Splits) > 0 {
		c.Splits = s.Splits
	}
	if s.HoldOut > 0 {
		c.HoldOut, c.HoldOutSeed, c.Query, c.Gallery = s.HoldOut, s.HoldOutSeed, "", ""
	}
	if s.Query != "" {
		c.HoldOut, c.Query, c.Gallery = 0, s.Query, s.Gallery
	}
	return &c, nil
}
