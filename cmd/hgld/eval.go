package main

import (
	"cmp"
	"errors"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/internal/classes"
	"hgld/internal/pipeline"
	"hgld/train/config"
	"hgld/train/embeddings"
	"hgld/train/experiment/outputs"
	"hgld/train/experiment/runs"
	"hgld/train/metric"
	"hgld/train/qrels"
	"hgld/train/retrieval"
)

// evalSettings are the settings of the stage eval. A model is evaluated on the images of its run
// unless the settings name others. Embeddings from files need no model.
type evalSettings struct {
	Model    evalModelSettings   `yaml:",inline"`
	Images   evalImageSettings   `yaml:",inline"`
	Files    evalFileSettings    `yaml:",inline"`
	Measures evalMeasureSettings `yaml:",inline"`

	Out string `yaml:"out" path:"out" kind:"a result" usage:"file for the result"`

	Outputs evalOutputSettings `yaml:",inline"`
}

const (
	evalExamples = "  hgld eval run                           the model in runs/default, on its own data\n" +
		"  hgld eval run --best                    its best checkpoint in place of the newest\n" +
		"  hgld eval run --untrained               the same network before training\n" +
		"  hgld eval run --embeddings e.npy --labels l.csv"
	evalRunExamples = evalExamples + "\n" +
		"  hgld eval run --run runs/happier --query test --gallery train\n" +
		"  hgld eval run --metrics R@1,mAP@100,H-AP -o ties=average\n" +
		"  hgld eval run --report eval.html        with curves, a map and retrieved images\n" +
		"  hgld eval run --trec happier            happier.run and happier.qrels for trec_eval\n" +
		"  hgld eval run --export sop              sop.json, the result with the values of every query,\n" +
		"                                          sop.queries.parquet, one row per query,\n" +
		"                                          sop.neighbours.npy and sop.scores.npy, [queries, top_k],\n" +
		"                                          sop.gallery.csv, ids and classes of the rows found,\n" +
		"                                          and sop.export.json, the SHA-256 of these files\n" +
		"  hgld eval run --embeddings q.npy --gallery-embeddings g.npy --qrels gnd_roxford5k.pkl\n" +
		"                                          the table of Revisited Oxford or Paris: easy, medium, hard"
)

func evalStage() pipeline.StageOf[evalSettings] {
	return pipeline.New(pipeline.Spec[evalSettings]{
		Name: "eval", Command: "eval run",
		Defaults: evalSettings{
			Model:  evalModelSettings{Run: "runs/default"},
			Images: evalImageSettings{HoldOutSeed: 1},
			Files:  evalFileSettings{Normalize: true, PartialLabels: classes.RefusePartial},
			Measures: evalMeasureSettings{Metrics: config.DefaultMetrics(), Ties: metric.TieRules[0].Name,
				Mean: "query", Intervals: true,
				Resample: "query", Seed: 1},
			Out: "eval.json",
		},
		Complete: func(p *pipeline.Project, s *evalSettings) error {
			move := besideOut(p, "eval", s.Out, "eval.json")
			move("report", &s.Outputs.Report, ".html")
			move("trec", &s.Outputs.TREC, "")
			return nil
		},
		Files: func(s *evalSettings) (in, out []string) {
			if s.Files.named() {
				return s.Files.inputs(), []string{s.Out}
			}
			return []string{s.Model.Run, s.Images.Data, s.Files.parents()}, []string{s.Out}
		},
		Run:   onJob(func(j *job, s *evalSettings) error { return (&evalRun{evalSettings: s}).run(j) }),
		Check: func(s *evalSettings) error { _, err := (&evalRun{evalSettings: s}).options(); return err },
	})
}

// evalRun is one evaluation: its settings, and what --export adds to them.
type evalRun struct {
	*evalSettings
	export *outputs.Export // writes the neighbours of every query; nil: does not
}

func evalCommand() *cli.Command {
	return group("eval", "measure retrieval by a model, or by embeddings of any program", evalExamples,
		evalRunCommand(), evalCompareCommand(), evalLandmarksCommand())
}

