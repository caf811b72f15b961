package settings

import (
	"reflect"
	"testing"
)

// probe has a setting of every kind.
type probe struct {
	Name  string         `yaml:"name"`
	K     int            `yaml:"k"`
	Seed  uint64         `yaml:"seed"`
	Rate  float64        `yaml:"rate"`
	On    bool           `yaml:"on"`
	Ks    []int          `yaml:"ks"`
	Scale [2]float64     `yaml:"scale"`
	More  map[string]any `yaml:"more"`
	Inner struct {
		Depth int `yaml:"depth"`
	} `yaml:"inner"`
	Kind struct {
		Name  string `yaml:"name"`
		Depth int    `yaml:"depth"`
	} `yaml:"kind"`
}

func probeDefaults() probe {
	p := probe{Name: "a", K: 3, Seed: 4, Rate: 0.5, On: true, Ks: []int{1}, Scale: [2]float64{1, 2}}
	p.Inner.Depth = 7
	return p
}

func TestSetRefusesValuesOfAnotherKind(t *testing.T) {
	for _, c := range []struct{ key, text, want string }{
		{"k", "12", ""}, {"k", "1e3", ""}, {"k", "2.0", ""}, {"name", "", ""},
		{"ks", "", ""}, {"ks", "1,2", ""}, {"more", "", ""}, {"scale", "0.5,1", ""},
		{"k", "1.5", `"1.5" is not a whole number`},
		{"k", ".nan", `".nan" is not a whole number`},
		{"k", "-.inf", `"-.inf" is not a whole number`},
		{"k", "-1e30", `"-1e30" is not a whole number`},
		{"seed", "-1.0", `"-1.0" is not a whole number from 0 up`},
		{"ks", "1,2.5", `"[1, 2.5]" is not a list; each is a whole number`},
		{"k", "", "is empty, want a whole number"},
		{"k", "  ", "is empty, want a whole number"},
		{"rate", "null", "is empty, want a number"},
		{"on", "", "is empty, want true or false"},
		{"scale", "1", `"[1]" is not a list of 2; each is a number`},
		{"k", "0", ""}, {"k", "-0", ""}, {"k", "0x10", ""}, {"k", "0o10", ""}, {"name", "010", ""}, {"rate", "0.5", ""},
		{"k", "010", `"010" begins with 0: want a number without leading zeros`},
		{"k", "-007", `"-007" begins with 0: want a number without leading zeros`},
		{"ks", "1,010", `"010" begins with 0: want a number without leading zeros`},
		{"more", "{a: {b: 010}}", `"010" begins with 0: want a number without leading zeros`},
		{"k", "[1]", `"[1]" is not a whole number`},
		{"k", "{a: 1}", "a group of keys is not a whole number"},
		{"more", "7", `"7" is not a group of keys`},
	} {
		p := probeDefaults()
		fields := Fields(&p)
		i, _ := Find(fields, c.key)
		err := fields[i].Set(c.text)
		if c.want == "" {
			if err != nil {
				t.Errorf("%s=%q: %v", c.key, c.text, err)
			}
		} else if err == nil || err.Error() != c.want {
			t.Errorf("%s=%q: error %v, want %s", c.key, c.text, err, c.want)
		} else if was := probeDefaults(); !reflect.DeepEqual(p, was) {
			t.Errorf("%s=%q: refused, and yet it changed the settings to %+v", c.key, c.text, p)
		}
	}
	p := probeDefaults()
	fields := Fields(&p)
	i, _ := Find(fields, "more")
	for _, text := range []string{"", "010", "[1, 010]"} {
		if err := fields[i].SetInner([]string{"tau"}, text); err == nil {
			t.Errorf("more.tau=%s is taken for a value", text)
		}
	}
}

func TestSectionWithoutValuesKeepsTheDefaults(t *testing.T) {
	for _, text := range []string{"name:\nk: ~\nks:\nscale: null\nmore:\ninner:\n", "inner:\n  depth:\n", "null"} {
		p := probeDefaults()
		if err := fillText(text, &p); err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if want := probeDefaults(); !reflect.DeepEqual(p, want) {
			t.Errorf("%q: %+v, want the defaults", text, p)
		}
	}
}

