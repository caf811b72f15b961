package report

import (
	"fmt"
	"path/filepath"
	"strings"

	"hgld/internal/texttable"
	"hgld/train/metric"
	"hgld/train/retrieval"
)

// MeanTable holds the metrics of several evaluations by level, and their unweighted
// means: the overall accuracy of DyML.
type MeanTable struct {
	Names   []string                    `json:"-"`       // metrics, in the order of the first file
	Rows    []MeanRow                   `json:"rows"`    // one per file and level
	Overall map[string]retrieval.Number `json:"overall"` // means over the rows
}

// MeanRow holds the metrics of one level of a file.
type MeanRow struct {
	File   string                      `json:"file"`   // name without folder
	Level  string                      `json:"level"`  // name of the level
	Values map[string]retrieval.Number `json:"values"` // by metric
}

// Mean collects the per-level metrics of results and averages them. It fails if the
// results do not have the same metrics.
func Mean(files []string, results []*retrieval.Result) (*MeanTable, error) {
	table := &MeanTable{Overall: map[string]retrieval.Number{}}
	var keys []string
	var means []float64
	for i, r := range results {
		for level, name := range r.Levels {
			row := MeanRow{filepath.Base(files[i]), name, map[string]retrieval.Number{}}
			suffix := fmt.Sprintf("_level%d", level)
			for _, v := range r.Values {
				if metricName, ok := strings.CutSuffix(v.Key, suffix); ok {
					row.Values[metricName] = v.Mean
					keys, means = append(keys, v.Key), append(means, float64(v.Mean))
					if len(table.Rows) == 0 {
						table.Names = append(table.Names, metricName)
					}
				}
			}
			for _, n := range table.Names {
				if _, ok := row.Values[n]; !ok || len(row.Values) != len(table.Names) {
					return nil, fmt.Errorf("%s does not have the metrics of %s, want %s", files[i], files[0],
						strings.Join(table.Names, ", "))
				}
			}
			table.Rows = append(table.Rows, row)
		}
	}
	for name, mean := range metric.Overall(keys, means) {
		table.Overall[name] = retrieval.Number(mean)
	}
	return table, nil
}

// Text returns the table in percent, a line for each file and level and one for the means.
func (t *MeanTable) Text() string {
	rows := [][]string{append([]string{"%"}, t.Names...)}
	add := func(label string, values map[string]retrieval.Number) {
		row := []string{label}
		for _, n := range t.Names {
			row = append(row, (100*values[n]).Decimals(2, "–"))
		}
		rows = append(rows, row)
	}
	for _, row := range t.Rows {
		add(row.File+" "+row.Level, row.Values)
	}
	add("overall", t.Overall)
	return texttable.Format("%s"+strings.Repeat("  %7s", len(t.Names)), rows...)
}
