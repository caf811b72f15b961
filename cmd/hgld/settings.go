package main

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"go.yaml.in/yaml/v3"

	"hgld/internal/registry"
)

// A settings struct is declared once, beside the command that uses it, and is
// then a section of hgld.yaml, a set of HGLD_* variables and a set of flags. Its
// fields carry the tags
//
//	yaml:"n_init"    the key; the flag is --n-init, the variable HGLD_CLUSTER_N_INIT
//	usage:"…"        the sentence of the help text
//	path:"in|out"    a file: relative to the project where hgld.yaml or the default names it
//	alias:"k"        a second name of the flag
//
// Nested structs have no flags of their own: -o optim.lr=1e-5 sets them.

// field is one setting.
type field struct {
	path  []string // keys from the section down
	tag   reflect.StructTag
	value reflect.Value
}

func (f field) key() string  { return strings.Join(f.path, ".") }
func (f field) flag() string { return strings.ReplaceAll(f.path[len(f.path)-1], "_", "-") }
func (f field) env(section string) string {
	return "HGLD_" + strings.ToUpper(section+"_"+strings.Join(f.path, "_"))
}

// fieldsOf lists the settings in the struct that ptr points to.
func fieldsOf(ptr any) []field { return walk(reflect.ValueOf(ptr).Elem(), nil) }

func walk(v reflect.Value, path []string) []field {
	var out []field
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if name == "-" || !f.IsExported() {
			continue
		}
		if options == "inline" {
			out = append(out, walk(v.Field(i), path)...)
			continue
		}
		here := append(slices.Clone(path), name)
		if isGroup(f.Type) {
			out = append(out, walk(v.Field(i), here)...)
			continue
		}
		out = append(out, field{path: here, tag: f.Tag, value: v.Field(i)})
	}
	return out
}

// isGroup reports whether a type is a struct of settings, as against a leaf that
// reads its own YAML.
func isGroup(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && !reflect.PointerTo(t).Implements(reflect.TypeFor[yaml.Unmarshaler]()) && t != reflect.TypeFor[yaml.Node]()
}

// flagsOf makes the flags of a section's top-level settings.
func flagsOf(ptr any) []cli.Flag {
	var flags []cli.Flag
	for _, f := range fieldsOf(ptr) {
		if len(f.path) > 1 || f.tag.Get("usage") == "" {
			continue
		}
		var aliases []string
		if a := f.tag.Get("alias"); a != "" {
			aliases = strings.Split(a, ",")
		}
		if f.value.Kind() == reflect.Bool {
			flags = append(flags, &cli.BoolFlag{Name: f.flag(), Aliases: aliases, Usage: f.tag.Get("usage"), Value: f.value.Bool()})
			continue
		}
		if f.value.Kind() == reflect.Slice {
			flags = append(flags, &cli.StringSliceFlag{Name: f.flag(), Aliases: aliases, Usage: f.tag.Get("usage"), DefaultText: text(f.value)})
			continue
		}
		flags = append(flags, &cli.StringFlag{Name: f.flag(), Aliases: aliases, Usage: f.tag.Get("usage"), DefaultText: text(f.value)})
	}
	return flags
}

// set parses s, as YAML would, into the setting.
func (f field) set(s string) error {
	if f.value.Kind() == reflect.String {
		f.value.SetString(s)
		return nil
	}
	if f.value.Kind() == reflect.Slice && !strings.HasPrefix(s, "[") {
		s = "[" + s + "]"
	}
	if err := yaml.Unmarshal([]byte(s), f.value.Addr().Interface()); err != nil {
		return fmt.Errorf("%q is no %s", s, kindName(f.value.Type()))
	}
	return nil
}

// setInner is set for a value in a map of settings, or in a map within it; what
// else stands there stays.
func (f field) setInner(path []string, s string) error {
	var value any
	if err := yaml.Unmarshal([]byte(s), &value); err != nil {
		return fmt.Errorf("%q is no value", s)
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

// kindName says what a setting expects, in a user's words.
func kindName(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[time.Duration]():
		return "duration (90s, 5m)"
	case t.Kind() == reflect.Pointer:
		return kindName(t.Elem())
	case t.Kind() == reflect.Bool:
		return "true or false"
	case t.Kind() == reflect.Slice:
		return "list of " + kindName(t.Elem())
	case t.Kind() == reflect.String:
		return "text"
	case reflect.Float32 == t.Kind() || reflect.Float64 == t.Kind():
		return "number"
	case t.Kind() >= reflect.Uint && t.Kind() <= reflect.Uintptr:
		return "whole number from 0 up"
	case t.Kind() >= reflect.Int && t.Kind() <= reflect.Int64:
		return "whole number"
	}
	return t.String()
}

// text prints a setting as YAML would read it, on one line.
func text(v reflect.Value) string {
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
			parts[i] = text(v.Index(i))
		}
		return strings.Join(parts, ",")
	}
	return fmt.Sprint(v.Interface())
}

// checkKeys reports the first key of a YAML mapping that the settings type does
// not have, with its line and the nearest known key. origin is told the place of
// every leaf that the file sets.
func checkKeys(file string, node *yaml.Node, t reflect.Type, path []string, origin func(path []string, line int)) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if node.Kind != yaml.MappingNode || !isGroup(t) {
		if node.Kind != yaml.MappingNode && isGroup(t) {
			return fmt.Errorf("%s:%d: %s: expected keys and values", file, node.Line, strings.Join(path, "."))
		}
		origin(path, node.Line)
		return nil
	}
	known := keysOf(t)
	seen := map[string]int{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		sub, ok := known[key.Value]
		here := append(slices.Clone(path), key.Value)
		if !ok {
			return fmt.Errorf("%s:%d: %w", file, key.Line, registry.Unknown("key", strings.Join(here, "."), dotted(path, known)))
		}
		if line, twice := seen[key.Value]; twice {
			return fmt.Errorf("%s:%d: key %q appears twice, first in line %d", file, key.Line, key.Value, line)
		}
		seen[key.Value] = key.Line
		if err := checkKeys(file, value, sub, here, origin); err != nil {
			return err
		}
	}
	return nil
}

func keysOf(t reflect.Type) map[string]reflect.Type {
	known := map[string]reflect.Type{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if options == "inline" {
			for k, sub := range keysOf(f.Type) {
				known[k] = sub
			}
		} else if name != "-" && f.IsExported() {
			known[name] = f.Type
		}
	}
	return known
}

func dotted(path []string, known map[string]reflect.Type) []string {
	var names []string
	for k := range known {
		names = append(names, strings.Join(append(slices.Clone(path), k), "."))
	}
	slices.Sort(names)
	return names
}
