package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"
	"go.yaml.in/yaml/v3"

	"hgld/train/loss"
)

func trainLossesCommand() *cli.Command {
	return &cli.Command{
		Name: "losses", Usage: "the losses, their settings, and where paper and released code differ", ArgsUsage: "[NAME]",
		Description: "  hgld train losses                       what there is\n" +
			"  hgld train losses happier               settings of one, by the paper and by the released code\n" +
			"  hgld train run -o loss.name=happier -o loss.preset=released\n" +
			"  hgld train run -o loss.name=smooth-ap -o loss.settings.tau=0.02",
		Flags: commonFlags(),
		Action: func(c *cli.Context) error {
			j, err := newJob(c)
			if err != nil {
				return err
			}
			if len(j.args) > 1 {
				return usagef("train losses takes one name, got %d", len(j.args))
			}
			if len(j.args) == 1 {
				return showLoss(j, j.args[0])
			}
			return listLosses(j)
		},
	}
}

func listLosses(j *job) error {
	if j.json {
		var list []map[string]any
		for _, e := range loss.All {
			list = append(list, map[string]any{"name": e.Name, "about": e.About, "settings": e.Value})
		}
		return writeJSON(j, list)
	}
	for _, e := range loss.All {
		j.print("%-22s %s\n", e.Name, e.About)
	}
	return nil
}

// lossSetting is a setting of a loss with its value in each preset.
type lossSetting struct {
	Key    string         `json:"key"`
	Values map[string]any `json:"values"`
}

// showLoss prints the settings of a loss in both presets.
func showLoss(j *job, name string) error {
	if _, err := loss.All.Get("loss", name); err != nil {
		return withHint(withCode(exitUsage, err), "hgld train losses lists them")
	}
	var list []lossSetting
	for _, preset := range loss.Presets {
		kind, err := preset.Value.Get("loss", name)
		if err != nil {
			return err
		}
		var tree yaml.Node
		if err := tree.Encode(kind); err != nil {
			return err
		}
		list = settingsOf(list, preset.Name, "", &tree)
	}
	about := ""
	for _, e := range loss.All {
		if e.Name == name {
			about = e.About
		}
	}
	if j.json {
		return writeJSON(j, map[string]any{"name": name, "about": about, "settings": list})
	}
	j.print("%s: %s\n\n", name, about)
	j.print("%-31s %-12s %s\n", "setting", loss.Presets[0].Name, loss.Presets[1].Name)
	for _, s := range list {
		row := fmt.Sprintf("%-31s", s.Key)
		for _, preset := range loss.Presets {
			row += fmt.Sprintf(" %-12v", s.Values[preset.Name])
		}
		mark := ""
		if fmt.Sprint(s.Values[loss.Presets[0].Name]) != fmt.Sprint(s.Values[loss.Presets[1].Name]) {
			mark = " *"
		}
		j.print("%s\n", strings.TrimRight(row, " ")+mark)
	}
	j.print("\n* differs in the released code; loss.preset chooses, loss.settings changes single ones\n")
	return nil
}

// settingsOf adds the leaves of a tree, under dotted keys, to those of other presets.
func settingsOf(list []lossSetting, preset, prefix string, tree *yaml.Node) []lossSetting {
	for i := 0; i+1 < len(tree.Content); i += 2 {
		key, value := prefix+tree.Content[i].Value, tree.Content[i+1]
		if value.Kind == yaml.MappingNode {
			list = settingsOf(list, preset, key+".", value)
			continue
		}
		at := -1
		for k, s := range list {
			if s.Key == key {
				at = k
			}
		}
		if at < 0 {
			list = append(list, lossSetting{key, map[string]any{}})
			at = len(list) - 1
		}
		list[at].Values[preset] = leafText(value)
	}
	return list
}

// leafText formats a value as in YAML: a list in brackets, "auto" for a computed one.
func leafText(v *yaml.Node) string {
	switch {
	case v.Kind == yaml.SequenceNode:
		var parts []string
		for _, item := range v.Content {
			parts = append(parts, leafText(item))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case v.Tag == "!!null":
		return "auto"
	}
	return v.Value
}
