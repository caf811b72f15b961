package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/internal/registry"
	"hgld/train/backbone"
	"hgld/train/nn"
)

const modelsExamples = "  hgld models list                        backbones and published retrieval nets\n" +
	"  hgld models show resnet50               layers with shapes, and where weights are published\n" +
	"  hgld models check resnet50.safetensors  which networks a file of weights fits\n" +
	"  hgld models fetch resnet50 --from URL   download weights, check and convert them"

func modelsCommand() *cli.Command {
	return group("models", "backbones, published nets and their weights", modelsExamples,
		&cli.Command{
			Name: "list", Usage: "list the networks, with size, input and source of weights",
			Description: "  hgld models list\n  hgld models list --json",
			Flags:       commonFlags(), Action: listModels,
		},
		&cli.Command{
			Name: "show", Usage: "print the layers of a network, with shapes and totals", ArgsUsage: "NAME",
			Description: "  hgld models show deit-small\n  hgld models show resnet-ln-gem      a published net, with its " +
				"projection",
			Flags: commonFlags(), Action: showModel,
		},
		&cli.Command{
			Name: "check", Usage: "find the networks that a file of weights fits", ArgsUsage: "FILE",
			Description: "  hgld models check resnet50.safetensors\n" +
				"  hgld models check --model resnet50 my.safetensors    every missing or unexpected name\n\n" +
				"  The file can be .safetensors, or a .pth, .pt or .bin written by torch.save.",
			Flags: append(commonFlags(), &cli.StringFlag{Name: "model",
				Usage: "compare with the network `NAME` only, and list every difference"}, weightsKeyFlag()),
			Action: checkModel,
		},
		modelsFetchCommand())
}

// weightsKeyFlag chooses a dictionary of a checkpoint, as model.weights_key does in a training.
func weightsKeyFlag() cli.Flag {
	return &cli.StringFlag{Name: "key", Usage: "read the dictionary `KEY` of a checkpoint with several: state_dict_ema, teacher"}
}

// modelNamed returns the network with the given name, which may be another library's.
func modelNamed(list []backbone.Known, name string) (backbone.Known, error) {
	if a, ok := backbone.AliasOf(name); ok {
		for _, key := range slices.Sorted(maps.Keys(a.Settings)) {
			if key != "input" { // positions are resampled
				return backbone.Known{}, withHint(usagef("%s is hgld's %s with another %s", name, a.Name, key),
					"hgld train run -o model.backbone=%s takes it by that name", word(name))
			}
		}
		name = a.Name
	}
	var names []string
	for _, m := range list {
		if m.Name == name {
			return m, nil
		}
		names = append(names, m.Name)
	}
	return backbone.Known{}, withHint(withCode(exitUsage, registry.Unknown("model", name, names)),
		"hgld models list lists them")
}

func listModels(c *cli.Context) error {
	j, err := newJob(c)
	if err != nil {
		return err
	}
	list, err := backbone.KnownNetworks()
	if err != nil {
		return err
	}
	if j.json {
		return writeJSON(j, list)
	}
	j.print("%-22s %11s %9s %6s  %s\n", "backbone", "parameters", "embedding", "input", "weights (licence)")
	nets := false
	for _, m := range list {
		if m.Net && !nets {
			nets = true
			j.print("\n%-22s %11s %9s %6s  %s\n", "net", "parameters", "embedding", "input",
				"backbone, pooling, standard; its name in SupRank")
		}
		j.print("%-22s %11d %9d %6d  %s\n", m.Name, m.Parameters, m.Embedding, m.Input, modelSource(m))
	}
	return nil
}

// modelSource returns the last column of the list.
func modelSource(m backbone.Known) string {
	if m.Net {
		return fmt.Sprintf("%s, %s, %s; %s", m.Backbone, m.Model.Pooling, m.Model.Standard, m.Released)
	}
	if len(m.Weights) == 0 {
		return "none: trained from scratch"
	}
	w := m.Weights[0]
	return fmt.Sprintf("%s: %s (%s)", w.From, w.File, w.Licence)
}

func showModel(c *cli.Context) error {
	j, err := newJob(c)
	if err != nil {
		return err
	}
	if len(j.args) != 1 {
		return withHint(usagef("models show takes one name; got %d", len(j.args)), "hgld models list lists them")
	}
	list, err := backbone.KnownNetworks()
	if err != nil {
		return err
	}
	m, err := modelNamed(list, j.args[0])
	if err != nil {
		return err
	}
	if j.json {
		return writeJSON(j, struct {
			backbone.Known
			Tensors []nn.Shape `json:"tensors"`
		}{m, m.Store.Layout()})
	}
	j.print("%s: %s\n", m.Name, m.About)
	j.print("input %d×%d, embedding %d, pixel mean %v and standard deviation %v\n", m.Input, m.Input, m.Embedding,
		m.Facts.Mean, m.Facts.Std)
	if m.Net {
		j.print("%s; projection %d, frozen BatchNorm %v, pretrained %v, whitening by PCA %v\n",
			modelSource(m), m.Model.Dim, m.Model.FreezeNorm, m.Model.Pretrained, m.Model.PCA)
	}
	for _, w := range m.Weights {
		j.print("weights %s\n        %s\n        licence: %s\n", w.From, w.File, w.Licence)
	}
	j.print("\n%-44s %-18s %10s\n", "tensor", "shape", "trained")
	state := 0
	for _, x := range m.Store.Layout() {
		n := 1
		for _, d := range x.Dims {
			n *= d
		}
		if !x.Trained {
			state += n
			continue
		}
		j.print("%-44s %-18s %10d\n", x.Name, shapeText(x.Dims), n)
	}
	j.print("%-44s %-18s %10d\n", "total", "", m.Parameters)
	if state > 0 {
		j.print("%-44s %-18s %10d\n", "running statistics, not trained", "", state)
	}
	return nil
}

// shapeText formats a shape.
func shapeText(dims []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(dims), " ", "×"), "[]")
}
