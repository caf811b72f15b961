package call

import (
	"bytes"
	"encoding/json"

	"go.yaml.in/yaml/v3"

	"hgld/labels"
	"hgld/train/loss"
)

// Entry is a loss of the table with its settings.
type Entry struct {
	Name     string                     `json:"name"`     // in the registry
	About    string                     `json:"about"`    // one line
	Source   string                     `json:"source"`   // the publication
	Proxies  bool                       `json:"proxies"`  // whether it trains parameters
	Settings map[string]json.RawMessage `json:"settings"` // by preset, in the order of the declaration
}

// Table lists all losses.
func Table() ([]Entry, error) {
	var list []Entry
	for i, e := range loss.All {
		entry := Entry{Name: e.Name, About: e.About, Source: e.Source, Settings: map[string]json.RawMessage{}}
		for _, preset := range loss.Presets {
			var tree yaml.Node
			if err := tree.Encode(preset.Value[i].Value); err != nil {
				return nil, err
			}
			text, err := ordered(&tree)
			if err != nil {
				return nil, err
			}
			entry.Settings[preset.Name] = text
		}
		f := loss.Facts{Classes: []int{2, 2}, Dim: 1, Paths: []labels.Path{{0, 0}, {1, 1}}}
		if made, err := e.Value.New(f); err == nil {
			_, entry.Proxies = made.(loss.Trained)
		}
		list = append(list, entry)
	}
	return list, nil
}

// ordered returns a tree as JSON that keeps the order of its keys.
func ordered(tree *yaml.Node) ([]byte, error) {
	if tree.Kind != yaml.MappingNode {
		var value any
		if err := tree.Decode(&value); err != nil {
			return nil, err
		}
		return json.Marshal(value)
	}
	text := bytes.NewBufferString("{")
	for i := 0; i+1 < len(tree.Content); i += 2 {
		key, err := json.Marshal(tree.Content[i].Value)
		if err != nil {
			return nil, err
		}
		value, err := ordered(tree.Content[i+1])
		if err != nil {
			return nil, err
		}
		if i > 0 {
			text.WriteByte(',')
		}
		text.Write(key)
		text.WriteByte(':')
		text.Write(value)
	}
	text.WriteByte('}')
	return text.Bytes(), nil
}
