package pipeline

import (
	"go.yaml.in/yaml/v3"

	"hgld/internal/settings"
)

// Annotate adds the origin of each setting as a comment on its line. node holds the settings of
// a section, or of a group in it, and path is its key.
func (p *Project) Annotate(node *yaml.Node, path string) {
	for i := 0; i+1 < len(node.Content) && node.Kind == yaml.MappingNode; i += 2 {
		here := path + "." + node.Content[i].Value
		if from := p.Origin(here); from != "" {
			target := node.Content[i+1]
			isBlock := target.Kind == yaml.SequenceNode && target.Style != yaml.FlowStyle && len(target.Content) > 0
			if target.Kind == yaml.MappingNode || isBlock {
				target = node.Content[i]
			}
			target.LineComment = from
			continue
		}
		p.Annotate(node.Content[i+1], here)
	}
}

// Schema returns a JSON Schema of hgld.yaml. more describes the keys that are no sections.
func (l *Pipeline) Schema(more map[string]any) map[string]any {
	properties := map[string]any{
		versionKey: map[string]any{"type": "integer", "description": "format version", "maximum": ProjectVersion},
		StagesKey: map[string]any{"type": "array", "minItems": 1, "items": map[string]any{"enum": l.Names()},
			"description": "the stages in use; without this key, all are"},
	}
	for key, about := range more {
		properties[key] = about
	}
	for _, s := range l.Stages {
		properties[s.Name] = settings.Schema(s.Settings(), s.Command)
	}
	return map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": ProjectFile,
		"type": "object", "properties": properties, "additionalProperties": false,
	}
}
