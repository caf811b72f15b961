// Package settings is the engine of settings. A settings struct is declared once, beside the command
// that uses it. The engine derives a section of a YAML file, a set of environment variables and a
// set of flags from it. Its fields carry these tags:
//
//	yaml:"n_init"    the key; the flag is --n-init, the variable HGLD_CLUSTER_N_INIT
//	usage:"…"        the sentence of the help text
//	path:"in|out"    a file: relative to the project where a file of settings or the default names it
//	kind:"draft"     with path:"out", what the command writes there
//	none:"true"      with path, the value none names no file
//	store:"true"     with path, it may be an address in an object store
//	alias:"k"        a second name of the flag
//	flag:"-"         no flag: a key, a variable and -o only
//	range:"0 64"     the least and the greatest number
//
// The key of a field without a yaml tag is its name in snake case. Nested structs are groups of keys
// and have no flags of their own: -o optim.lr=1e-5 sets them. A group with a key called name accepts
// the name alone: "loss: happier" means "loss: {name: happier}".
//
// The package knows no section by name. [Section] fills one from its defaults, a file, the
// environment and the command line, in this order.
package settings

import (
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"hgld/internal/objectstore/address"
)

// EnvPrefix begins the environment variables that hold settings.
const EnvPrefix = "HGLD_"

// nameKey is the key of a group that selects an entry of a table.
const nameKey = "name"

// Field is one setting of a struct.
type Field struct {
	Path  []string          // keys from the struct down to the field
	Tag   reflect.StructTag // tag of the struct's field
	Value reflect.Value     // addressable: assigning to it changes the struct
}

// Key returns the dotted key, such as "optim.lr".
func (f Field) Key() string { return strings.Join(f.Path, ".") }

// Flag returns the name of the setting's flag without leading dashes.
func (f Field) Flag() string { return strings.ReplaceAll(f.Path[len(f.Path)-1], "_", "-") }

// HasFlag reports whether the setting has a flag. It needs a sentence for the help text, must not be in a group and
// must not have the tag flag:"-".
func (f Field) HasFlag() bool {
	return len(f.Path) == 1 && f.Usage() != "" && f.Tag.Get("flag") != "-"
}

// Env returns the name of the setting's environment variable in a section.
func (f Field) Env(section string) string {
	return EnvPrefix + strings.ToUpper(strings.TrimPrefix(section+"_"+strings.Join(f.Path, "_"), "_"))
}

// Usage returns the sentence of the help text, in which {store} stands for an address in an object store.
func (f Field) Usage() string { return strings.ReplaceAll(f.Tag.Get("usage"), "{store}", address.Form) }

// IsPath reports whether the setting names files.
func (f Field) IsPath() bool { return f.Tag.Get("path") != "" }

// IsInput reports whether the setting names files that are read.
func (f Field) IsInput() bool { return f.Tag.Get("path") == "in" }

// IsOutput reports whether the setting names a file that is written.
func (f Field) IsOutput() bool { return f.Tag.Get("path") == "out" }

// TakesStore reports whether the setting also takes a place in an object store.
func (f Field) TakesStore() bool { return f.Tag.Get("store") != "" }

// None is the value of a path with the tag none that names no file.
const None = "none"

// MapPaths replaces each path in a setting that names one or several files with the result of
// change. It allocates new lists. Other settings do not change.
func (f Field) MapPaths(change func(path string) string) {
	switch {
	case !f.IsPath() || f.Tag.Get("none") != "" && f.Value.String() == None:
	case f.Value.Kind() == reflect.String:
		f.Value.SetString(change(f.Value.String()))
	case f.Value.Kind() == reflect.Slice && f.Value.Type().Elem().Kind() == reflect.String:
		list := reflect.MakeSlice(f.Value.Type(), f.Value.Len(), f.Value.Len())
		for i := range f.Value.Len() {
			list.Index(i).SetString(change(f.Value.Index(i).String()))
		}
		f.Value.Set(list)
	}
}

// Fields lists the settings in the struct that ptr points to, in order.
func Fields(ptr any) []Field { return walk(reflect.ValueOf(ptr).Elem(), nil) }

func walk(v reflect.Value, path []string) []Field {
	var list []Field
	for _, m := range members(v) {
		here := append(slices.Clone(path), m.key)
		if isGroup(m.value.Type()) {
			list = append(list, walk(m.value, here)...)
		} else {
			list = append(list, Field{Path: here, Tag: m.tag, Value: m.value})
		}
	}
	return list
}

// Keys lists the dotted keys of fields.
func Keys(fields []Field) []string {
	keys := make([]string, len(fields))
	for i, f := range fields {
		keys[i] = f.Key()
	}
	return keys
}

// Find returns the index of the field that a dotted key names, or −1. If the field is a map,
// inner is the rest of the key, as in loss.settings.tau. A group with a name key accepts the
// short form: loss means loss.name.
func Find(fields []Field, key string) (i int, inner string) {
	for i, f := range fields {
		if f.Key() == key || f.Key() == key+"."+nameKey {
			return i, ""
		}
		if rest, ok := strings.CutPrefix(key, f.Key()+"."); ok && f.Value.Kind() == reflect.Map {
			return i, rest
		}
	}
	return -1, ""
}

// member is a field of a struct: a setting or a group of settings.
type member struct {
	key   string
	tag   reflect.StructTag
	value reflect.Value
}

// members lists the fields of a struct. The fields of an inline struct replace it.
func members(v reflect.Value) []member {
	var list []member
	for i := range v.NumField() {
		f := v.Type().Field(i)
		key, inline := Key(f)
		switch {
		case key == "-" || !f.IsExported():
		case inline:
			list = append(list, members(v.Field(i))...)
		default:
			list = append(list, member{key, f.Tag, v.Field(i)})
		}
	}
	return list
}

// isGroup reports whether a type is a struct of settings. A struct that reads its own
// YAML is a single setting.
func isGroup(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && !reflect.PointerTo(t).Implements(reflect.TypeFor[yaml.Unmarshaler]()) &&
		t != reflect.TypeFor[yaml.Node]()
}

// Key returns the key of a struct's field: its yaml tag, or its name in snake case. inline
// reports that the field's own members replace it.
func Key(f reflect.StructField) (key string, inline bool) {
	key, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
	if options == "inline" || key == "" && f.Anonymous {
		return "", true
	}
	if key == "" {
		key = Snake(f.Name)
	}
	return key, false
}

// Snake returns a Go name in snake case: per_tuple for PerTuple, n_bins for NBins.
func Snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		upper := r >= 'A' && r <= 'Z'
		if upper && i > 0 {
			before := name[i-1]
			startsWord := i+1 < len(name) && name[i+1] >= 'a' && name[i+1] <= 'z'
			if before >= 'a' && before <= 'z' || before >= '0' && before <= '9' || startsWord {
				b.WriteByte('_')
			}
		}
		if upper {
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}
