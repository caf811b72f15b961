package loss_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"go.yaml.in/yaml/v3"
)

// into decodes settings strictly, as a configuration is, into a loss without
// defaults.
func into[T any](t *testing.T, s settings, l T) T {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	d := yaml.NewDecoder(bytes.NewReader(text)) // JSON is YAML
	d.KnownFields(true)
	if err := d.Decode(&l); err != nil {
		t.Fatalf("settings %s: %v", text, err)
	}
	return l
}
