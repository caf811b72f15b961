package main

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"
	"go.yaml.in/yaml/v3"
)

// A settings struct is declared once, beside the command that uses it, and is
// then a section of hgld.yaml, a set of HGLD_* variables and a set of flags. Its
// fields carry the tags
//
//	yaml:"n_init"    the key; the flag is --n-init, the variable HGLD_CLUSTER_N_INIT
//	usage:"…"        the sentence of the help text
//	path:"in|out"    a file: relative to the project where hgld.yaml or the default names it
//	alias:"k"        a second name of the flag
//	range:"0 64"     the least and the greatest number (package settings)
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
