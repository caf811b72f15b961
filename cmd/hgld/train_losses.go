package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"hgld/internal/texttable"
	"hgld/train/loss"
)

func trainLossesCommand() *cli.Command {
	return &cli.Command{
		Name: "losses", Usage: "list the losses and their settings, as published and as released", ArgsUsage: "[NAME]",
		Description: "  hgld train losses                       all losses\n" +
			"  hgld train losses happier               the settings of one, in both presets\n" +
			"  hgld train run -o loss.name=happier -o loss.preset=released\n" +
			"  hgld train run -o loss.name=smooth-ap -o loss.settings.tau=0.02",
		Flags: commonFlags(),
		Action: action(func(c *cli.Context, j *job) error {
			if len(j.args) > 1 {
				return usagef("train losses takes one name; got %d", len(j.args))
			}
			if len(j.args) == 1 {
				return showLoss(j, j.args[0])
			}
			return listLosses(j)
		}),
	}
}

func listLosses(j *job) error {
	if j.json {
		var list []map[string]any
		for _, e := range loss.WithExternal(loss.All) {
			list = append(list, map[string]any{"name": e.Name, "about": e.About, "settings": e.Value})
		}
		return writeJSON(j, list)
	}
	var rows [][]string
	for _, e := range loss.WithExternal(loss.All) {
		rows = append(rows, []string{e.Name, e.About})
	}
	j.print("%s", texttable.Format("%-22s %s", rows...))
	return nil
}

// showLoss prints the settings of a loss in both presets.
func showLoss(j *job, name string) error {
	if _, err := loss.WithExternal(loss.All).Get("loss", name); err != nil {
		return withHint(withCode(exitUsage, err), "hgld train losses lists them")
	}
	list, err := loss.PresetSettings(name)
	if err != nil {
		return err
	}
	about := loss.WithExternal(loss.All).About(name)
	return j.show(map[string]any{"name": name, "about": about, "settings": list},
		fmt.Sprintf("%s: %s\n\n%s\n* differs in the released code; loss.preset chooses, loss.settings changes one setting\n",
			name, about, loss.SettingsText(list)))
}
