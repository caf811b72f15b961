package settings

import "go.yaml.in/yaml/v3"

// FileList is a list of files. In YAML it may be a single name.
type FileList []string

// UnmarshalYAML reads a list or a single name.
func (l *FileList) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode && node.ShortTag() != "!!null" {
		*l = FileList{node.Value}
		return nil
	}
	return node.Decode((*[]string)(l))
}

// MarshalYAML writes a list of one file as a single name.
func (l FileList) MarshalYAML() (any, error) {
	if len(l) == 1 {
		return l[0], nil
	}
	return []string(l), nil
}
