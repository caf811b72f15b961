package main

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"hgld/internal/registry"
	"hgld/internal/setting"
)

// set parses s, as YAML would, into the setting. Nothing is a value of a text, a
// list or a map only: "--k=" is a slip, and not 0.
func (f field) set(s string) error {
	switch f.value.Kind() {
	case reflect.String:
		f.value.SetString(s)
		return nil
	case reflect.Slice, reflect.Array:
		if !strings.HasPrefix(s, "[") {
			s = "[" + s + "]"
		}
	case reflect.Map:
		if strings.TrimSpace(s) == "" {
			f.value.SetZero()
			return nil
		}
	}
	node, err := scalarOf(s)
	if err != nil {
		return setting.Misfit(strconv.Quote(s), f.value.Type())
	}
	if node.ShortTag() == "!!null" && f.value.Kind() != reflect.Pointer {
		return fmt.Errorf("is empty, want %s", setting.Kind(f.value.Type()))
	}
	return decode(node, f.value)
}

// setInner is set for a value in a map of settings, or in a map within it; what
// else stands there stays.
func (f field) setInner(path []string, s string) error {
	var value any
	if err := yaml.Unmarshal([]byte(s), &value); err != nil {
		return fmt.Errorf("%.80q is no value", s)
	}
	if value == nil {
		return errors.New("is empty, want a value")
	}
	whole, ok := f.value.Interface().(map[string]any)
	if !ok {
		return f.set(fmt.Sprintf("{%s: %s}", strings.Join(path, "."), s))
	}
	whole = maps.Clone(whole)
	if whole == nil {
		whole = map[string]any{}
	}
	f.value.Set(reflect.ValueOf(whole))
	for _, key := range path[:len(path)-1] {
		inner, _ := whole[key].(map[string]any)
		if inner = maps.Clone(inner); inner == nil {
			inner = map[string]any{}
		}
		whole[key], whole = inner, inner
	}
	whole[path[len(path)-1]] = value
	return nil
}

// scalarOf parses the text of one value; no text at all is the null value.
func scalarOf(s string) (*yaml.Node, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(s), &doc); err != nil {
		return nil, err
	}
	if len(doc.Content) == 0 {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}, nil
	}
	return doc.Content[0], nil
}

// decode puts a YAML value into a setting, or says in a user's words why it does
// not fit. The YAML package would cut 1.5 off to 1 for a whole number.
func decode(node *yaml.Node, v reflect.Value) error {
	fresh := reflect.New(v.Type())
	err := node.Decode(fresh.Interface())
	if v.Kind() == reflect.Map && node.Kind == yaml.MappingNode {
		if unfit := (*yaml.TypeError)(nil); errors.As(err, &unfit) { // a key stands twice
			err = errors.New(strings.Join(unfit.Errors, "; "))
		}
	} else if err != nil || isFraction(node, v.Type()) {
		err = setting.Misfit(valueText(node), v.Type())
	}
	if err != nil {
		return err
	}
	v.Set(fresh.Elem())
	return nil
}

// isFraction reports whether a number, or one in a list, is none that the whole
// numbers of a type can hold.
func isFraction(node *yaml.Node, t reflect.Type) bool {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	switch t.Kind() {
	case reflect.Pointer:
		return isFraction(node, t.Elem())
	case reflect.Slice, reflect.Array:
		return slices.ContainsFunc(node.Content, func(n *yaml.Node) bool { return isFraction(n, t.Elem()) })
	}
	whole := reflect.Zero(t)
	if node.ShortTag() != "!!float" || !whole.CanInt() && !whole.CanUint() {
		return false
	}
	x, err := strconv.ParseFloat(strings.ReplaceAll(node.Value, "_", ""), 64) // not of .inf and .nan
	return err != nil || x != math.Trunc(x) || math.Abs(x) >= 1<<63 || x < 0 && whole.CanUint()
}

// valueText quotes a value for a message.
func valueText(node *yaml.Node) string {
	switch node.Kind {
	case yaml.AliasNode:
		return valueText(node.Alias)
	case yaml.MappingNode:
		return "a group of keys"
	case yaml.SequenceNode:
		var values []string
		for _, n := range node.Content {
			values = append(values, n.Value)
		}
		return strconv.Quote("[" + strings.Join(values, ", ") + "]")
	}
	return strconv.Quote(node.Value)
}

// sectionFile is a section of hgld.yaml, or of a run file, on its way into
// settings.
type sectionFile struct {
	path   string                       // of the file
	origin func(key []string, line int) // told the place of every setting that the file sets
	lines  map[string]int               // where each key was set, for one that is set again
}

