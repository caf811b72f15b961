package settings

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"hgld/internal/registry"
)

// filler copies a YAML mapping from a file into settings.
type filler struct {
	file    string                           // file name in messages
	lines   map[string]int                   // line of each key set so far, to detect duplicates
	note    func(key []string, line int)     // called for every setting that the file sets
	unknown func(path, known []string) error // builds the error for an unknown key
}

// fill sets what a YAML mapping names in the settings v. path is the section followed by the
// keys that lead to v. An unknown key, a duplicate key and a value of the wrong kind are
// errors that name the line. A key without a value keeps the default.
func (s filler) fill(node *yaml.Node, v reflect.Value, path []string) error {
	line := node.Line
	if node.ShortTag() == "!!null" {
		return nil
	}
	if !isGroup(v.Type()) {
		if err := decode(node, v); err != nil {
			return fmt.Errorf("%s:%d: %s: %w", s.file, line, strings.Join(path, "."), err)
		}
		return s.noteKey(path, line)
	}
	known := map[string]reflect.Value{}
	for _, m := range members(v) {
		known[m.key] = m.value
	}
	if name, named := known[nameKey]; named && len(path) > 1 && node.Kind == yaml.ScalarNode {
		return s.fill(node, name, append(slices.Clone(path), nameKey)) // the short form loss: happier
	}
	if node.Kind != yaml.MappingNode {
		return fmt.Errorf("%s:%d: %s: %s is not a group of keys", s.file, line, strings.Join(path, "."), quote(node))
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		here := append(slices.Clone(path), key.Value)
		if dotted, err := s.fillDotted(key, value, v, path); err != nil {
			return err
		} else if dotted {
			continue
		}
		inner, ok := known[key.Value]
		if !ok {
			return fmt.Errorf("%s:%d: %w", s.file, key.Line, s.unknown(here, slices.Sorted(maps.Keys(known))))
		}
		if line, twice := seen[key.Value]; twice {
			return s.duplicateKey(here, key.Line, line)
		}
		seen[key.Value] = key.Line
		if err := s.fill(value, inner, here); err != nil {
			return err
		}
	}
	return nil
}

// noteKey records the line of a key. A duplicate key is an error.
func (s filler) noteKey(path []string, line int) error {
	key := strings.Join(path, ".")
	if before, twice := s.lines[key]; twice {
		return s.duplicateKey(path, line, before)
	}
	s.lines[key] = line
	s.note(path, line)
	return nil
}

// duplicateKey returns the error for a duplicate key.
func (s filler) duplicateKey(path []string, line, first int) error {
	return fmt.Errorf("%s:%d: key %.80q appears twice, first in line %d", s.file, line, strings.Join(path, "."), first)
}

// fillDotted sets a dotted key: optim.lr means the key lr of the group optim. It returns false
// if the key has no dot or names no setting.
func (s filler) fillDotted(key, value *yaml.Node, v reflect.Value, path []string) (dotted bool, err error) {
	if !strings.Contains(key.Value, ".") {
		return false, nil
	}
	fields := walk(v, nil)
	i, inner := Find(fields, key.Value)
	if i < 0 {
		return false, nil
	}
	here := append(slices.Clone(path), fields[i].Path...)
	if inner == "" {
		return true, s.fill(value, fields[i].Value, here)
	}
	text, err := yaml.Marshal(value)
	if err == nil {
		err = fields[i].SetInner(strings.Split(inner, "."), string(text))
	}
	if err != nil {
		return true, fmt.Errorf("%s:%d: %s.%s: %w", s.file, key.Line, strings.Join(path, "."), key.Value, err)
	}
	return true, s.noteKey(append(here, strings.Split(inner, ".")...), key.Line)
}

// unknownKey returns the error for the last key of a path. known lists the valid keys at that
// place.
func unknownKey(path, known []string) error {
	last := len(path) - 1
	nearest := registry.Nearest(path[last], known)
	if nearest != "" {
		nearest = strings.Join(append(slices.Clone(path[:last]), nearest), ".")
	}
	return &registry.UnknownError{Kind: "key", Name: strings.Join(path, "."), Nearest: nearest, Known: known}
}
