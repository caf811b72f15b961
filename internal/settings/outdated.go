package settings

import (
	"reflect"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Outdated is a group of settings whose keys had other names in earlier versions.
type Outdated interface {
	// Modern returns a mapping of a file with the names of today. It returns the node itself if
	// no key is old, and does not change the node.
	Modern(node *yaml.Node) *yaml.Node
}

// Unmarshal reads settings that a program has written, perhaps an earlier version. Keys that are
// not in the text keep their values, and unknown keys are ignored.
func Unmarshal(text []byte, ptr any) error {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil || len(doc.Content) == 0 {
		return err
	}
	return modern(doc.Content[0], reflect.ValueOf(ptr).Elem()).Decode(ptr)
}

// modern returns a mapping with today's names in all groups of v.
func modern(node *yaml.Node, v reflect.Value) *yaml.Node {
	if node.Kind != yaml.MappingNode || !isGroup(v.Type()) {
		return node
	}
	if group, ok := v.Addr().Interface().(Outdated); ok {
		node = group.Modern(node)
	}
	out := *node
	out.Content = slices.Clone(node.Content)
	for _, m := range members(v) {
		for i := 0; i+1 < len(out.Content); i += 2 {
			if out.Content[i].Value == m.key {
				out.Content[i+1] = modern(out.Content[i+1], m.value)
			}
		}
	}
	return &out
}
