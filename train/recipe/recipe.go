// Package recipe holds the published runs of the papers, one file each, and the tables of
// their numbers.
//
// A recipe is a complete hgld.yaml: `hgld train recipe show --yaml NAME > hgld.yaml` starts a
// project with it. Its leading comment is itself YAML once each "# " is removed. This header
// describes the run, the table rows that it reproduces, and the data that it needs. It also
// states where paper and code differ, which of them the recipe follows, and what had to be
// guessed. Settings that a recipe omits keep their defaults.
//
// The tables quote the published numbers: see published.yaml.
package recipe

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"hgld/internal/registry"
)

//go:embed published.yaml */*.yaml
var files embed.FS

// Recipe is a published run.
type Recipe struct {
	// Name is the path of the file without .yaml: "sop/happier"
	Name  string  `yaml:"-" json:"name"`
	About string  `yaml:"about" json:"about"` // one line on what the run is
	Rows  []Place `yaml:"rows" json:"rows"`   // table rows that it reproduces
	Data  string  `yaml:"data" json:"data"`   // levels, splits and sizes
	// Classes holds the number of training classes per level, finest first
	Classes []int `yaml:"classes" json:"classes,omitempty"`
	Queries int   `yaml:"queries" json:"queries,omitempty"` // number of test queries; 0: not stated
	// Differs lists the differences between paper, released code and recipe
	Differs []string `yaml:"differs" json:"differs,omitempty"`
	Guessed []string `yaml:"guessed,omitempty" json:"guessed,omitempty"` // settings that no publication states

	Text string `yaml:"-" json:"-"` // text of the file
}

// Place identifies a row of a published table, in the part for one data set.
type Place struct {
	Table  string `yaml:"table" json:"table"`   // name of the table
	Method string `yaml:"method" json:"method"` // name of the row
	Part   string `yaml:"part" json:"part"`     // data set
}

// All returns the recipes sorted by name.
func All() ([]Recipe, error) {
	paths, err := fs.Glob(files, "*/*.yaml")
	if err != nil {
		return nil, err
	}
	var list []Recipe
	for _, path := range paths {
		text, err := files.ReadFile(path)
		if err != nil {
			return nil, err
		}
		r, err := parse(strings.TrimSuffix(path, ".yaml"), string(text))
		if err != nil {
			return nil, fmt.Errorf("recipe: %s: %w", path, err)
		}
		list = append(list, r)
	}
	return list, nil
}

// Get returns the recipe called name. If there is none, the error suggests the nearest name.
func Get(name string) (Recipe, error) {
	if text, err := files.ReadFile(name + ".yaml"); err == nil && strings.Contains(name, "/") {
		r, err := parse(name, string(text))
		if err != nil {
			return r, fmt.Errorf("recipe: %s.yaml: %w", name, err)
		}
		return r, nil
	}
	list, err := All()
	if err != nil {
		return Recipe{}, err
	}
	var names []string
	for _, r := range list {
		names = append(names, r.Name)
	}
	return Recipe{}, &registry.UnknownError{Kind: "recipe", Name: name, Nearest: registry.Nearest(name, names)}
}

// parse reads the header of a recipe.
func parse(name, text string) (Recipe, error) {
	r := Recipe{Name: name, Text: text}
	var head strings.Builder
	for line := range strings.Lines(text) {
		if line[0] != '#' {
			break
		}
		head.WriteString(strings.TrimPrefix(strings.TrimPrefix(line, "#"), " "))
	}
	d := yaml.NewDecoder(strings.NewReader(head.String()))
	d.KnownFields(true)
	if err := d.Decode(&r); err != nil {
		return r, err
	}
	if r.About == "" || len(r.Rows) == 0 || r.Data == "" {
		return r, fmt.Errorf("the comment at the top lacks about, rows or data")
	}
	return r, nil
}

// Tables holds the published numbers.
type Tables struct {
	Papers map[string]string `yaml:"papers" json:"papers"` // title of each paper by its short name
	Tables []Table           `yaml:"tables" json:"tables"` // in the order of the papers
}

// Table is one table.
type Table struct {
	Name  string `yaml:"name" json:"name"`   // number of the table in the paper
	Paper string `yaml:"paper" json:"paper"` // short name of the paper
	About string `yaml:"about" json:"about"` // what it shows
	// Unit is that of the numbers; "" is percent.
	Unit string `yaml:"unit" json:"unit,omitempty"`
	// Parts holds the column keys of each data set: keys of eval.json, or mean(metric)
	Parts map[string][]string `yaml:"parts" json:"parts"`
	Rows  []Row               `yaml:"rows" json:"rows"` // in the order of the paper
}

// Row holds the numbers of one method in the unit of its table. A value is nil if the table has none.
type Row struct {
	Method string `yaml:"method" json:"method"` // name of the row
	// Run is "own" if the numbers were measured by the paper's authors, "" if they are quoted
	Run    string                `yaml:"run" json:"run,omitempty"`
	Values map[string][]*float64 `yaml:",inline" json:"values"` // values by part
}

// Published returns the tables. Its callers share them and must not change them.
func Published() (*Tables, error) { return published() }

var published = sync.OnceValues(func() (*Tables, error) {
	text, err := files.ReadFile("published.yaml")
	if err != nil {
		return nil, err
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	t := new(Tables)
	if err := d.Decode(t); err != nil {
		return nil, fmt.Errorf("recipe: published.yaml: %w", err)
	}
	return t, nil
})

// Number is one number of a row.
type Number struct {
	Key   string  // key of eval.json, or mean(metric)
	Value float64 // in the unit of the table; NaN: not in the table
}

// Find returns the table of a place, and the numbers of its row.
func (t *Tables) Find(p Place) (Table, []Number, error) {
	at := slices.IndexFunc(t.Tables, func(x Table) bool { return x.Name == p.Table })
	if at < 0 {
		return Table{}, nil, fmt.Errorf("recipe: no table %.80q", p.Table)
	}
	table := t.Tables[at]
	for _, row := range table.Rows {
		values, keys := row.Values[p.Part], table.Parts[p.Part]
		if row.Method != p.Method || values == nil {
			continue
		}
		if len(values) != len(keys) {
			return table, nil, fmt.Errorf("recipe: table %s, %s, %s: %d numbers in %d columns", p.Table, p.Method, p.Part,
				len(values), len(keys))
		}
		numbers := make([]Number, len(keys))
		for i, key := range keys {
			numbers[i] = Number{key, math.NaN()}
			if values[i] != nil {
				numbers[i].Value = *values[i]
			}
		}
		return table, numbers, nil
	}
	return table, nil, fmt.Errorf("recipe: table %s has no row %.80q with a part %.80q", p.Table, p.Method, p.Part)
}
