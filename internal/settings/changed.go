package settings

import (
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Changed lists the dotted keys whose values differ between two YAML texts of the same settings. Where
// a map only gained or changed values, their inner keys are listed.
func Changed(fields []Field, was, now string) ([]string, error) {
	a, err := Document("the settings before", []byte(was))
	if err != nil {
		return nil, err
	}
	b, err := Document("the settings", []byte(now))
	if err != nil {
		return nil, err
	}
	var keys []string
	for _, f := range fields {
		keys = append(keys, changed(f.Path, at(a, f.Path), at(b, f.Path), f.Value.Kind() == reflect.Map)...)
	}
	return keys, nil
}

// changed lists the keys of two values that differ: path itself, or keys of a map below it.
func changed(path []string, was, now *yaml.Node, isMap bool) []string {
	if oneLine(was) == oneLine(now) {
		return nil
	}
	whole := []string{strings.Join(path, ".")}
	if !isMap || was == nil || now == nil || was.Kind != yaml.MappingNode || now.Kind != yaml.MappingNode {
		return whole
	}
	for i := 0; i < len(was.Content); i += 2 {
		if Lookup(now, was.Content[i].Value) == nil {
			return whole
		}
	}
	var keys []string
	for i := 0; i+1 < len(now.Content); i += 2 {
		key := now.Content[i].Value
		if strings.Contains(key, ".") {
			return whole
		}
		keys = append(keys, changed(append(slices.Clone(path), key), Lookup(was, key), now.Content[i+1], true)...)
	}
	return keys
}

// At returns the value of a dotted key in a YAML text, as YAML on one line, or "" if there is none.
func At(text, key string) string {
	doc, err := Document("", []byte(text))
	if node := at(doc, strings.Split(key, ".")); err == nil && node != nil {
		return oneLine(node)
	}
	return ""
}

// at returns the value under a path of keys in a mapping, or nil.
func at(node *yaml.Node, path []string) *yaml.Node {
	for _, key := range path {
		node = Lookup(node, key)
	}
	return node
}
