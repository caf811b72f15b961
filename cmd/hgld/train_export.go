package main

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/internal/pipeline"
	"hgld/internal/registry"
	"hgld/train"
	"hgld/train/export"
	"hgld/train/input"
)

const trainExportExamples = "  hgld train export net.onnx              the network of runs/default for any runtime\n" +
	"  hgld train export net.safetensors       its weights, named as in SupRank's networks\n" +
	"  hgld train export --backbone resnet50.safetensors\n" +
	"                                          only the backbone, as torchvision or timm loads it\n" +
	"  hgld train export --run runs/happier vectors.npy vectors.parquet\n" +
	"                                          embeddings of the queries; vectors.csv next to the .npy has ids and " +
	"classes\n" +
	"  hgld train export --of gallery gallery.npy\n" +
	"  hgld train export --data elsewhere --split test test.npy"

func trainExportCommand() *cli.Command {
	return &cli.Command{
		Name: "export", Usage: "write the network or its embeddings for other programs", ArgsUsage: "FILE…",
		Description: trainExportExamples + "\n\n  The extension selects the format: .onnx, .safetensors, .npy or .parquet.",
		Flags: append(commonFlags(),
			runFlag(),
			&cli.BoolFlag{Name: "best", Usage: "export the best checkpoint of the run, not the newest"},
			&cli.BoolFlag{Name: "backbone", Usage: ".safetensors: only the backbone, with the names of its library"},
			&cli.StringFlag{Name: "data", Usage: "embeddings: folder of shards `DIR` instead of the run's"},
			&cli.StringFlag{Name: "of", Value: "query", Usage: "embeddings: `IMAGES` of the run: query, gallery or train"},
			&cli.StringFlag{Name: "split", Usage: "embeddings: `SPLIT` of the shards, instead of --of"},
			&cli.IntFlag{Name: "limit", Usage: "embeddings: only the first `N` images"},
			threadsFlag(), replaceFlag(), deviceFlag()),
		Action: action(func(c *cli.Context, j *job) error {
			return runExport(j, exportChoice{
				run: j.project.Join(c.String("run")), backbone: c.Bool("backbone"), data: c.String("data"),
				of: c.String("of"), split: c.String("split"), best: c.Bool("best"), threads: c.Int("threads"), files: j.args,
			})
		}),
	}
}

// exportChoice holds the flags of an export.
type exportChoice struct {
	run, data, of, split string
	backbone, best       bool
	threads              int
	files                []string
}

func runExport(j *job, o exportChoice) (err error) {
	if len(o.files) == 0 {
		return withHint(usagef("no file to write is named"), "name one ending in %s", strings.Join(export.Extensions(), ", "))
	}
	for _, path := range o.files {
		if err := export.CheckFile(path); err != nil {
			return withCode(exitUsage, err)
		}
	}
	if err := j.checkOutputs("train export", []string{o.run, o.data}, o.outputs()...); err != nil {
		return err
	}
	path, err := checkpointOf(o.run, o.best)
	if err != nil {
		return err
	}
	decoder, _, err := imageDecoder()
	if err != nil {
		return err
	}
	b, err := j.openDevice(o.threads)
	if err != nil {
		return err
	}
	m, err := train.Open(path, b, decoder, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	j.say("exporting %s: %s after %d steps", m.Path, m.Config.Model.Backbone.Name, m.Step)
	var levels []string
	x := export.NewFiles(m.Config, o.backbone, m.Weights, func() (*export.Embeddings, error) {
		e, err := o.embed(j, m)
		if err == nil {
			levels = e.Levels
		}
		return e, err
	})
	var written []string
	for _, path := range o.files {
		files, err := x.Write(path)
		if err != nil {
			return err
		}
		written = append(written, files...)
		if len(files) == 2 {
			command := typedAs("hgld eval run", files[0], files[1])
			if len(levels) > 0 {
				command += " --levels " + word(strings.Join(levels, ","))
			}
			j.say("evaluate them with %s", command)
		}
		if !j.json {
			j.print("%s\n", path)
		}
	}
	if j.json {
		return writeJSON(j, map[string]any{"checkpoint": m.Path, "steps": m.Step, "files": written})
	}
	return nil
}

// outputs lists the files to write.
func (o *exportChoice) outputs() (list []pipeline.Output) {
	for _, path := range o.files {
		if filepath.Ext(path) != ".npy" {
			list = append(list, pipeline.Output{Path: path, Kind: kindExport})
			continue
		}
		table := strings.TrimSuffix(path, ".npy") + ".csv"
		list = append(list, pipeline.Output{Path: path, Kind: kindForeign}, pipeline.Output{Path: table, Kind: kindForeign})
	}
	return list
}

// embed computes the embeddings of the selected images.
func (o *exportChoice) embed(j *job, m *train.Model) (*export.Embeddings, error) {
	choice, err := (&evalImageSettings{Data: o.data, Query: o.split}).choice(j.ctx, o.run)
	if err != nil {
		return nil, err
	}
	choice.Also = "" // an export judges nothing
	data, err := openData(j.ctx, choice)
	if err != nil {
		return nil, err
	}
	defer data.Close()
	if o.split != "" {
		o.of = "query"
	}
	images, known := map[string]input.Dataset{"query": data.Query, "gallery": data.Gallery, "train": data.Train}[o.of]
	switch {
	case !known:
		return nil, withCode(exitUsage, registry.Unknown("images", o.of, []string{"query", "gallery", "train"}))
	case images == nil:
		return nil, withHint(usagef("the run of %s has no %s images", o.run, o.of), "--of train exports the training images")
	}
	if j.limit > 0 {
		images = input.First(images, j.limit)
	}
	p := j.progress("embed", images.Len())
	defer p.End()
	e, err := export.Embed(j.ctx, m, images, func(done, _ int) { p.Set(done, "") })
	return e, err
}
