package main

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/urfave/cli/v2"

	"hgld/internal/pipeline"
	"hgld/internal/settings"
	"hgld/train"
	"hgld/train/backbone"
	"hgld/train/history"
	"hgld/train/index"
	"hgld/train/pretrained"
)

const embedImagesExamples = "  hgld embed-images --weights clip-vit-base-patch32 photos\n" +
	"                                          photos.npy of a folder of images; photos.csv has ids and classes\n" +
	"  hgld embed-images --weights dinov2/model.safetensors --out dinov2.npy --split test shards\n" +
	"  hgld embed-images --weights resnet50-0676ba61.pth --backbone resnet50 photos.zip\n" +
	"  hgld embed-images --weights w.safetensors --backbone vit_base_patch16_224.dino -o input.size=224 photos\n\n" +
	"  The preprocessing is that of config.json, preprocessor_config.json or open_clip_config.json beside the weights;\n" +
	"  without them, that of the network's usual weights. -o sets input.* and model.* otherwise. An interrupted\n" +
	"  command continues where it stopped. hgld eval run --embeddings measures the vectors, and hgld search finds\n" +
	"  the nearest of them."

func embedImagesCommand() *cli.Command {
	return &cli.Command{
		Name: "embed-images", Usage: "embed images with published weights, without a training", ArgsUsage: "DATA",
		Description: embedImagesExamples,
		Flags:       slices.Concat(commonFlags(), publishedFlags(), embedFlags()),
		Action: func(c *cli.Context) error {
			j, err := newJob(c)
			if err != nil {
				return err
			}
			o := newEmbedChoice(c, newPublishedChoice(c))
			o.command, o.example = "embed-images", "hgld embed-images --weights model.safetensors photos"
			return errors.Join(o.run(j), j.Close())
		},
	}
}

// publishedFlags are the flags of a publishedChoice.
func publishedFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "weights", Usage: "`FILE` of weights, or the folder that a library saved the model to"},
		&cli.StringFlag{Name: "backbone", Usage: "`NAME` of the network, hgld's or timm's; empty: the one that the weights fit"},
		weightsKeyFlag(), overrideFlag(),
	}
}

// publishedChoice chooses a network with published weights.
type publishedChoice struct {
	weights, backbone, key string
	assignments            []string
	threads                int
}

func newPublishedChoice(c *cli.Context) *publishedChoice {
	return &publishedChoice{weights: c.String("weights"), backbone: c.String("backbone"), key: c.String("key"),
		assignments: c.StringSlice(pipeline.OverrideFlag), threads: c.Int("threads")}
}

func (p *publishedChoice) source() string { return p.weights }

// open loads the network, and says where its settings are from.
func (p *publishedChoice) open(j *job) (*train.Model, string, error) {
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
	m, err := openPublished(j, c, p.threads)
	return m, "published weights of " + c.Model.Backbone.Name, err
}

// config returns the settings of the network.
func (p *publishedChoice) config(j *job, file string) (train.Config, error) {
	s := history.DefaultSettings()
	s.Config = train.PublishedDefault()
	section := j.project.Section("train", &s)
	section.Defaults()
	s.Model.Weights, s.Model.WeightsKey = file, p.key
	if err := section.Assign(p.assignments); err != nil {
		return s.Config, withCode(exitUsage, err)
	}
	given := func(key string) bool { return j.project.Origin("train."+key) != settings.FromDefault }
	if p.backbone != "" {
		s.Model.Backbone.Name = p.backbone
	} else if !given("model.backbone.name") {
		name, err := p.network(file)
		if err != nil {
			return s.Config, err
		}
		s.Model.Backbone.Name = name
	}
	adopted, err := s.Config.AdoptPublished(given)
	if err == nil {
		j.sayAll("note: %s", adopted.Notes)
		err = s.Config.Complete()
	}
	return s.Config, withCode(exitUsage, err)
}

// network returns the name of the network that the weights are for: as the files beside them state, or the
// one that they fit.
func (p *publishedChoice) network(file string) (string, error) {
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
	w, err := readWeights(file, p.key)
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
			"name the network with --backbone; hgld models check %s says what differs", word(file))
	}
	return "", withHint(usagef("%s fits %s and %s, whose preprocessing differs", file, names[0], names[1]),
		"choose with --backbone %s", word(names[0]))
}

// openPublished loads a network with published weights.
func openPublished(j *job, c train.Config, threads int) (*train.Model, error) {
	decoder, b, err := j.openNetwork(threads)
	if err != nil {
		return nil, err
	}
	m, notes, err := train.OpenPublished(j.ctx, c, b, decoder)
	j.sayAll("note: %s", notes)
	return m, err
}

// openRecorded loads the network with published weights that made an index.
func openRecorded(j *job, path string, info *index.Info, threads int) (*train.Model, error) {
	c := train.PublishedDefault()
	c.Input, c.Model = info.Published.Input, info.Published.Model
	c.Model.Weights = index.Resolve(path, info.Checkpoint)
	if _, err := os.Stat(c.Model.Weights); err != nil {
		return nil, fmt.Errorf("%s names its weights: %w", index.InfoFile(path), err)
	}
	return openPublished(j, c, threads)
}
