package settings

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"go.yaml.in/yaml/v3"

	"hgld/internal/registry"
)

// Composed is a table entry whose settings belong to its parts.
type Composed interface {
	// Part returns the part with its settings under key, or nil.
	Part(key string) any
	// With returns a copy with values applied. It calls change to apply the settings of a part.
	// For an unknown key it returns a *registry.UnknownError and the copy so far.
	With(values map[string]any, change func(part any, values map[string]any) (any, error)) (any, error)
}

// Apply returns a copy of an entry of a table with settings applied. The entry is a struct or
// a pointer to one, and its exported fields are the settings. values come from decoded YAML or
// JSON. null keeps the default, or sets a pointer to nil. Apply fails if a number of the
// result is outside its bounds, see [CheckEntry], or if the entry has a method Check() error
// and it fails.
func Apply(entry any, values map[string]any) (any, error) {
	changed, err := apply(reflect.ValueOf(entry), values)
	if err != nil {
		return nil, err
	}
	result := changed.Interface()
	if err := CheckEntry(result); err != nil {
		return nil, err
	}
	if own, ok := result.(interface{ Check() error }); ok {
		if err := own.Check(); err != nil {
			return nil, err
		}
	}
	return result, nil
}

// apply returns a copy of a struct, or of the struct that a pointer points to, with
// settings applied.
func apply(v reflect.Value, values map[string]any) (reflect.Value, error) {
	if c, ok := v.Interface().(Composed); ok {
		return applyToParts(c, values)
	}
	if v.Kind() == reflect.Pointer {
		inner, err := apply(v.Elem(), values)
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
		return v, fmt.Errorf("it has no settings, but got %s", slices.Sorted(maps.Keys(values))[0])
	}
	list := members(out)
	for _, key := range slices.Sorted(maps.Keys(values)) {
		i := slices.IndexFunc(list, func(m member) bool { return m.key == key })
		if i < 0 {
			return v, unknownEntrySetting(list, key)
		}
		if err := assign(list[i].value, values[key]); err != nil {
			return v, fmt.Errorf("%s: %w", key, err)
		}
	}
	return out, nil
}

// applyToParts is apply for a composed entry.
func applyToParts(c Composed, values map[string]any) (reflect.Value, error) {
	changed, err := c.With(values, Apply)
	if unknown, ok := err.(*registry.UnknownError); ok {
		for _, name := range unknown.Known {
			if hasMember(reflect.ValueOf(changed.(Composed).Part(name)), unknown.Name) {
				unknown.Nearest = name + "." + unknown.Name
				break
			}
		}
	}
	return reflect.ValueOf(changed), err
}

// unknownEntrySetting returns the error for a key that a struct does not have. It suggests the
// key of a part if the part has it.
func unknownEntrySetting(list []member, key string) error {
	known := make([]string, len(list))
	for i, m := range list {
		known[i] = m.key
	}
	err := &registry.UnknownError{Kind: "setting", Name: key, Nearest: registry.Nearest(key, known), Known: known}
	for _, m := range list {
		if hasMember(m.value, key) {
			err.Nearest = m.key + "." + key
			break
		}
	}
	return err
}

// hasMember reports whether v is a struct, or a pointer to one, with a setting called key.
func hasMember(v reflect.Value, key string) bool {
	if v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	return v.Kind() == reflect.Struct &&
		slices.ContainsFunc(members(v), func(m member) bool { return m.key == key })
}

// assign stores a value in a field. The value of a struct is a mapping of its settings.
func assign(field reflect.Value, value any) error {
	if value == nil {
		if field.Kind() == reflect.Pointer {
			field.SetZero()
		}
		return nil
	}
	part := field.Type()
	if part.Kind() == reflect.Pointer {
		part = part.Elem()
	}
	if values, ok := value.(map[string]any); ok && isGroup(part) {
		if field.Kind() == reflect.Pointer && field.IsNil() {
			field.Set(reflect.New(part)) // the entry does not have this part yet
		}
		inner, err := apply(field, values)
		if err == nil {
			field.Set(inner)
		}
		return err
	}
	var node yaml.Node
	if err := node.Encode(value); err != nil {
		return err
	}
	return decode(&node, field)
}
