package main

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/urfave/cli/v2"

	"hgld/internal/settings"
	"hgld/train/backbone"
	"hgld/train/config"
	"hgld/train/evaluation"
	"hgld/train/experiment/runs"
	"hgld/train/index"
	"hgld/train/pretrained"
	"hgld/train/warmstart"
)

const embedImagesExamples = "  hgld embed-images --run runs/happier photos\n" +
	"                                          photos.npy of a folder of images; photos.csv has ids and classes\n" +
	"  hgld embed-images --run runs/happier --best --out photos.parquet photos.zip\n" +
	"  hgld embed-images --run runs/happier --split test shards     one split of shards\n" +
	"  hgld embed-images --run runs/happier --split gallery         the run's own gallery\n" +
	"  hgld embed-images --run runs/head --labels l.csv e.npy       vectors, through a head trained on vectors\n" +
	"  hgld embed-images --weights clip-vit-base-patch32 photos     published weights\n" +
	"  hgld embed-images --weights resnet50-0676ba61.pth --backbone resnet50 -o input.size=224 photos.zip\n" +
	"  hgld embed-images --run runs/happier --slice 2/8 shards      the second of every eight parts, on any machine\n" +
	"  hgld embed-images --run runs/happier --slice finish shards   join the parts\n\n" +
	"  The preprocessing is read from config.json, preprocessor_config.json or open_clip_config.json beside the\n" +
	"  weights, or else follows the network; -o sets input.* and model.*. With --run, -o sets only na_values, the\n" +
	"  labels that mean no class. Run the same command again to resume. hgld eval run --embeddings measures the\n" +
	"  vectors, and hgld search finds the nearest of them."

func embedImagesCommand() *cli.Command {
	return &cli.Command{
		Name: "embed-images", Usage: "embed images, shards or vectors by a trained model or published weights",
		ArgsUsage: "[DATA]", Description: embedImagesExamples,
		Flags: slices.Concat(commonFlags(), publishedFlags(), []cli.Flag{
			&cli.StringFlag{Name: "run", Usage: "run directory `DIR`, or one of its checkpoints; without DATA, embed its own images"},
			bestFlag(),
			&cli.StringFlag{Name: "labels", Usage: "`FILE` with the labels of vectors"},
			&cli.StringSliceFlag{Name: "levels", Usage: "label `COLUMNS` of vectors, finest first; empty: those that may be levels"},
			&cli.StringFlag{Name: "split", Usage: "`SPLIT` of shards, empty: all; without DATA: query, gallery or train of the run, or a split of its data"},
			&cli.StringFlag{Name: "out", Usage: "`FILE` to write, .npy or .parquet; empty: DATA.npy or SPLIT.npy in the current folder"},
			sliceFlag("", embedSlices...), sideFlag(0),
			&cli.Float64Flag{Name: "allow-missing", Value: 0.01, Usage: "`SHARE` of images that may be broken, 0 to 1"},
			limitFlag(), replaceFlag(), deviceFlag(),
		}),
		Action: func(c *cli.Context) error {
			j, err := newJob(c)
			if err != nil {
				return err
			}
			o, err := newEmbedding(c, j)
			if err != nil {
				return err
			}
			return errors.Join(o.run(j), j.Close())
		},
	}
}

// publishedFlags are the flags of a publishedChoice.
func publishedFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "weights", Usage: "`FILE` of weights, or the folder that a library saved the model to"},
		&cli.StringFlag{Name: "backbone", Usage: "`NAME` of the network, hgld's or timm's; empty: the one that the weights fit"},
		overrideFlag(),
	}
}

// publishedChoice chooses a network with published weights.
type publishedChoice struct {
	weights, backbone string
	line              *cli.Context // for the settings of the network
}

func newPublishedChoice(c *cli.Context) *publishedChoice {
	return &publishedChoice{weights: c.String("weights"), backbone: c.String("backbone"), line: c}
}

func (p *publishedChoice) source() string { return p.weights }