func evalRunCommand() *cli.Command {
	c := withDeviceFlag(stageCommand(evalStage().Stage, "run", "rank the gallery for every query and print the metrics",
		evalRunExamples))
	c.Flags = append(c.Flags, storeFlag(), &cli.StringFlag{Name: "export",
		Usage: "write the neighbours of every query to `PREFIX`.neighbours.npy and the files beside it"},
		&cli.BoolFlag{Name: "profile", Usage: "show how long each part of ranking takes"}) // see job.profile
	c.Action = action(func(c *cli.Context, j *job) error {
		s, err := evalStage().Load(j.project, c)
		if err != nil {
			return err
		}
		alone := s.Files.named() || s.Outputs.Report != "" || s.Outputs.TREC != "" || c.IsSet("export")
		if alone {
			err = refuseLauncher("an evaluation of files, or with --report, --trec or --export,")
		}
		switch prefix := c.String("export"); {
		case err != nil:
			return err
		case c.IsSet("export"):
			if c.IsSet("out") {
				return usagef("--export PREFIX writes its result to PREFIX.json; leave out --out")
			}
			return runEvalExport(j, s, prefix)
		case s.Files.Qrels != "" && s.Files.QrelsUsage == "" && qrels.IsGroundTruth(s.Files.Qrels):
			if c.IsSet("out") || s.Outputs.Report != "" || s.Outputs.TREC != "" || s.Measures.PerQuery {
				return withHint(usagef("the table of %s is printed and not written: leave out --out, --report, --trec "+
					"and --per-query", s.Files.Qrels), "to keep the values of every query: hgld eval landmarks, or one protocol with "+
					"-o qrels_usage=medium and --labels, a table of the ids")
			}
			return j.runRevisited(s)
		}
		if alone {
			return evalStage().Execute(j, s)
		}
		return j.evaluateTogether(s)
	})
	return c
}

// evaluateTogether evaluates a model on images. The processes of a launcher, or those that this one starts for several
// GPUs, divide the work; rank 0 alone prints and writes.
func (j *job) evaluateTogether(s *evalSettings) (err error) {
	if err := j.findRanks(); err != nil {
		return err
	}
	if err := j.spread(j.device); err != nil {
		return err
	}
	j.works("eval run", s.Out)
	if j.follows() {
		err = errors.Join((&evalRun{evalSettings: s}).run(j), j.Close())
	} else {
		err = evalStage().Execute(j, s)
	}
	return j.ranks.Leave(err)
}

// runEvalExport evaluates without recording a stage, and writes the neighbours of every query.
func runEvalExport(j *job, s *evalSettings, prefix string) error {
	if prefix == "" {
		return withHint(usagef("--export needs a PREFIX"), "hgld eval run --export runs/default/test")
	}
	s.Measures.PerQuery, s.Out = true, ""
	err := evalStage().CheckOutputs(j, s, pipeline.Output{Path: prefix, Kind: "an evaluation with neighbours"})
	if err != nil {
		return err
	}
	s.Out = prefix + ".json"
	e := &evalRun{evalSettings: s, export: &outputs.Export{Prefix: prefix, Places: cmp.Or(s.Outputs.TopK, 100)}}
	if err := e.run(j); err != nil {
		return err
	}
	j.log("written: %s", strings.Join(append([]string{s.Out}, e.export.Files()...), ", "))
	return nil
}

// run evaluates, prints the result and writes it.
func (e *evalRun) run(j *job) error {
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
		j.ranks.Note(err)
	}
	if err != nil && !isUnshown(err) {
		return err
	}
	if j.follows() {
		return nil
	}
	page := pageError(err)
	if o.Timing != nil {
		j.log("%s", o.Timing)
	}
	result.Tool = thisTool()
	if !e.Measures.PerQuery {
		result.PerQuery = nil
	}
	saved := runs.WriteJSON(e.Out, result) // print the result even if it cannot be written
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
