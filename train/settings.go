package train

import (
	"encoding"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"hgld/internal/registry"
	"hgld/internal/setting"
)

// pick returns the entry of a table with its settings applied to a copy of the
// literal: the exported fields of the value are the settings. where stands in
// messages.
func pick[T any](table registry.Table[T], kind, where string, n Named) (T, error) {
	value, err := table.Get(kind, n.Name)
	if err != nil {
		return value, fmt.Errorf("%s.name: %w", where, err)
	}
	if len(n.Settings) == 0 {
		return value, nil
	}
	changed, err := applied(reflect.ValueOf(value), n.Settings)
	if err != nil {
		return value, fmt.Errorf("%s.settings: %s: %w", where, n.Name, err)
	}
	if err := checkEntry(changed.Interface()); err != nil {
		return value, fmt.Errorf("%s.settings: %s: %w", where, n.Name, err)
	}
	return changed.Interface().(T), nil
}

// composed is an entry whose settings are those of its parts, such as loss.Composition.
type composed interface {
	// Part returns the part whose settings are under key, or nil.
	Part(key string) any
	// With returns a copy with settings applied; change applies those of a part to it. A
	// key that it does not have is a *registry.UnknownError, beside the copy so far.
	With(settings map[string]any, change func(part any, settings map[string]any) (any, error)) (any, error)
}

// appliedToParts is applied for an entry that is composed.
func appliedToParts(c composed, settings map[string]any) (reflect.Value, error) {
	changed, err := c.With(settings, func(part any, settings map[string]any) (any, error) {
		value, err := applied(reflect.ValueOf(part), settings)
		if err != nil {
			return nil, err
		}
		return value.Interface(), checkEntry(value.Interface())
	})
	if unknown, ok := err.(*registry.UnknownError); ok {
		for _, name := range unknown.Known {
			part := reflect.ValueOf(changed.(composed).Part(name))
			if part.Kind() != reflect.Struct {
				continue
			}
			if inner, _ := fieldNamed(part, unknown.Name); inner.IsValid() {
				unknown.Nearest = name + "." + unknown.Name
				break
			}
		}
	}
	return reflect.ValueOf(changed), err
}

// checkEntry checks the bounds of the numbers in an entry, and what it says of itself.
func checkEntry(entry any) error {
	if err := setting.CheckEntry(entry); err != nil {
		return err
	}
	if bounded, ok := entry.(interface{ Check() error }); ok {
		return bounded.Check()
	}
	return nil
}

// applied returns a copy of a struct, or of the struct that a pointer points to,
// with the named fields set.
func applied(v reflect.Value, settings map[string]any) (reflect.Value, error) {
	if c, ok := v.Interface().(composed); ok {
		return appliedToParts(c, settings)
	}
	if v.Kind() == reflect.Pointer {
		inner, err := applied(v.Elem(), settings)
		if err != nil {
			return v, err
		}
		p := reflect.New(v.Type().Elem())
		p.Elem().Set(inner)
		return p, nil
	}
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	if v.Kind() != reflect.Struct {
		return v, fmt.Errorf("it has no settings, and %s is one", slices.Sorted(maps.Keys(settings))[0])
	}
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		field, known := fieldNamed(out, key)
		if !field.IsValid() {
			return v, unknownSetting(out, key, known)
		}
		if err := assign(field, settings[key]); err != nil {
			return v, fmt.Errorf("%s: %w", key, err)
		}
	}
	return out, nil
}

// unknownSetting is the error for a key that a struct does not have; a part of it may.
func unknownSetting(v reflect.Value, key string, known []string) error {
	err := &registry.UnknownError{Kind: "setting", Name: key, Nearest: registry.Nearest(key, known), Known: known}
	for _, name := range known {
		part, _ := fieldNamed(v, name)
		if part.Kind() == reflect.Pointer && !part.IsNil() {
			part = part.Elem()
		}
		if part.Kind() != reflect.Struct {
			continue
		}
		if inner, _ := fieldNamed(part, key); inner.IsValid() {
			err.Nearest = name + "." + key
			break
		}
	}
	return err
}

// fieldNamed finds the field whose key is name: what its yaml tag says, or its
// own name in snake case. The known keys are returned for messages. Fields of
// embedded structs are settings too.
func fieldNamed(v reflect.Value, name string) (field reflect.Value, known []string) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() || f.Tag.Get("yaml") == "-" {
			continue
		}
		if f.Anonymous && f.Type.Kind() == reflect.Struct {
			inner, keys := fieldNamed(v.Field(i), name)
			known = append(known, keys...)
			if inner.IsValid() {
				field = inner
			}
			continue
		}
		key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if key == "" {
			key = setting.Snake(f.Name)
		}
		known = append(known, key)
		if key == name {
			field = v.Field(i)
		}
	}
	return field, known
}

// assign puts a value, as YAML or JSON decoded it, into a field. A struct takes
// a mapping of its own settings; a key with nothing behind it keeps the default.
func assign(field reflect.Value, value any) error {
	if value == nil && field.Kind() != reflect.Pointer {
		return nil
	}
	if isFraction(value, field.Type()) {
		return setting.Misfit(fmt.Sprint(value), field.Type())
	}
	if _, nested := value.(map[string]any); nested && field.Kind() == reflect.Pointer && field.IsNil() {
		field.Set(reflect.New(field.Type().Elem())) // a part that the literal does not have
	}
	if nested, ok := value.(map[string]any); ok && (field.Kind() == reflect.Struct || field.Kind() == reflect.Pointer && !field.IsNil()) {
		inner, err := applied(field, nested)
		if err == nil {
			field.Set(inner)
		}
		return err
	}
	fresh := reflect.New(field.Type())
	if named, ok := fresh.Interface().(encoding.TextUnmarshaler); ok {
		if name, ok := value.(string); ok { // its error knows the names
			err := named.UnmarshalText([]byte(name))
			field.Set(fresh.Elem())
			return err
		}
	}
	text, err := yaml.Marshal(value)
	if err != nil {
		return err
	}
	err = yaml.Unmarshal(text, fresh.Interface())
	if _, own := fresh.Interface().(yaml.Unmarshaler); own && err != nil {
		return err
	}
	if err != nil {
		return setting.Misfit(fmt.Sprint(value), field.Type())
	}
	field.Set(fresh.Elem())
	return nil
}

// isFraction reports whether a number, or one in a list, would be cut off to fit a
// type of whole numbers.
func isFraction(value any, t reflect.Type) bool {
	switch v := value.(type) {
	case float64:
		whole := reflect.Zero(t)
		return v != math.Trunc(v) && (whole.CanInt() || whole.CanUint())
	case []any:
		return (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) &&
			slices.ContainsFunc(v, func(x any) bool { return isFraction(x, t.Elem()) })
	}
	return false
}

// with returns settings with one key set.
func with(settings map[string]any, key string, value any) map[string]any {
	out := maps.Clone(settings)
	if out == nil {
		out = map[string]any{}
	}
	out[key] = value
	return out
}
