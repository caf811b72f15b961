package report

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"hgld/internal/registry"
	"hgld/internal/texttable"
	"hgld/train/experiment/runs"
	"hgld/train/retrieval"
)

// Comparison is a table of metrics from several sources.
type Comparison struct {
	Title   string         `json:"title"`   // says what is compared; it may be ""
	Sources []string       `json:"sources"` // the headings of the columns: "paper", or names of files
	Rows    []ComparedLine `json:"rows"`    // the metrics
}

// ComparedLine holds one metric in percent, with one value per source. The value is NaN (null
// in JSON) if a source lacks the metric. A pair of results holds fractions, as results do.
type ComparedLine struct {
	Key    string             `json:"key"`    // name of the metric
	Values []retrieval.Number `json:"values"` // as long as Sources

	// Intervals holds the confidence intervals in percent, too. An entry is nil if its source has none.
	Intervals []*retrieval.Ends `json:"intervals,omitempty"`
}

// Alike returns an error if a result has other classes or another gallery than the first. A nil
// result is skipped.
func Alike(names []string, results []*retrieval.Result) error {
	for i, r := range results {
		if results[0] == nil || r == nil {
			continue
		}
		if what := retrieval.TaskMismatch(results[0], r); what != "" {
			for _, n := range []int{0, i} {
				if files := filesOf(results[n]); files != "" {
					what += fmt.Sprintf("; %s: %s", names[n], files)
				}
			}
			return fmt.Errorf("%s and %s are results of different tasks: %s", names[0], names[i], what)
		}
	}
	return nil
}

// filesOf names what a result is of.
func filesOf(r *retrieval.Result) string {
	if r.Of == nil {
		return ""
	}
	var list []string
	for _, f := range r.Of.Files {
		list = append(list, f.Path)
	}
	return cmp.Or(strings.Join(list, ", "), r.Of.Data)
}

// Compare returns a table of every metric in any of the results.
func Compare(names []string, results []*retrieval.Result) Comparison {
	t := Comparison{Sources: names}
	for _, key := range runs.Keys(results) {
		line := ComparedLine{Key: key}
		for _, r := range results {
			line.Values = append(line.Values, runs.Percent(r, key))
			line.Intervals = append(line.Intervals, percentOf(r.IntervalOf(key)))
		}
		t.Rows = append(t.Rows, line)
	}
	return t
}

func percentOf(e *retrieval.Ends) *retrieval.Ends {
	if e == nil {
		return nil
	}
	return &retrieval.Ends{100 * e[0], 100 * e[1]}
}

// Compared is a table of metrics with what is known of the differences. `hgld eval compare
// --json` prints a list of them.
type Compared struct {
	Comparison

	// Pairs compare the first result with each other one, query by query; nil if they are not
	// compared that way.
	Pairs []Pair `json:"pairs,omitempty"`
}

// Write writes the table and the tables of the pairs in a format of texttable. In CSV, one table
// holds all pairs.
func (t Compared) Write(w io.Writer, format string) error {
	if format == "csv" && len(t.Pairs) > 0 {
		return PairsTable(t.Pairs).Write(w, format)
	}
	err := t.table(format != "csv").Write(w, format)
	for _, p := range t.Pairs {
		if err == nil {
			_, err = io.WriteString(w, "\n")
		}
		if err == nil {
			err = p.Table().Write(w, format)
		}
	}
	return err
}

// Only keeps the metrics with these keys. It returns a *registry.UnknownError for a metric that no result has.
func (t *Compared) Only(keys []string) error {
	var all []string
	for _, line := range t.Rows {
		all = append(all, line.Key)
	}
	for _, key := range keys {
		if !slices.Contains(all, key) {
			return registry.Unknown("metric", key, all)
		}
	}
	t.Rows = slices.DeleteFunc(t.Rows, func(l ComparedLine) bool { return !slices.Contains(keys, l.Key) })
	for _, p := range t.Pairs {
		p.Differences = slices.DeleteFunc(p.Differences, func(d retrieval.Difference) bool {
			return !slices.Contains(keys, d.Key)
		})
	}
	return nil
}

// table formats the numbers of a paper with one decimal, as papers do.
func (t Comparison) table(intervals bool) texttable.Table {
	c := texttable.Table{Title: t.Title, Head: append([]string{"%"}, t.Sources...)}
	for _, line := range t.Rows {
		row := []string{line.Key}
		for i, v := range line.Values {
			places := 2
			if t.Sources[i] == "paper" {
				places = 1
			}
			cell := v.Decimals(places, "–")
			if intervals && i < len(line.Intervals) && line.Intervals[i] != nil {
				cell += " ±" + line.Intervals[i].Half().Decimals(places, "–")
			}
			row = append(row, cell)
		}
		c.Rows = append(c.Rows, row)
	}
	return c
}

// ShortNames returns the names of JSON files without extension. It keeps just enough parent
// folders to tell them apart.
func ShortNames(paths []string) []string {
	names := make([]string, len(paths))
	for folders := 0; ; folders++ {
		whole := true
		for i, path := range paths {
			parts := strings.Split(filepath.ToSlash(strings.TrimSuffix(path, ".json")), "/")
			from := max(0, len(parts)-1-folders)
			names[i], whole = strings.Join(parts[from:], "/"), whole && from == 0
		}
		if different := slices.Compact(slices.Sorted(slices.Values(names))); whole || len(different) == len(names) {
			return names
		}
	}
}
