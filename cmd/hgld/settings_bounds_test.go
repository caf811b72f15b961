package main

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"hgld/internal/registry"
	"hgld/internal/settings"
	"hgld/internal/testing/effort"
	"hgld/internal/testing/must"
	"hgld/train/backbone"
	"hgld/train/config"
	"hgld/train/loss"
	"hgld/train/optim"
	"hgld/train/sample"
)

// slips are what a user or a forged file may put in the place of a number.
var slips = []string{"0", "-1", "1e9", "2147483648", ".nan", "many", "-1e300", ".inf"}

// nested writes a value under a dotted key as YAML.
func nested(stage string, path []string, value string) string {
	text := stage + ":\n"
	for i, key := range path {
		text += strings.Repeat("  ", i+1) + key + ":"
		if i == len(path)-1 {
			return text + " " + value + "\n"
		}
		text += "\n"
	}
	return text
}

// asList writes a value as often as a type holds it.
func asList(t reflect.Type, value string) string {
	switch t.Kind() {
	case reflect.Array:
		return "[" + strings.TrimSuffix(strings.Repeat(value+", ", t.Len()), ", ") + "]"
	case reflect.Slice:
		return "[" + value + "]"
	}
	return value
}

// Every number of every stage has bounds, which config check knows: whatever stands
// in its place is taken or refused by name, and nothing panics.
func TestConfigCheckKnowsTheBoundsOfEveryNumber(t *testing.T) {
	t.Chdir(t.TempDir())
	swept := 0
	for _, s := range stages().Stages {
		for _, f := range settings.Fields(s.Settings()) {
			if !settings.Numeric(f.Value.Type()) {
				continue
			}
			bounds := strings.Fields(f.Tag.Get("range"))
			seed := f.Value.Type() == reflect.TypeFor[uint64]() // any number that fits
			if len(bounds) != 2 && !seed {
				t.Errorf("%s.%s has no bounds", s.Name, f.Key())
				continue
			}
			for i, slip := range slips {
				setting := swept / len(slips)
				swept++
				if (setting+i)%len(slips) > 0 && slip != ".nan" && !effort.Exhaustive() {
					continue // another setting has it
				}
				must.Do(t, os.WriteFile(projectFile, []byte(nested(s.Name, f.Path, asList(f.Value.Type(), slip))),
					0o644))
				code, out, errs := run(t, "config", "check")
				named := strings.Contains(errs, s.Name+"."+f.Key()) || strings.Contains(errs, f.Key())
				if code != 0 && (code != exitUsage || !named) || code == 0 && !strings.Contains(out, "ok") {
					t.Errorf("%s.%s: %s: exit code %d\n%s%s", s.Name, f.Key(), slip, code, out, errs)
				}
				if slip == "many" || slip == ".nan" || slip == "-1e300" || slip == ".inf" || slip == "-1" && seed {
					if code != exitUsage {
						t.Errorf("%s.%s: %s was taken", s.Name, f.Key(), slip)
					}
				}
			}
		}
	}
	if swept < 50*len(slips) {
		t.Errorf("%d settings were swept", swept)
	}
}

func TestConfigSchemaHasTheBounds(t *testing.T) {
	_, out, _ := run(t, "config", "schema")
	if !strings.Contains(out, `"maximum": 65536`) || !strings.Contains(out, `"minimum": 8`) {
		t.Error("the schema has no bounds")
	}
}

// entries lists the settings of every entry of the tables, as keys of a training.
func entries() map[string]map[string]any {
	list := map[string]map[string]any{}
	put(list, "model.backbone", backbone.All)
	put(list, "loss", loss.All)
	put(list, "sampler", sample.All)
	put(list, "optim", optim.All)
	put(list, "optim.proxies", optim.All)
	put(list, "schedule", optim.Schedules)
	put(list, "schedule.proxies", optim.Schedules)
	return list
}

func put[T any](list map[string]map[string]any, group string, table registry.Table[T]) {
	list[group] = map[string]any{}
	for _, e := range table {
		list[group][e.Name] = e.Value
	}
}

