package train

import (
	"fmt"
	"maps"

	"hgld/internal/registry"
	"hgld/internal/settings"
)

// pick returns the table entry that n names, with n's settings applied to a copy. kind names what
// the table holds and where is the key of n, both for messages.
func pick[T any](table registry.Table[T], kind, where string, n Named) (T, error) {
	value, err := table.Get(kind, n.Name)
	if err != nil {
		return value, fmt.Errorf("%s.name: %w", where, err)
	}
	if len(n.Settings) == 0 {
		return value, nil
	}
	changed, err := settings.Apply(value, n.Settings)
	if err != nil {
		return value, fmt.Errorf("%s.settings: %s: %w", where, n.Name, err)
	}
	return changed.(T), nil
}

// with returns a copy of values with one key set.
func with(values map[string]any, key string, value any) map[string]any {
	out := maps.Clone(values)
	if out == nil {
		out = map[string]any{}
	}
	out[key] = value
	return out
}
