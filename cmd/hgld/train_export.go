package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/internal/atomicfile"
	"hgld/internal/registry"
	"hgld/internal/tensorfile"
	"hgld/train"
	"hgld/train/export"
)

const trainExportExamples = "  hgld train export net.onnx              the network of runs/default for any runtime\n" +
	"  hgld train export net.safetensors       its weights, names as in SupRank's nets\n" +
	"  hgld train export --backbone resnet50.safetensors\n" +
	"                                          the backbone alone, as torchvision or timm load it\n" +
	"  hgld train export --run runs/happier vectors.npy vectors.parquet\n" +
	"                                          embeddings of the queries; vectors.csv beside the .npy has ids and " +
	"classes\n" +
	"  hgld train export --of gallery gallery.npy\n" +
	"  hgld train export --data elsewhere --split test test.npy"

func trainExportCommand() *cli.Command {
	return &cli.Command{
		Name: "export", Usage: "write the network or its embeddings for other programs", ArgsUsage: "FILE…",
		Description: trainExportExamples + "\n\n  The extension says what is written: .onnx, .safetensors, .npy or .parquet.",
		Flags: append(commonFlags(),
			&cli.StringFlag{Name: "run", Value: "runs/default", Usage: "run directory `DIR`, or one of its checkpoints"},
			&cli.BoolFlag{Name: "best", Usage: "export the best checkpoint of the run, not the newest"},
			&cli.BoolFlag{Name: "backbone", Usage: ".safetensors: the backbone alone, under the names of its library"},
			&cli.StringFlag{Name: "data", Usage: "embeddings: folder of shards `DIR` instead of the run's"},
			&cli.StringFlag{Name: "of", Value: "query", Usage: "embeddings: `IMAGES` of the run: query, gallery or train"},
			&cli.StringFlag{Name: "split", Usage: "embeddings: `SPLIT` of the shards, instead of --of"},
			&cli.IntFlag{Name: "limit", Usage: "embeddings: only the first `N` images"},
			&cli.IntFlag{Name: "threads", Usage: "0: all processors"}, deviceFlag()),
		Action: func(c *cli.Context) error {
			j, err := newJob(c)
			if err != nil {
				return err
			}
			err = runExport(j, exportChoice{
				run: j.project.Join(c.String("run")), backbone: c.Bool("backbone"), data: c.String("data"),
				of: c.String("of"), split: c.String("split"), best: c.Bool("best"), threads: c.Int("threads"), files: j.args,
			})
			return errors.Join(err, j.Close())
		},
	}
}

// exportChoice is what the command line of an export asks for.
type exportChoice struct {
	run, data, of, split string
	backbone, best       bool
	threads              int
	files                []string
}

// exporters holds the function that writes a file of each extension.
var exporters = map[string]func(x *exporting, path string) error{
	".onnx":        (*exporting).onnx,
	".safetensors": (*exporting).safetensors,
	".npy":         (*exporting).npy,
	".parquet":     (*exporting).parquet,
}

var exportExtensions = []string{".onnx", ".safetensors", ".npy", ".parquet"}

// exporting is an export in progress. Weights and embeddings are computed when a file
// first needs them.
type exporting struct {
	*job
	exportChoice
	model      *train.Model
	weights    []tensorfile.Tensor
	embeddings *export.Embeddings
	written    []string
}

// write writes a file and notes it.
func (x *exporting) write(path string, fill func(io.Writer) error) error {
	err := atomicfile.Write(path, fill)
	if err == nil {
		x.written = append(x.written, path)
	}
	return err
}

func runExport(j *job, o exportChoice) (err error) {
	if len(o.files) == 0 {
		return withHint(usagef("nothing to write"), "name a file ending in %s", strings.Join(exportExtensions, ", "))
	}
	for _, path := range o.files {
		if exporters[filepath.Ext(path)] == nil {
			return withCode(exitUsage, fmt.Errorf("%s: %w", path,
				registry.Unknown("kind of file", filepath.Ext(path), exportExtensions)))
		}
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
		return trainError(err)
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	j.say("exporting %s: %s after %d steps", m.Path, m.Config.Model.Backbone.Name, m.Step)
	x := &exporting{job: j, exportChoice: o, model: m}
	for _, path := range o.files {
		if err := exporters[filepath.Ext(path)](x, path); err != nil {
			return err
		}
		if !j.json {
			j.print("%s\n", path)
		}
	}
	if j.json {
		return writeJSON(j, map[string]any{"checkpoint": m.Path, "steps": m.Step, "files": x.written})
	}
	return nil
}

// tensors returns the weights of the network.
func (x *exporting) tensors() (_ []tensorfile.Tensor, err error) {
	if x.weights == nil {
		x.weights, err = x.model.Weights()
	}
	return x.weights, err
}

func (x *exporting) onnx(path string) error {
	tensors, err := x.tensors()
	if err != nil {
		return err
	}
	return x.write(path, func(w io.Writer) error { return export.ONNX(w, x.model.Config, tensors) })
}

func (x *exporting) safetensors(path string) error {
	tensors, err := x.tensors()
	if err == nil && x.backbone {
		tensors, err = export.Backbone(x.model.Config, tensors)
	}
	if err != nil {
		return err
	}
	metadata := map[string]string{"format": "pt"} // what loaders of such files look for
	return x.write(path, func(w io.Writer) error { return tensorfile.WriteSafetensors(w, tensors, metadata) })
}

func (x *exporting) npy(path string) error {
	e, err := x.embed()
	if err != nil {
		return err
	}
	if err := x.write(path, func(w io.Writer) error { return tensorfile.WriteNPY(w, e.Vectors) }); err != nil {
		return err
	}
	table := strings.TrimSuffix(path, ".npy") + ".csv"
	if err := x.write(table, e.Labels); err != nil {
		return err
	}
	x.say("hgld eval run --embeddings %s --labels %s evaluates them", path, table)
	return nil
}

func (x *exporting) parquet(path string) error {
	e, err := x.embed()
	if err != nil {
		return err
	}
	return x.write(path, e.Parquet)
}

// embed computes the embeddings of the chosen images.
func (x *exporting) embed() (*export.Embeddings, error) {
	if x.embeddings != nil {
		return x.embeddings, nil
	}
	choice, err := (&evalSettings{Run: x.run, Data: x.data, Query: x.split}).choice()
	if err != nil {
		return nil, err
	}
	data, err := openData(choice)
	if err != nil {
		return nil, err
	}
	defer data.Close()
	if x.split != "" {
		x.of = "query"
	}
	images, known := map[string]train.Dataset{"query": data.Query, "gallery": data.Gallery, "train": data.Train}[x.of]
	switch {
	case !known:
		return nil, withCode(exitUsage, registry.Unknown("images", x.of, []string{"query", "gallery", "train"}))
	case images == nil:
		return nil, withHint(usagef("the run of %s has no %s images", x.run, x.of), "--of train exports the training images")
	}
	if x.limit > 0 {
		images = train.First(images, x.limit)
	}
	p := x.progress("embed", images.Len())
	defer p.End()
	vectors, err := x.model.Embed(x.ctx, images, func(done, _ int) { p.Set(done, "") })
	if err != nil {
		return nil, trainError(err)
	}
	e := &export.Embeddings{Vectors: vectors, Levels: images.Levels()}
	for i := range images.Len() {
		e.IDs = append(e.IDs, images.ID(i))
		names := make([]string, len(e.Levels))
		for level, class := range images.Labels(i) {
			if class >= 0 {
				names[level] = images.Classes(level)[class]
			}
		}
		e.Classes = append(e.Classes, names)
	}
	x.embeddings = e
	return e, nil
}
