package main

import (
	"errors"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/internal/pipeline"
	"hgld/train/report"
)

const evalExportExamples = "  hgld eval export sop                    evaluate like hgld eval run, and write\n" +
	"                                          sop.json, the result with the values of every query,\n" +
	"                                          sop.queries.parquet, one row per query,\n" +
	"                                          sop.neighbours.npy and sop.scores.npy, [queries, places],\n" +
	"                                          sop.gallery.csv, ids and classes of the rows found,\n" +
	"                                          and sop.export.json, the SHA-256 of these files\n" +
	"  hgld eval export --embeddings e.npy --labels l.csv --places 1000 e"

func evalExportCommand() *cli.Command {
	return &cli.Command{
		Name: "export", Usage: "evaluate, and write the neighbours of every query", ArgsUsage: "PREFIX",
		Description: evalExportExamples,
		Flags: append(append(flagsOf(evalStage().Settings()), stageFlags()...), deviceFlag(), replaceFlag(),
			&cli.IntFlag{Name: "places", Value: 100, Usage: "write the `N` nearest neighbours of each query"}),
		Action: func(c *cli.Context) error {
			j, err := newJob(c)
			if err != nil {
				return err
			}
			s, err := evalStage().Load(j.project, c)
			if err != nil {
				return err
			}
			return errors.Join(runEvalExport(j, s, c.Int("places")), j.Close())
		},
	}
}

func runEvalExport(j *job, s *evalSettings, places int) error {
	if len(j.args) != 1 || j.args[0] == "" {
		return withHint(usagef("eval export takes one PREFIX; got %d", len(j.args)), "hgld eval export runs/default/test")
	}
	s.Measures.PerQuery, s.Out = true, ""
	err := evalStage().CheckOutputs(j, s, pipeline.Output{Path: j.args[0], Kind: "an evaluation with neighbours"})
	if err != nil {
		return err
	}
	s.Out = j.args[0] + ".json"
	if s.Files.Ranking != "" {
		return usagef("eval export cannot write neighbours with --ranking, which has no vectors")
	}
	e := &evaluation{evalSettings: s, export: &report.Export{Prefix: j.args[0], Places: places}}
	if err := e.run(j); err != nil {
		return err
	}
	j.say("written: %s", strings.Join(append([]string{s.Out}, e.export.Files()...), ", "))
	return nil
}
