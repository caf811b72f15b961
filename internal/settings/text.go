package settings

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Text returns a setting's value on one line, in the form that [Field.Set] reads.
func Text(v reflect.Value) string {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return "unset"
		}
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.String:
		if v.String() == "" {
			return `""`
		}
		return v.String()
	case reflect.Float32, reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'g', -1, v.Type().Bits())
	case reflect.Slice:
		parts := make([]string, v.Len())
		for i := range parts {
			parts[i] = Text(v.Index(i))
		}
		return strings.Join(parts, ",")
	case reflect.Map:
		var node yaml.Node
		if err := node.Encode(v.Interface()); err == nil {
			return oneLine(&node)
		}
	}
	return fmt.Sprint(v.Interface())
}

// Commented returns a setting and its value as a line of YAML that is commented out. Removing
// the first # activates it.
func (f Field) Commented() (string, error) {
	var node yaml.Node
	if err := node.Encode(f.Value.Interface()); err != nil {
		return "", err
	}
	return f.withUsage(fmt.Sprintf("  #%s: %s", f.Key(), oneLine(&node))), nil
}

// Line returns a setting with another value, which is YAML on one line, as a line of YAML.
func (f Field) Line(value string) string { return f.withUsage(fmt.Sprintf("  %s: %s", f.Key(), value)) }

// withUsage appends the meaning of a setting to its line.
func (f Field) withUsage(line string) string {
	if usage := f.Usage(); usage != "" {
		return fmt.Sprintf("%-32s # %s", line, usage)
	}
	return line
}

// oneLine returns a YAML value on one line, and "unset" for nil.
func oneLine(node *yaml.Node) string {
	if node == nil {
		return "unset"
	}
	flow := *node
	flow.Style = yaml.FlowStyle
	text, err := yaml.Marshal(&flow)
	if err != nil {
		return node.Value
	}
	return strings.Join(strings.Fields(string(text)), " ")
}

// Difference names the first setting in which two YAML texts differ, with both values:
// "optim.lr: 0.1 (was 0.2)".
func Difference(was, now string) string {
	a, err := Document("", []byte(was))
	b, other := Document("", []byte(now))
	if err != nil || other != nil || a == nil || b == nil {
		return "they cannot be compared"
	}
	if d := difference(nil, a, b); d != "" {
		return d
	}
	return "their order"
}

// difference names the first setting in which two YAML values differ, "" if none does.
func difference(path []string, was, now *yaml.Node) string {
	if now == nil || was == nil || now.Kind != yaml.MappingNode || was.Kind != yaml.MappingNode {
		if before, after := oneLine(was), oneLine(now); before != after {
			return fmt.Sprintf("%s: %s (was %s)", strings.Join(path, "."), after, before)
		}
		return ""
	}
	for _, pair := range [][2]*yaml.Node{{was, now}, {now, was}} { // keys of now, then keys that only was contains
		for i := 0; i+1 < len(pair[1].Content); i += 2 {
			key := pair[1].Content[i].Value
			if d := difference(append(slices.Clone(path), key), Lookup(was, key), Lookup(now, key)); d != "" {
				return d
			}
		}
	}
	return ""
}

// Lookup returns the value of a key in a YAML mapping, or nil, also for no mapping.
func Lookup(node *yaml.Node, key string) *yaml.Node {
	if node == nil {
		return nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			return node.Content[i+1]
		}
	}
	return nil
}
