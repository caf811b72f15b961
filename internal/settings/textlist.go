package settings

import "go.yaml.in/yaml/v3"

// TextList is a list of texts, such as names of files. In YAML it may be a single one.
type TextList []string

// UnmarshalYAML reads a list or a single name.
func (l *TextList) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode && node.ShortTag() != "!!null" {
		*l = TextList{node.Value}
		return nil
	}
	return node.Decode((*[]string)(l))
}

// MarshalYAML writes a list of one file as a single name.
func (l TextList) MarshalYAML() (any, error) {
	if len(l) == 1 {
		return l[0], nil
	}
	return []string(l), nil
}
