package sweep

import (
	"fmt"
	"slices"
	"strings"

	"hgld/internal/registry"
)

// ParseVariations reads variations written as KEY=A,B, or as KEY=A;B for values with
// commas. A key may have dashes in place of underscores, and must be one of known.
func ParseVariations(list, known []string) ([]Variation, error) {
	var out []Variation
	for _, text := range list {
		key, values, ok := strings.Cut(text, "=")
		if !ok {
			return nil, fmt.Errorf("%s: expected key=value,value", text)
		}
		key = strings.ReplaceAll(key, "-", "_")
		if !slices.Contains(known, key) {
			return nil, fmt.Errorf("%s: %w", text, registry.Unknown("key", key, known))
		}
		separator := ","
		if strings.Contains(values, ";") {
			separator = ";"
		}
		out = append(out, Variation{Key: key, Values: strings.Split(values, separator)})
	}
	return out, nil
}