// fill sets what a YAML mapping names in the settings v, which the section and the
// keys of path lead to. A plain text selects an entry of a group by name, and a key
// with dots is one of a group's. A key that they do not have, one that is set twice and
// a value of another kind are errors that name the line; a key with nothing behind it
// leaves the default.
func (s sectionFile) fill(node *yaml.Node, v reflect.Value, path []string) error {
	line := node.Line
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	if node.ShortTag() == "!!null" {
		return nil
	}
	if !isGroup(v.Type()) {
		if err := decode(node, v); err != nil {
			return fmt.Errorf("%s:%d: %s: %w", s.path, line, strings.Join(path, "."), err)
		}
		return s.note(path, line)
	}
	known := keysOf(v)
	if name, named := known[nameKey]; named && len(path) > 1 && node.Kind == yaml.ScalarNode {
		return s.fill(node, name, append(slices.Clone(path), nameKey)) // loss: happier
	}
	if node.Kind != yaml.MappingNode {
		return fmt.Errorf("%s:%d: %s: %s is no group of keys", s.path, line, strings.Join(path, "."), valueText(node))
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		here := append(slices.Clone(path), key.Value)
		inner, ok := known[key.Value]
		if dotted, err := s.fillDotted(key, value, v, path); dotted || err != nil {
			if err != nil {
				return err
			}
			continue
		}
		if !ok {
			return fmt.Errorf("%s:%d: %w", s.path, key.Line, unknownKey(here, slices.Sorted(maps.Keys(known))))
		}
		if line, twice := seen[key.Value]; twice {
			return fmt.Errorf("%s:%d: key %.80q appears twice, first in line %d", s.path, key.Line, strings.Join(here, "."), line)
		}
		seen[key.Value] = key.Line
		if err := s.fill(value, inner, here); err != nil {
			return err
		}
	}
	return nil
}

// note keeps where a key was set; a key that is set twice is an error.
func (s sectionFile) note(path []string, line int) error {
	key := strings.Join(path, ".")
	if before, twice := s.lines[key]; twice {
		return fmt.Errorf("%s:%d: key %.80q appears twice, first in line %d", s.path, line, key, before)
	}
	s.lines[key] = line
	s.origin(path[1:], line)
	return nil
}

// fillDotted takes a key such as optim.lr, which stands for the key lr of the group
// optim, and reports whether this is one.
func (s sectionFile) fillDotted(key, value *yaml.Node, v reflect.Value, path []string) (dotted bool, err error) {
	fields := walk(v, nil)
	i, inner := findKey(fields, key.Value)
	if !strings.Contains(key.Value, ".") || i < 0 {
		return false, nil
	}
	here := append(slices.Clone(path), fields[i].path...)
	if inner == "" {
		return true, s.fill(value, fields[i].value, here)
	}
	text, err := yaml.Marshal(value)
	if err == nil {
		err = fields[i].setInner(strings.Split(inner, "."), string(text))
	}
	if err != nil {
		return true, fmt.Errorf("%s:%d: %s.%s: %w", s.path, key.Line, strings.Join(path, "."), key.Value, err)
	}
	return true, s.note(append(here, strings.Split(inner, ".")...), key.Line)
}

// keysOf finds the settings of a group by their keys.
func keysOf(v reflect.Value) map[string]reflect.Value {
	known := map[string]reflect.Value{}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if options == "inline" {
			maps.Copy(known, keysOf(v.Field(i)))
		} else if name != "-" && f.IsExported() {
			known[name] = v.Field(i)
		}
	}
	return known
}

// unknownKey is the error for the last key of a path, which is not among known.
func unknownKey(path, known []string) error {
	last := len(path) - 1
	if at := slices.Index(stageNames(), path[0]); at >= 0 {
		var all []string
		for _, f := range fieldsOf(sections()[at].settings()) {
			all = append(all, f.key())
		}
		if meant := keyLike(strings.Join(path[1:], "."), all); meant != "" {
			return &registry.UnknownError{Kind: "key", Name: strings.Join(path, "."), Nearest: path[0] + "." + meant}
		}
	}
	nearest := registry.Nearest(path[last], known)
	if nearest != "" {
		nearest = strings.Join(append(slices.Clone(path[:last]), nearest), ".")
	}
	return &registry.UnknownError{Kind: "key", Name: strings.Join(path, "."), Nearest: nearest, Known: known}
}
