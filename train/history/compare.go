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

// ComparedLine holds one metric in percent, with one value per source. The value is NaN (null
// in JSON) if a source lacks the metric.
type ComparedLine struct {
	Key    string         `json:"key"`    // name of the metric
	Values []train.Number `json:"values"` // as long as Sources

	// Intervals holds the confidence intervals as fractions, not percent. An entry is nil if its
	// source has none.
	Intervals []*train.Ends `json:"intervals,omitempty"`
}

// Compare returns a table of every metric in any of the results.
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
