package pipeline

import (
	"maps"
	"strings"

	"go.yaml.in/yaml/v3"

	"hgld/internal/settings"
)

// Annotate adds the origin of each setting as a comment on its line. node holds the settings of
// a stage, or of a group in it, and path is its key.
func (p *Project) Annotate(node *yaml.Node, path string) {
	for i := 0; i+1 < len(node.Content) && node.Kind == yaml.MappingNode; i += 2 {
		here := strings.TrimPrefix(path+"."+node.Content[i].Value, ".")
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

// Resolved loads the settings of every stage, by its name, and those of no stage by "". The errors are those of
// [Project.Load].
func (p *Project) Resolved() (map[string]any, error) {
	all := map[string]any{}
	if top := p.engine().Top; top != nil {
		all[""] = top()
		if err := p.LoadTop(nil, all[""]); err != nil {
			return nil, err
		}
	}
	for _, s := range p.engine().Stages {
		own := s.Settings()
		if err := p.Load(nil, s.Name, own); err != nil {
			return nil, err
		}
		all[s.Name] = own
	}
	return all, nil
}

// Document returns settings of [Project.Resolved] as an hgld.yaml: those of no stage, the stages in use, and the stages
// in order. With origin each setting has the origin of its value as a comment.
func (p *Project) Document(all map[string]any, origin bool) (*yaml.Node, error) {
	doc := &yaml.Node{Kind: yaml.MappingNode}
	if top := all[""]; top != nil {
		if err := doc.Encode(top); err != nil {
			return nil, err
		}
		if origin {
			p.Annotate(doc, "")
		}
	}
	key := func(name string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: name} }
	if len(p.Off()) > 0 {
		doc.Content = append(doc.Content, key(StagesKey), p.values[StagesKey])
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
		values := out
		if stage != "" {
			values = map[string]any{}
			out[stage] = values
		}
		for _, f := range settings.Fields(ptr) {
			v := f.Value.Interface()
			if origin {
				v = map[string]any{"value": v, "origin": p.Origin(strings.TrimPrefix(stage+"."+f.Key(), "."))}
			}
			values[f.Key()] = v
		}
	}
	return out
}

// Schema returns a JSON Schema of hgld.yaml.
func (l *Pipeline) Schema() map[string]any {
	properties := map[string]any{
		versionKey: map[string]any{"type": "integer", "description": "format version", "maximum": ProjectVersion},
		StagesKey: map[string]any{"type": "array", "minItems": 1, "items": map[string]any{"enum": l.Names()},
			"description": "the stages in use; without this key, all are"},
	}
	if l.Top != nil {
		maps.Copy(properties, settings.Schema(l.Top(), "")["properties"].(map[string]any))
	}
	for _, s := range l.Stages {
		properties[s.Name] = settings.Schema(s.Settings(), s.Command)
	}
	return map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": ProjectFile,
		"type": "object", "properties": properties, "additionalProperties": false,
	}
}
