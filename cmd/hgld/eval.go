package main

import (
	"errors"

	"github.com/urfave/cli/v2"

	"hgld/internal/pipeline"
	"hgld/shards/dataset"
	"hgld/train"
	"hgld/train/embeddings"
	"hgld/train/history"
	"hgld/train/report"
	"hgld/train/retrieval"
)

// evalSettings are the settings of the stage eval. A model is evaluated on the images of its run
// unless the settings name others. Embeddings from files need no model.
type evalSettings struct {
	Model    evalModelSettings   `yaml:",inline"`
	Images   evalImageSettings   `yaml:",inline"`
	Files    evalFileSettings    `yaml:",inline"`
	Measures evalMeasureSettings `yaml:",inline"`

	Threads int    `yaml:"threads" range:"0 1024" usage:"0: all processors"`
	Out     string `yaml:"out" path:"out" kind:"a result" usage:"file for the result"`

	Outputs evalOutputSettings `yaml:",inline"`
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
		Defaults: evalSettings{
			Model:  evalModelSettings{Run: "runs/default"},
			Images: evalImageSettings{HoldOutSeed: 1},
			Files:  evalFileSettings{Unit: true, Uneven: dataset.RefuseUneven},
			Measures: evalMeasureSettings{Metrics: train.DefaultMetrics(), Ties: "row", Mean: "query", Intervals: true,
				Resample: "query", Seed: 1},
			Out:     "eval.json",
			Outputs: evalOutputSettings{Places: 10, TRECPlaces: 1000},
		},
		Files: func(s *evalSettings) (in, out []string) {
			if s.Files.named() {
				return s.Files.inputs(), []string{s.Out}
			}
			return []string{s.Model.Run, s.Images.Data, s.Files.Also}, []string{s.Out}
		},
		Run:   onJob(func(j *job, s *evalSettings) error { return (&evaluation{evalSettings: s}).run(j) }),
		Check: func(s *evalSettings) error { _, err := (&evaluation{evalSettings: s}).options(); return err },
	})
}

// evaluation is one evaluation: its settings, and what `hgld eval export` adds to them.
type evaluation struct {
	*evalSettings
	export *report.Export // writes the neighbours of every query; nil: does not
}

func evalCommand() *cli.Command {
	return group("eval", "measure retrieval by a model, or by embeddings of any program", evalExamples,
		withProfileFlag(withDeviceFlag(stageCommand(evalStage().Stage, "run",
			"rank the gallery for every query and print the metrics", evalRunExamples))),
		evalEmbedCommand(), evalExportCommand(), evalCompareCommand(), evalOverallCommand(), evalRevisitedCommand(),
		evalLandmarksCommand())
}

// withProfileFlag adds the flag that job.profile reads.
func withProfileFlag(c *cli.Command) *cli.Command {
	c.Flags = append(c.Flags, &cli.BoolFlag{Name: "profile", Usage: "show how long each part of ranking takes"})
	return c
}

// run evaluates, prints the result and writes it.
func (e *evaluation) run(j *job) error {
	o, err := e.options()
	if err != nil {
		return err
	}
	if j.profile {
		o.Timing = new(retrieval.Timing)
	}
	var result *retrieval.Result
	switch {
	case e.Files.Ranking != "":
		result, err = e.evaluateRankings(j, o)
	case e.Files.Embeddings != "":
		result, err = e.evaluateEmbeddings(j, o)
	default:
		result, err = e.evaluateModel(j, o)
	}
	if err != nil && !isUnshown(err) {
		return err
	}
	page := pageError(err)
	if o.Timing != nil {
		j.say("%s", o.Timing)
	}
	result.Tool = thisTool()
	if !e.Measures.PerQuery {
		result.PerQuery = nil
	}
	saved := history.WriteJSON(e.Out, result) // print the result even if it cannot be written
	if j.json {
		return errors.Join(saved, printResult(j, result), page)
	}
	return errors.Join(saved, result.Table(j.stdout), page)
}

// evalArgument is the advice on an argument to `hgld eval run`, which takes none.
func evalArgument(path string) string {
	if embeddings.IsKind(path) {
		return vectorsArgument("hgld eval run", path)
	}
	return "hgld eval run --run " + word(path)
}
