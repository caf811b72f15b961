package pipeline

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"hgld/internal/testing/must"
)

func TestSettingsAreShownWithTheirOrigin(t *testing.T) {
	p := projectHere(t, "a:\n  in: table\n", spec("a", "in"), spec("b", "in")).options.Project
	p.pipeline.Top = func() any {
		return &struct {
			Device string `yaml:"device"`
		}{"cpu"}
	}
	all := must.Get(p.Resolved())(t)
	for origin, want := range map[bool]string{false: "device: cpu\na:\n    in: table\n",
		true: "device: cpu # default\na:\n    in: table # " + p.File + ":2\n"} {
		doc := must.Get(p.Document(all, origin))(t)
		text, err := yaml.Marshal(doc)
		if err != nil || !strings.HasPrefix(string(text), want) || !strings.Contains(string(text), "\nb:") {
			t.Errorf("origin %v: %v\n%swant it to begin\n%s", origin, err, text, want)
		}
	}
	if v := p.Values(all, true)["device"].(map[string]any); v["value"] != "cpu" || v["origin"] != "default" {
		t.Errorf("device is %v", v)
	}
	if v := p.Values(all, false)["a"].(map[string]any)["in"]; v != "table" {
		t.Errorf("a.in is %v, want table", v)
	}
	v, is := p.Values(all, true)["a"].(map[string]any)["in"].(map[string]any)
	if !is || v["value"] != "table" || v["origin"] != p.File+":2" {
		t.Errorf("a.in with its origin is %v", v)
	}
}
