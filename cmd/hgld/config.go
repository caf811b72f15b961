package main

import (
	"encoding/json"
	"errors"

	"github.com/urfave/cli/v2"
	"go.yaml.in/yaml/v3"

	"hgld/internal/registry"
	"hgld/internal/settings"
	"hgld/internal/texttable"
	"hgld/train/device/cuda"
)

func configCommand() *cli.Command {
	return group("config", "print, check or describe the configuration",
		"  hgld config show --origin   every setting and where its value comes from\n"+
			"  hgld config check           is hgld.yaml right?\n"+
			"  hgld config schema          JSON Schema for an editor",
		&cli.Command{Name: "show", Usage: "print the resolved configuration as YAML", ArgsUsage: "[SECTION]",
			Description: "  hgld config show\n  hgld config show --origin\n  hgld config show --json\n" +
				"  hgld config show eval       each setting of the section: name, value, origin and meaning",
			Flags:  append(commonFlags(), &cli.BoolFlag{Name: "origin", Usage: "print where each value comes from"}),
			Action: actionWithArgs(0, 1, "a section at most", showConfig)},
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
	if len(j.args) > 0 {
		return showSection(j, j.args[0], all)
	}
	origin := c.Bool("origin")
	if j.json {
		return writeJSON(j, j.project.Values(all, origin))
	}
	doc, err := j.project.Document(all, origin)
	if err != nil {
		return err
	}
	enc := yaml.NewEncoder(j.stdout)
	enc.SetIndent(2)
	return enc.Encode(doc)
}

// sectionSetting is a setting as hgld config show SECTION prints it.
type sectionSetting struct {
	Name    string `json:"name"`
	Value   any    `json:"value"`
	Origin  string `json:"origin"`
	Meaning string `json:"meaning"`
}

// showSection prints the settings of a section of [pipeline.Project.Resolved].
func showSection(j *job, section string, all map[string]any) error {
	own := all[section]
	if own == nil {
		return withCode(exitUsage, registry.Unknown("section", section, stages().Names()))
	}
	var list []sectionSetting
	rows := [][]string{}
	for _, f := range settings.Fields(own) {
		s := sectionSetting{f.Key(), f.Value.Interface(), j.project.Origin(section + "." + f.Key()), f.Usage()}
		meaning, _ := unquoteUsage(s.Meaning)
		s.Meaning = meaning
		list, rows = append(list, s), append(rows, []string{s.Name, settings.Text(f.Value), s.Origin, meaning})
	}
	if j.json {
		return writeJSON(j, list)
	}
	j.print("%s", texttable.Format("%s  %s  %s  %s", rows...))
	return nil
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
	return enc.Encode(stages().Schema())
}
