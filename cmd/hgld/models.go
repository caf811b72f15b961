package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/internal/registry"
	"hgld/internal/texttable"
	"hgld/train/backbone"
	"hgld/train/nn"
	"hgld/train/pretrained"
	"hgld/train/warmstart"
)

const modelsExamples = "  hgld models list                        backbones and published retrieval nets\n" +
	"  hgld models show resnet50               layers with shapes, and where weights are published\n" +
	"  hgld models list --fits resnet50.safetensors\n" +
	"                                          which networks a file of weights fits\n" +
	"  hgld models fetch resnet50 --from URL   download weights, check and convert them"

func modelsCommand() *cli.Command {
	return group("models", "backbones, published nets and their weights", modelsExamples,
		&cli.Command{
			Name: "list", Usage: "list the networks, or those that a file of weights fits",
			Description: "  hgld models list                        with size, input and source of weights\n" +
				"  hgld models list --fits resnet50.safetensors\n" +
				"  hgld models list --fits my.pth --json   every missing or unexpected name\n\n" +
				"  The file can be .safetensors, or a .pth, .pt or .bin written by torch.save.",
			Flags:  append(commonFlags(), &cli.StringFlag{Name: "fits", Usage: "list the networks that the weights in `FILE` fit"}),
			Action: listModels,
		},
		&cli.Command{
			Name: "show", Usage: "print the layers of a network, with shapes and totals", ArgsUsage: "NAME",
			Description: "  hgld models show deit-small\n  hgld models show resnet-ln-gem      a published net, with its " +
				"projection",
			Flags: commonFlags(), Action: showModel,
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
	if c.IsSet("fits") {
		return listFits(j, c.String("fits"))
	}
	list, err := backbone.KnownNetworks()
	if err != nil {
		return err
	}
	if j.json {
		return writeJSON(j, list)
	}
	const format = "%-22s %11s %9s %6s  %s"
	networks := [][]string{{"backbone", "parameters", "embedding", "input", "weights (licence)"}}
	nets := [][]string{{"net", "parameters", "embedding", "input",
		"backbone, pooling, standard; its name in SupRank"}}
	for _, m := range list {
		row := texttable.Row(m.Name, m.Parameters, m.Embedding, m.Input, modelSource(m))
		if m.Net {
			nets = append(nets, row)
		} else {
			networks = append(networks, row)
		}
	}
	j.print("%s\n%s", texttable.Format(format, networks...), texttable.Format(format, nets...))
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
	rows, state := [][]string{{"tensor", "shape", "trained"}}, 0
	for _, x := range m.Store.Layout() {
		n := 1
		for _, d := range x.Dims {
			n *= d
		}
		if !x.Trained {
			state += n
			continue
		}
		rows = append(rows, texttable.Row(x.Name, shapeText(x.Dims), n))
	}
	rows = append(rows, texttable.Row("total", "", m.Parameters))
	if state > 0 {
		rows = append(rows, texttable.Row("running statistics, not trained", "", state))
	}
	j.print("\n%s", texttable.Format("%-44s %-18s %10s", rows...))
	return nil
}

// shapeText formats a shape.
func shapeText(dims []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(dims), " ", "×"), "[]")
}

// modelsAdvice has the exit codes and next steps for errors of files of weights.
var modelsAdvice = []advice{
	kind(exitOK, func(e *warmstart.WeightsFolderError) string {
		return "to start from the whole network of a run, use --from " + word(e.Path)
	}),
	kind(exitOK, func(*warmstart.UnfitError) string {
		return "hgld models list --fits FILE prints the networks that a file fits"
	}),
	sentinel(pretrained.ErrExists, exitUsage, "replace it with --replace, or name another file with --out"),
	sentinel(pretrained.ErrSum, exitIntegrity, "the file is damaged, or is not the one that was published"),
	sentinel(pretrained.ErrFit, exitIntegrity, "hgld models list lists the networks"),
}
