package loss_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"go.yaml.in/yaml/v3"

	"hgld/internal/testing/must"
)

// into decodes settings strictly, as a configuration is, into a loss without
// defaults.
func into[T any](t *testing.T, s settings, l T) T {
	t.Helper()
	decode(t, s, &l)
	return l
}

// decode decodes settings strictly into a pointer to a loss.
func decode(t *testing.T, s settings, l any) {
	t.Helper()
	text, err := json.Marshal(s)
	must.Do(t, err)
	d := yaml.NewDecoder(bytes.NewReader(text)) // JSON is YAML
	d.KnownFields(true)
	if err := d.Decode(l); err != nil {
		t.Fatalf("settings %s: %v", text, err)
	}
}
