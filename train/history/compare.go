package history

import (
	"path/filepath"
	"slices"
	"strings"

	"hgld/train"
)

// Comparison is a table of metrics from several sources.
type Comparison struct {
	// Title says what is compared; it may be "".
	Title string `json:"title"`

	// Sources are the headings of the columns: "paper", or names of files.
	Sources []string `json:"sources"`

	// Rows are the metrics.
	Rows []ComparedLine `json:"rows"`
}

// ComparedLine is a metric in percent, a value for each source; NaN, null in JSON, where
// a source lacks it.
type ComparedLine struct {
	Key    string         `json:"key"`    // of the metric
	Values []train.Number `json:"values"` // as long as Sources

	// Intervals are the confidence intervals, as fractions and not percent; nil where a
	// source has none.
	Intervals []*train.Ends `json:"intervals,omitempty"`
}

// Compare returns a table of every metric that one of the results has.
func Compare(names []string, results []*train.Result) Comparison {
	t := Comparison{Sources: names}
	for _, key := range Keys(results) {
		line := ComparedLine{Key: key}
		for _, r := range results {
			line.Values = append(line.Values, Percent(r, key))
			line.Intervals = append(line.Intervals, r.IntervalOf(key))
		}
		t.Rows = append(t.Rows, line)
	}
	return t
}

// ShortNames returns the names of JSON files without extension, with as few folders as
// tell them apart.
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
