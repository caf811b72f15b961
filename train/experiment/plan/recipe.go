package plan

import (
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"hgld/train/retrieval"
)

// Recipe is a published run.
type Recipe struct {
	Name  string  `yaml:"-" json:"name"`      // the path of the file without .yaml: "sop/happier"
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

var recipes = library[Recipe]{recipesFolder, "recipe", parseRecipe}

// Recipes returns the recipes sorted by name.
func Recipes() ([]Recipe, error) { return recipes.all() }

// GetRecipe returns the recipe called name. If there is none, the error suggests the nearest name.
func GetRecipe(name string) (Recipe, error) { return recipes.get(name) }

// MethodOf returns what the papers call the method of the recipes whose names end in "/" and then name: the row that
// has this name in the papers' spelling, or that two recipes name, more than any other. It is name if there is none.
// The label of an option may be the name or loss=name.
func MethodOf(name string) string {
	if method := methods()[strings.TrimPrefix(name, "loss=")]; method != "" {
		return method
	}
	return name
}

var methods = sync.OnceValue(func() map[string]string {
	list, err := Recipes()
	if err != nil {
		return nil // the commands that need recipes report it
	}
	count := map[string]map[string]int{}
	for _, r := range list {
		name := path.Base(r.Name)
		if count[name] == nil {
			count[name] = map[string]int{}
		}
		for _, row := range r.Rows {
			count[name][row.Method]++
		}
	}
	spelled := strings.NewReplacer("-", "", "_", "")
	best := map[string]string{}
	for name, of := range count {
		most := 1
		for _, method := range slices.Sorted(maps.Keys(of)) {
			if strings.EqualFold(spelled.Replace(method), spelled.Replace(name)) {
				best[name] = method
				break
			}
			if of[method] > most {
				best[name], most = method, of[method]
			}
		}
	}
	return best
})

// decode reads YAML into a struct that has all its keys.
func decode(text string, to any) error {
	d := yaml.NewDecoder(strings.NewReader(text))
	d.KnownFields(true)
	return d.Decode(to)
}

// parseRecipe reads the header of a recipe: YAML in the comment before the settings.
func parseRecipe(name, file string, text []byte) (Recipe, error) {
	r := Recipe{Name: name, Text: string(text)}
	head, _, _ := strings.Cut(r.Text, "\nhgld:")
	if err := decode(strings.ReplaceAll("\n"+head, "\n# ", "\n"), &r); err != nil {
		return r, fmt.Errorf("recipe: %s: %w", file, err)
	}
	if r.About == "" || len(r.Rows) == 0 || r.Data == "" {
		return r, fmt.Errorf("recipe: %s: the comment at the top lacks about, rows or data", file)
	}
	return r, nil
}

// Tables holds the published numbers.
type Tables struct {
	Papers map[string]string `yaml:"papers" json:"papers"` // title of each paper by its short name
	Tables []PublishedTable  `yaml:"tables" json:"tables"` // in the order of the papers
}

// PublishedTable is one table.
type PublishedTable struct {
	Name  string `yaml:"name" json:"name"`           // number of the table in the paper
	Paper string `yaml:"paper" json:"paper"`         // short name of the paper
	About string `yaml:"about" json:"about"`         // what it shows
	Unit  string `yaml:"unit" json:"unit,omitempty"` // that of the numbers; "" is percent
	// Parts holds the column keys of each data set: keys of eval.json, or mean(metric)
	Parts map[string][]string `yaml:"parts" json:"parts"`
	Rows  []PublishedRow      `yaml:"rows" json:"rows"` // in the order of the paper
}

// PublishedRow holds the numbers of one method in the unit of its table. A value is nil if the table has none.
type PublishedRow struct {
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
	t := new(Tables)
	if err := decode(string(text), t); err != nil {
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
func (t *Tables) Find(p Place) (PublishedTable, []Number, error) {
	at := slices.IndexFunc(t.Tables, func(x PublishedTable) bool { return x.Name == p.Table })
	if at < 0 {
		return PublishedTable{}, nil, fmt.Errorf("recipe: no table %.80q", p.Table)
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

// Fits reports whether a result can come from the recipe's data, judged by its numbers of
// levels and queries.
func (r *Recipe) Fits(result *retrieval.Result) bool {
	return len(result.Levels) == len(r.Classes) && (r.Queries == 0 || r.Queries == result.Queries)
}
