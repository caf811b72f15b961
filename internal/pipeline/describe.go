package pipeline

import (
	"go.yaml.in/yaml/v3"

	"hgld/internal/settings"
)

// Annotate adds the origin of each setting as a comment on its line. node holds the settings of
// a stage, or of a group in it, and path is its key.
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

// Resolved loads the settings of every stage, by its name. The errors are those of
// [Project.Load].
func (p *Project) Resolved() (map[string]any, error) {
	all := map[string]any{}
	for _, s := range p.engine().Stages {
		own := s.Settings()
		if err := p.Load(nil, s.Name, own); err != nil {
			return nil, err
		}
		all[s.Name] = own
	}
	return all, nil
}

// Document returns settings of [Project.Resolved] as an hgld.yaml in the order of the
// stages, behind the given keys, which belong to no stage, and the stages in use. With
// origin each setting has the origin of its value as a comment.
func (p *Project) Document(all map[string]any, keys []*yaml.Node, origin bool) (*yaml.Node, error) {
	doc := &yaml.Node{Kind: yaml.MappingNode, Content: keys}
	key := func(name string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: name} }
	if len(p.Off()) > 0 {
		doc.Content = append(doc.Content, key(StagesKey), p.Value(StagesKey))
	}
	for _, s := range p.engine().Stages {
		var body yaml.Node
		if err := body.Encode(all[s.Name]); err != nil {
			return nil, err
		}
		if origin {
			p.Annotate(&body, s.Name)
		}
		doc.Content = append(doc.Content, key(s.Name), &body)
	}
	return doc, nil
}

// Values returns settings of [Project.Resolved] by stage and key. With origin each value
// is an object with the keys value and origin.
func (p *Project) Values(all map[string]any, origin bool) map[string]any {
	out := map[string]any{}
	for stage, ptr := range all {
		values := map[string]any{}
		out[stage] = values
		for _, f := range settings.Fields(ptr) {
			v := f.Value.Interface()
			if origin {
				v = map[string]any{"value": v, "origin": p.Origin(stage + "." + f.Key())}
			}
			values[f.Key()] = v
		}
	}
	return out
}

// Schema returns a JSON Schema of hgld.yaml. more describes the keys that are no stages.
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
