package main

import (
	"encoding/json"

	"github.com/urfave/cli/v2"
	"go.yaml.in/yaml/v3"

	"hgld/internal/pipeline"
	"hgld/internal/settings"
)

func configCommand() *cli.Command {
	return group("config", "the resolved configuration, its check and its schema",
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

// resolved loads the settings of every section, by its name.
func resolved(p *pipeline.Project) (map[string]any, error) {
	all := map[string]any{}
	for _, s := range sections() {
		own := s.Settings()
		if err := p.Load(nil, s.Name, own); err != nil {
			return nil, err
		}
		all[s.Name] = own
	}
	return all, nil
}

func showConfig(c *cli.Context, j *job) error {
	all, err := resolved(j.project)
	if err != nil {
		return err
	}
	if j.json {
		return showJSON(j, all, c.Bool("origin"))
	}
	doc := &yaml.Node{Kind: yaml.MappingNode}
	chosen := &yaml.Node{Kind: yaml.ScalarNode, Value: j.device}
	if c.Bool("origin") {
		chosen.LineComment = j.deviceOrigin
	}
	doc.Content = append(doc.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: deviceKey}, chosen)
	if len(j.project.Off()) > 0 {
		doc.Content = append(doc.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: pipeline.StagesKey},
			j.project.Value(pipeline.StagesKey))
	}
	for _, s := range sections() {
		var body yaml.Node
		if err := body.Encode(all[s.Name]); err != nil {
			return err
		}
		if c.Bool("origin") {
			j.project.Annotate(&body, s.Name)
		}
		doc.Content = append(doc.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: s.Name}, &body)
	}
	enc := yaml.NewEncoder(j.stdout)
	enc.SetIndent(2)
	return enc.Encode(doc)
}

func showJSON(j *job, all map[string]any, origin bool) error {
	var chosen any = j.device
	if origin {
		chosen = map[string]any{"value": j.device, "origin": j.deviceOrigin}
	}
	out := map[string]any{deviceKey: chosen}
	for section, ptr := range all {
		values := map[string]any{}
		out[section] = values
		for _, f := range settings.Fields(ptr) {
			v := f.Value.Interface()
			if origin {
				v = map[string]any{"value": v, "origin": j.project.Origin(section + "." + f.Key())}
			}
			values[f.Key()] = v
		}
	}
	return writeJSON(j, out)
}

func checkConfig(c *cli.Context, j *job) error {
	if err := j.project.Require(); err != nil {
		return err
	}
	if err := j.project.Check(sections()); err != nil {
		return err
	}
	if j.json {
		return writeJSON(j, map[string]any{"file": j.project.File, "ok": true})
	}
	j.print("%s: ok\n", j.project.File)
	return nil
}

func printSchema(c *cli.Context) error {
	enc := json.NewEncoder(c.App.Writer)
	enc.SetIndent("", " ")
	return enc.Encode(stages().Schema(map[string]any{
		deviceKey: map[string]any{"type": "string", "description": deviceUsage}}))
}
