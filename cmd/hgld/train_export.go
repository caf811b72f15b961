package main

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/internal/pipeline"
	"hgld/train/evaluation"
	"hgld/train/export"
)

const trainExportExamples = "  hgld train export net.onnx              the network of runs/default for any runtime\n" +
	"  hgld train export net.safetensors       its weights, named as in SupRank's networks\n" +
	"  hgld train export --backbone resnet50.safetensors\n" +
	"                                          only the backbone, as torchvision or timm loads it\n\n" +
	"  The extension selects the format: .onnx or .safetensors. hgld embed-images writes embeddings."

func trainExportCommand() *cli.Command {
	return &cli.Command{
		Name: "export", Usage: "write the network for other programs", ArgsUsage: "FILE…",
		Description: trainExportExamples,
		Flags: append(commonFlags(),
			runFlag(),
			&cli.BoolFlag{Name: "best", Usage: "export the best checkpoint of the run, not the newest"},
			&cli.BoolFlag{Name: "backbone", Usage: ".safetensors: only the backbone, with the names of its library"},
			replaceFlag()),
		Action: action(func(c *cli.Context, j *job) error {
			return runExport(j, j.project.Join(c.String("run")), c.Bool("best"), c.Bool("backbone"))
		}),
	}
}

// runExport writes the files that the arguments name.
func runExport(j *job, run string, best, backbone bool) (err error) {
	if len(j.args) == 0 {
		return withHint(usagef("no file to write is named"), "name one ending in %s", strings.Join(export.Extensions(), ", "))
	}
	var out []pipeline.Output
	for _, path := range j.args {
		if err := export.CheckFile(path); err != nil {
			err = withCode(exitUsage, err)
			if kind := filepath.Ext(path); kind == ".npy" || kind == ".parquet" {
				err = withHint(err, "hgld embed-images --run %s --out %s writes embeddings", word(run), word(path))
			}
			return err
		}
		out = append(out, pipeline.Output{Path: path, Kind: kindExport})
	}
	if err := j.checkOutputs("train export", []string{run}, out...); err != nil {
		return err
	}
	path, err := checkpointOf(run, best)
	if err != nil {
		return err
	}
	decoder, _, err := imageDecoder()
	if err != nil {
		return err
	}
	j.device = "cpu" // where the weights are in memory anyway
	b, err := j.openDevice()
	if err != nil {
		return err
	}
	m, err := evaluation.Open(path, b, decoder, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	j.log("exporting %s: %s after %d steps", m.Path, m.Config.Model.Backbone.Name, m.Step)
	weights, err := m.Weights()
	if err != nil {
		return err
	}
	x := export.Network{Config: m.Config, Backbone: backbone, Weights: weights}
	for _, path := range j.args {
		if err := x.Write(path); err != nil {
			return err
		}
		if !j.json {
			j.print("%s\n", path)
		}
	}
	if j.json {
		return writeJSON(j, map[string]any{"checkpoint": m.Path, "steps": m.Step, "files": j.args})
	}
	return nil
}
