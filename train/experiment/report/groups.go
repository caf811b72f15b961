package report

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"hgld/internal/registry"
	"hgld/internal/settings"
	"hgld/train/experiment/runs"
	"hgld/train/retrieval"
)

// Group is a set of runs that differ only in their seeds, or a single run.
type Group struct {
	Name    string            `json:"name"`    // the common start of the names of the run directories
	Runs    []string          `json:"runs"`    // the run directories
	Metrics map[string]Sample `json:"metrics"` // the samples of the metrics over the runs, in percent, by key

	// Differences holds the differences from the first group between runs with the same seeds, by
	// metric key. The first group has none.
	Differences map[string]*SeedDifference `json:"differences,omitempty"`

	// ByQuery compares the group with the first one, query by query; nil unless [CompareByQuery] could.
	ByQuery *QueryPair  `json:"by_query,omitempty"`
	Members []*runs.Run `json:"-"` // the runs themselves
}

// seedKeys are the settings by which the runs of two groups are paired.
var seedKeys = []string{"seed", "hold_out_seed"}

// Measured returns the keys of the metrics to compare: those asked for, or all that the runs
// have. It returns a *registry.UnknownError if no run has one that was asked for.
func Measured(list []*runs.Run, asked []string) ([]string, error) {
	var results []*retrieval.Result
	for _, r := range list {
		results = append(results, r.Result)
	}
	all := runs.Keys(results)
	for _, key := range asked {
		if !slices.Contains(all, key) {
			return nil, registry.Unknown("metric", key, all)
		}
	}
	if len(asked) == 0 {
		return all, nil
	}
	return asked, nil
}

// Groups groups runs and samples the metrics with the given keys. With seeds, runs whose
// settings differ only in their seeds form one group, and every other group is compared
// with the first. Otherwise each run is a group. All runs need Settings.
func Groups(list []*runs.Run, keys []string, seeds bool) []*Group {
	var groups []*Group
	for _, r := range list {
		at := -1
		if seeds {
			at = slices.IndexFunc(groups, func(g *Group) bool {
				return len(runs.Changes(g.Members[0].Settings, r.Settings, seedKeys...)) == 0
			})
		}
		if at < 0 {
			groups = append(groups, &Group{Name: filepath.Base(r.Dir), Metrics: map[string]Sample{}})
			at = len(groups) - 1
		}
		groups[at].Members = append(groups[at].Members, r)
		groups[at].Runs = append(groups[at].Runs, r.Dir)
	}
	for _, g := range groups {
		if len(g.Runs) > 1 {
			g.Name = commonStart(g.Runs)
		}
		g.measure(keys)
		if seeds && g != groups[0] {
			g.subtract(groups[0], keys)
		}
	}
	correctSeeds(groups, keys)
	return groups
}

// SameTasks returns an error if two runs that are compared were evaluated on other classes or on
// another gallery: runs with the same seeds, if groups are compared by seed, and otherwise all.
func SameTasks(groups []*Group, seeds bool) error {
	first := map[[2]string]*runs.Run{}
	for _, g := range groups {
		for _, r := range g.Members {
			var key [2]string
			if seeds {
				key = seedsOf(r)
			}
			if first[key] == nil || first[key].Result == nil {
				first[key] = r
			}
			of := first[key]
			if err := Alike([]string{of.Dir, r.Dir}, []*retrieval.Result{of.Result, r.Result}); err != nil {
				return err
			}
		}
	}
	return nil
}

// commonStart returns the common prefix of the names of run directories, without the
// separator before a seed.
func commonStart(dirs []string) string {
	start := filepath.Base(dirs[0])
	for _, d := range dirs[1:] {
		name := filepath.Base(d)
		for !strings.HasPrefix(name, start) {
			start = start[:len(start)-1]
		}
	}
	start = strings.TrimRight(strings.ToValidUTF8(start, ""), "-_.")
	return cmp.Or(strings.TrimRight(strings.TrimSuffix(start, "seed"), "-_."), filepath.Base(dirs[0]))
}

// measure computes the metrics of a group.
func (g *Group) measure(keys []string) {
	for _, key := range keys {
		var values []retrieval.Number
		for _, r := range g.Members {
			values = append(values, runs.Percent(r.Result, key))
		}
		g.Metrics[key] = SampleOf(values)
	}
}

// subtract computes the differences of a group from another.
func (g *Group) subtract(from *Group, keys []string) {
	g.Differences = map[string]*SeedDifference{}
	for _, key := range keys {
		d := Subtract(g.bySeeds(key), from.bySeeds(key))
		g.Differences[key] = &d
	}
}

// bySeeds returns a metric of the runs, keyed by their seeds.
func (g *Group) bySeeds(key string) map[[2]string]retrieval.Number {
	values := map[[2]string]retrieval.Number{}
	for _, r := range g.Members {
		values[seedsOf(r)] = runs.Percent(r.Result, key)
	}
	return values
}

// seedsOf returns the values of seedKeys.
func seedsOf(r *runs.Run) (seeds [2]string) {
	for _, f := range settings.Fields(r.Settings) {
		if i := slices.Index(seedKeys, f.Key()); i >= 0 {
			seeds[i] = settings.Text(f.Value)
		}
	}
	return seeds
}
