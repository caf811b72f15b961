package settings

import (
	"encoding"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Set parses text as YAML and stores it in the setting. Lists may omit their brackets. Empty
// text is an error unless the setting is a string, a list or a map, so that "--k=" does not
// mean 0.
func (f Field) Set(text string) error {
	switch f.Value.Kind() {
	case reflect.String:
		f.Value.SetString(text)
		return nil
	case reflect.Slice, reflect.Array:
		if !strings.HasPrefix(text, "[") {
			text = "[" + text + "]"
		}
	case reflect.Map:
		if strings.TrimSpace(text) == "" {
			f.Value.SetZero()
			return nil
		}
	}
	node, err := parse(text)
	if err != nil {
		return Misfit(strconv.Quote(text), f.Value.Type())
	}
	if node.ShortTag() == "!!null" && f.Value.Kind() != reflect.Pointer {
		return fmt.Errorf("is empty, want %s", Kind(f.Value.Type()))
	}
	return decode(node, f.Value)
}

// SetYAML parses text as YAML and stores it in the setting. Text must be in quotes where YAML wants them.
func (f Field) SetYAML(text string) error {
	node, err := parse(text)
	if err != nil {
		return err
	}
	return decode(node, f.Value)
}

// SetInner parses text as YAML and stores it under the keys of path in a map setting. The
// other values of the map do not change.
func (f Field) SetInner(path []string, text string) error {
	var value any
	node, err := parse(text)
	if err == nil {
		err = node.Decode(&value)
	}
	if err != nil {
		return fmt.Errorf("%.80q is not a YAML value", text)
	}
	if err := checkZeros(node, reflect.TypeFor[any]()); err != nil {
		return err
	}
	if value == nil {
		return errors.New("is empty, want a value")
	}
	whole, ok := f.Value.Interface().(map[string]any)
	if !ok {
		return f.Set(fmt.Sprintf("{%s: %s}", strings.Join(path, "."), text))
	}
	whole = maps.Clone(whole)
	if whole == nil {
		whole = map[string]any{}
	}
	f.Value.Set(reflect.ValueOf(whole))
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

// parse reads the text of one value. Empty text is the null value.
func parse(text string) (*yaml.Node, error) {
	node, err := Document("the value", []byte(text))
	if err == nil && node == nil {
		node = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}
	}
	return node, err
}

// decode stores a YAML value in a setting. If the value does not fit, the setting does not
// change. A type that parses its own text or YAML reports its own error, which decode returns
// unchanged. decode checks for fractions itself, since the YAML package would truncate 1.5 to
// 1.
func decode(node *yaml.Node, v reflect.Value) error {
	if err := checkZeros(node, v.Type()); err != nil {
		return err
	}
	fresh := reflect.New(v.Type())
	if own, ok := fresh.Interface().(encoding.TextUnmarshaler); ok && node.ShortTag() == "!!str" {
		if err := own.UnmarshalText([]byte(node.Value)); err != nil {
			return err
		}
		v.Set(fresh.Elem())
		return nil
	}
	err := node.Decode(fresh.Interface())
	unfit := (*yaml.TypeError)(nil)
	switch _, own := fresh.Interface().(yaml.Unmarshaler); {
	case v.Kind() == reflect.Map && node.Kind == yaml.MappingNode:
		if errors.As(err, &unfit) { // the error names a duplicate key
			err = errors.New(strings.Join(unfit.Errors, "; "))
		}
	case own && err != nil && !errors.As(err, &unfit):
	case err != nil || isFraction(node, v.Type()):
		err = Misfit(quote(node), v.Type())
	}
	if err != nil {
		return err
	}
	v.Set(fresh.Elem())
	return nil
}

// octal matches a number that YAML 1.1 reads in base 8.
var octal = regexp.MustCompile(`^[-+]?0[0-9_]+$`)

// checkZeros returns an error for an integer with a leading zero, which the YAML package would read in
// base 8: 010 as 8. Where the setting is a text, it is none.
func checkZeros(node *yaml.Node, t reflect.Type) error {
	switch t.Kind() {
	case reflect.String:
		return nil
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		t = t.Elem()
	}
	text := t.Kind() == reflect.String
	if !text && node.Kind == yaml.ScalarNode && node.ShortTag() == "!!int" && octal.MatchString(node.Value) {
		return fmt.Errorf("%.80q begins with 0: want a number without leading zeros", node.Value)
	}
	for _, inner := range node.Content {
		if err := checkZeros(inner, t); err != nil {
			return err
		}
	}
	return nil
}

// isFraction reports whether a number, or one in a list, has a fraction although its type is
// an integer. A float such as 1e3 or 64.0 counts as an integer.
func isFraction(node *yaml.Node, t reflect.Type) bool {
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
	x, err := strconv.ParseFloat(strings.ReplaceAll(node.Value, "_", ""), 64) // fails for .inf and .nan
	return err != nil || x != math.Trunc(x) || math.Abs(x) >= 1<<63 || x < 0 && whole.CanUint()
}

// quote returns a value in quotes for a message.
func quote(node *yaml.Node) string {
	switch node.Kind {
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