// numbersOf lists the numeric settings of an entry, with those of its parts.
func numbersOf(v reflect.Value, path []string) (list [][]string) {
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			v = reflect.New(v.Type().Elem())
		}
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return nil
	}
	if c, ok := v.Interface().(loss.Composition); ok {
		list = append(list, []string{"weights"})
		for _, term := range c.Terms {
			list = append(list, numbersOf(reflect.ValueOf(term.Loss), append(path[:len(path):len(path)], term.Name))...)
		}
		return list
	}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		key, inline := settings.Key(f)
		if key == "-" || !f.IsExported() {
			continue
		}
		here := path
		if !inline {
			here = append(append([]string{}, path...), key)
		}
		if settings.Numeric(f.Type) {
			list = append(list, here)
			continue
		}
		list = append(list, numbersOf(v.Field(i), here)...)
	}
	return list
}

// The same of the settings of every entry of the tables: losses, samplers, backbones,
// optimizers, schedules. A configuration that is taken must also build.
func TestSettingsOfRegistryEntriesHaveBounds(t *testing.T) {
	values := []any{0, -1, 1e9, int64(1) << 31, ".nan", "many", []any{1e9}, []any{-1}}
	swept := 0
	for group, table := range entries() {
		for name, entry := range table {
			for _, path := range numbersOf(reflect.ValueOf(entry), nil) {
				for _, value := range values {
					if value == ".nan" {
						value = nan()
					}
					swept++
					c := config.Default()
					named := config.Named{Name: name, Settings: map[string]any{}}
					at := named.Settings
					for _, key := range path[:len(path)-1] {
						inner := map[string]any{}
						at[key], at = inner, inner
					}
					at[path[len(path)-1]] = value
					switch group {
					case "model.backbone":
						c.Model.Backbone = named
					case "loss":
						c.Loss.Named = named
					case "sampler":
						c.Sampler.Named = named
					case "optim":
						c.Optim.Named = named
					case "optim.proxies":
						c.Optim.Proxies = named
					case "schedule":
						c.Schedule.Named = named
					case "schedule.proxies":
						c.Schedule.Proxies = named
					}
					if spec, err := backbone.All.Get("backbone", name); err == nil && spec.Facts().Vector {
						c.Model.Pooling = "none"
					}
					err := c.Check(12, 4)
					if err == nil && (fmt.Sprint(value) == "NaN" || value == "many") {
						t.Errorf("%s %s: %s takes %v", group, name, strings.Join(path, "."), value)
					}
				}
			}
		}
	}
	if swept < 1000 {
		t.Errorf("%d settings were swept", swept)
	}
}

func nan() float64 {
	zero := 0.0
	return zero / zero
}

// What a user typed in the place of a number, and crashed or was taken for something
// else: zero clusters, images beyond the image library, threads without end.
func TestFlagsOutOfTheirBoundsAreRefused(t *testing.T) {
	embeddingFiles(t)
	eval := []string{"eval", "run", "--embeddings", "e.npy", "--labels", "l.csv"}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"cluster", "run", "--k", "0"}, "cluster.k is 0, want a whole number from 1 to 1000000"},
		{[]string{"shards", "build", "-o", "quality=0"}, "shards.quality is 0, want a whole number from 1 to 100"},
		{[]string{"cluster", "run", "--pca", "-1"}, "cluster.pca is -1"},
		{[]string{"cluster", "run", "--n-init", "0"}, "cluster.n_init is 0"},
		{[]string{"embed", "-o", "threads=-1"}, "-o threads=-1: threads is -1, want a whole number from 0 to 1024"},
		{append(eval[:len(eval):len(eval)], "-o", "threads=-1"), "threads is -1"},
		{append(eval[:len(eval):len(eval)], "-o", "threads=2147483648"), "threads is 2147483648"},
		{[]string{"train", "run", "-o", "input.resize=1000000000"},
			"train.input.resize is 1000000000, want a whole number from 0 to 8192"},
		{[]string{"train", "run", "-o", "threads=1000000000"}, "threads is 1000000000"},
		{[]string{"train", "run", "-o", "memory.size=2147483648"}, "train.memory.size is 2147483648"},
		{[]string{"train", "run", "-o", "model.dim=1000000000"}, "train.model.dim is 1000000000"},
		{[]string{"shards", "build", "-o", "threads=1000000000"}, "threads is 1000000000"},
	} {
		says(t, exitUsage, c.want, c.args...)
	}
	must.Do(t, os.WriteFile(projectFile, []byte("cluster:\n  k: 0\n"), 0o644))
	says(t, exitUsage, "hgld.yaml:2: cluster.k is 0", "config", "check")
}