// loss: happier means loss: {name: happier}, in a file and in -o loss=happier.
func TestStringForAGroupSetsItsName(t *testing.T) {
	p := probeDefaults()
	if err := fillText("kind: deep", &p); err != nil || p.Kind.Name != "deep" {
		t.Errorf("name %q, %v", p.Kind.Name, err)
	}
	fields := Fields(&p)
	if i, inner := Find(fields, "kind"); i < 0 || inner != "" || fields[i].Key() != "kind.name" {
		t.Errorf("kind is key %d, inner %q", i, inner)
	}
	if i, _ := Find(fields, "inner"); i >= 0 {
		t.Errorf("a group without a name is the key %q", fields[i].Key())
	}
}

func TestSectionNamesLineAndKeyOfAMistake(t *testing.T) {
	for text, want := range map[string]string{
		"k: 3\nrate: fast": `x.yaml:2: probe.rate: "fast" is not a number`,
		"k: 1.5":           `x.yaml:1: probe.k: "1.5" is not a whole number`,
		"ks: [1, 2.5]":     `x.yaml:1: probe.ks: "[1, 2.5]" is not a list; each is a whole number`,
		"k: 010":           `x.yaml:1: probe.k: "010" begins with 0: want a number without leading zeros`,
		"inner: 5":         `x.yaml:1: probe.inner: "5" is not a group of keys`,
		"7":                `x.yaml:1: probe: "7" is not a group of keys`,
		"kind: [a]":        `x.yaml:1: probe.kind: "[a]" is not a group of keys`,
		"inner:\n  depht: 1": `x.yaml:2: unknown key "probe.inner.depht": did you mean "probe.inner.depth"? ` +
			`(known: depth)`,
		"k: 1\nk: 2":                 `x.yaml:2: key "probe.k" appears twice, first in line 1`,
		"more: {a: 1, a: 2}":         `x.yaml:1: probe.more: line 1: mapping key "a" already defined at line 1`,
		"name: &n b\nk: *n":          `x.yaml:2: probe.k: "b" is not a whole number`,
		"inner: &i {depth: 1.5}":     `x.yaml:1: probe.inner.depth: "1.5" is not a whole number`,
		"seed: 99999999999999999999": `x.yaml:1: probe.seed: "99999999999999999999" is not a whole number from 0 up`,
	} {
		p := probeDefaults()
		err := fillText(text, &p)
		if err == nil || err.Error() != want {
			t.Errorf("%q: error\n%v\nwant\n%s", text, err, want)
		}
	}
}

// fillText reads a section called probe from a file called x.yaml.
func fillText(text string, p *probe) error {
	root, err := Document("x.yaml", []byte(text))
	if err == nil {
		_, err = probeSection(p).File("x.yaml", root)
	}
	return err
}

// probeSection returns the settings of p as a section.
func probeSection(p *probe) Section {
	return Section{Name: "probe", Ptr: p, Origin: func(string, string) {}}
}

func TestChangedSettingIsNamedWithItsGroup(t *testing.T) {
	for _, c := range []struct{ was, now, want string }{
		{"k: 1\nn: 2\n", "k: 1\nn: 3\n", "n: 3 (was 2)"},
		{"input:\n    mean:\n        - 0.485\n        - 0.4\n", "input:\n    mean:\n        - 0\n        - 0\n",
			"input.mean: [0, 0] (was [0.485, 0.4])"},
		{"a: 1\n", "a: 1\nb: 2\n", "b: 2 (was unset)"},
		{"a: 1\nb: 2\n", "a: 1\n", "b: unset (was 2)"},
		{"loss:\n  settings: {}\n", "loss:\n  settings: {tau: 1}\n", "loss.settings.tau: 1 (was unset)"},
	} {
		if got := Difference(c.was, c.now); got != c.want {
			t.Errorf("%q -> %q: %q, want %q", c.was, c.now, got, c.want)
		}
	}
}