// open loads the network, and says where its settings are from.
func (p *publishedChoice) open(j *job) (*evaluation.Model, string, error) {
	if p.weights == "" {
		return nil, "", withHint(usagef("--weights is missing: hgld contains no weights and fetches only what you name"),
			"hgld models show clip-b32 says where they are published, and hgld models fetch fetches them")
	}
	file, err := pretrained.Find(p.weights)
	if err != nil {
		return nil, "", withCode(exitUsage, err)
	}
	c, err := p.config(j, file)
	if err != nil {
		return nil, "", err
	}
	m, err := openPublished(j, c)
	return m, "published weights of " + c.Model.Backbone.Name, err
}

// config returns the settings of the network.
func (p *publishedChoice) config(j *job, file string) (config.Config, error) {
	s := runs.DefaultSettings()
	s.Config = config.PublishedDefault()
	section := j.project.Section("train", &s)
	section.Defaults()
	s.Model.Weights = file
	if err := section.Assign(j.project.Assignments(p.line)); err != nil {
		return s.Config, withCode(exitUsage, err)
	}
	given := func(key string) bool { return j.project.Origin("train."+key) != settings.FromDefault }
	if p.backbone != "" {
		s.Model.Backbone.Name = p.backbone
	} else if !given("model.backbone.name") {
		name, err := p.network(file, s.Model.WeightsKey)
		if err != nil {
			return s.Config, err
		}
		s.Model.Backbone.Name = name
	}
	adopted, err := warmstart.AdoptPublished(&s.Config, given)
	if err == nil {
		j.logAll("note: %s", adopted.Notes)
		err = s.Config.Complete()
	}
	return s.Config, withCode(exitUsage, err)
}

// network returns the name of the network that the weights are for: as the files beside them state, or the
// one that the weights under a key of the file fit.
func (p *publishedChoice) network(file, key string) (string, error) {
	stated, err := pretrained.Stated(file)
	if err != nil {
		return "", withCode(exitUsage, err)
	}
	i := slices.IndexFunc(stated, func(p backbone.Preprocessing) bool { return p.Network != "" })
	if i >= 0 {
		name := stated[i].Network
		if _, ok := backbone.AliasOf(name); ok || slices.Contains(backbone.All.Names(), name) {
			return name, nil
		}
		return "", withHint(usagef("%s states the network %.80q, which hgld does not have", stated[i].Source, name),
			"if hgld has it under another name, give that with --backbone; hgld models list lists them")
	}
	w, err := readWeights(file, key)
	if err != nil {
		return "", err
	}
	list, err := backbone.KnownNetworks()
	if err != nil {
		return "", err
	}
	var names []string
	for _, f := range backbone.FitAll(list, w.Tensors) {
		if f.Fits && slices.Contains(backbone.All.Names(), f.Name) {
			names = append(names, f.Name)
		}
	}
	switch {
	case len(names) == 1:
		return names[0], nil
	case len(names) == 0:
		return "", withHint(usagef("%s fits none of the networks that hgld knows", file),
			"name the network with --backbone; hgld models list --fits %s prints what differs", word(file))
	}
	return "", withHint(usagef("%s fits %s and %s, whose preprocessing differs", file, names[0], names[1]),
		"choose with --backbone %s", word(names[0]))
}

// openPublished loads a network with published weights.
func openPublished(j *job, c config.Config) (*evaluation.Model, error) {
	decoder, b, err := j.openNetwork()
	if err != nil {
		return nil, err
	}
	m, notes, err := evaluation.OpenPublished(j.ctx, c, b, decoder)
	j.logAll("note: %s", notes)
	return m, err
}

// openRecorded loads the network with published weights that made an index.
func openRecorded(j *job, path string, info *index.Info) (*evaluation.Model, error) {
	c := config.PublishedDefault()
	c.Input, c.Model = info.Published.Input, info.Published.Model
	c.Model.Weights = index.Resolve(path, info.Checkpoint)
	if _, err := os.Stat(c.Model.Weights); err != nil {
		return nil, fmt.Errorf("%s names its weights: %w", index.InfoFile(path), err)
	}
	return openPublished(j, c)
}
