package main

import (
	"encoding/json"
	"errors"
	"hgld/train/device/cuda"

	"github.com/urfave/cli/v2"
	"go.yaml.in/yaml/v3"
)

func configCommand() *cli.Command {
	return group("config", "print, check or describe the configuration",
		"  hgld config show --origin   every setting and where its value comes from\n"+
			"  hgld config check           is hgld.yaml right?\n"+
			"  hgld config schema          JSON Schema for an editor",
		&cli.Command{Name: "show", Usage: "print the resolved configuration as YAML",
			Description: "  hgld config show\n  hgld config show --origin\n  hgld config show --json",
			Flags:       append(commonFlags(), &cli.BoolFlag{Name: "origin", Usage: "say where each value comes from"}),
			Action:      action(showConfig)},
		&cli.Command{Name: "check", Usage: "check hgld.yaml and the HGLD_* variables",
			Description: "  hgld config check", Flags: commonFlags(), Action: action(checkConfig)},
		&cli.Command{Name: "schema", Usage: "print a JSON Schema of hgld.yaml",
			Description: "  hgld config schema > hgld.schema.json", Action: printSchema},
	)
}

func showConfig(c *cli.Context, j *job) error {
	all, err := j.project.Resolved()
	if err != nil {
		return err
	}
	origin := c.Bool("origin")
	if j.json {
		out := j.project.Values(all, origin)
		if out[deviceKey] = j.device; origin {
			out[deviceKey] = map[string]any{"value": j.device, "origin": j.deviceOrigin}
		}
		return writeJSON(j, out)
	}
	chosen := &yaml.Node{Kind: yaml.ScalarNode, Value: j.device}
	if origin {
		chosen.LineComment = j.deviceOrigin
	}
	doc, err := j.project.Document(all, []*yaml.Node{{Kind: yaml.ScalarNode, Value: deviceKey}, chosen}, origin)
	if err != nil {
		return err
	}
	enc := yaml.NewEncoder(j.stdout)
	enc.SetIndent(2)
	return enc.Encode(doc)
}

func checkConfig(c *cli.Context, j *job) error {
	if err := j.project.Require(); err != nil {
		return err
	}
	if err := errors.Join(j.project.Check(stages().Stages), checkVariables()); err != nil {
		return err
	}
	return j.show(map[string]any{"file": j.project.File, "ok": true}, j.project.File+": ok\n")
}

// checkVariables checks the variables that configure the machine rather than a stage.
func checkVariables() error {
	_, _, err := imageDecoder()
	return errors.Join(err, withCode(exitUsage, cuda.CheckVariables()))
}

func printSchema(c *cli.Context) error {
	enc := json.NewEncoder(c.App.Writer)
	enc.SetIndent("", " ")
	return enc.Encode(stages().Schema(map[string]any{
		deviceKey: map[string]any{"type": "string", "description": deviceUsage}}))
}
