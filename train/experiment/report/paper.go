package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"hgld/internal/texttable"
	"hgld/train/experiment/plan"
	"hgld/train/experiment/runs"
	"hgld/train/retrieval"
)

// ComparedRow sets a row of a paper's table against the result of a run.
type ComparedRow struct {
	Paper   string           `json:"paper"`   // title of the paper
	Table   string           `json:"table"`   // name of the table in the paper
	Method  string           `json:"method"`  // name of the row
	Part    string           `json:"part"`    // data set
	Numbers []ComparedNumber `json:"numbers"` // the columns, in the order of the table
}

// ComparedNumber is one column of a ComparedRow, in percent. Missing values are NaN (null in
// JSON).
type ComparedNumber struct {
	Key   string           `json:"key"`   // metric in eval.json, or mean(metric) over the levels
	Paper retrieval.Number `json:"paper"` // published number
	Run   retrieval.Number `json:"run"`   // result of the run
}

// PaperRows returns the rows of the papers that a recipe reproduces, together with the result of
// a run. The result may be nil.
func PaperRows(r plan.Recipe, result *retrieval.Result) ([]ComparedRow, error) {
	tables, err := plan.Published()
	if err != nil {
		return nil, err
	}
	var list []ComparedRow
	for _, place := range r.Rows {
		table, numbers, err := tables.Find(place)
		if err != nil {
			return nil, err
		}
		row := ComparedRow{Paper: tables.Papers[table.Paper], Table: place.Table, Method: place.Method, Part: place.Part}
		for _, n := range numbers {
			row.Numbers = append(row.Numbers, ComparedNumber{n.Key, retrieval.Number(n.Value), runs.Percent(result, n.Key)})
		}
		list = append(list, row)
	}
	return list, nil
}

// Title returns the row's description as a heading.
func (r *ComparedRow) Title() string {
	return r.Paper + ", table " + r.Table + ", " + r.Method + " on " + r.Part + " (quoted)"
}

// ComparePaper returns one table per row that a recipe reproduces. Its columns are "paper" and
// one for each result.
func ComparePaper(r plan.Recipe, names []string, results []*retrieval.Result) ([]Comparison, error) {
	rows, err := PaperRows(r, nil)
	if err != nil {
		return nil, err
	}
	var list []Comparison
	for _, row := range rows {
		t := Comparison{Title: row.Title(), Sources: append([]string{"paper"}, names...)}
		for _, n := range row.Numbers {
			line := ComparedLine{Key: n.Key, Values: []retrieval.Number{n.Paper}}
			for _, result := range results {
				line.Values = append(line.Values, runs.Percent(result, n.Key))
			}
			t.Rows = append(t.Rows, line)
		}
		list = append(list, t)
	}
	return list, nil
}

// RowsText prints rows of a paper, each as a table of its numbers in percent. If the run has one
// of the numbers, the table adds the run and its difference from the paper.
func RowsText(rows []ComparedRow) string {
	w := &strings.Builder{}
	for _, row := range rows {
		fmt.Fprintf(w, "\n%s, table %s, %s on %s (quoted, %%)\n", row.Paper, row.Table, row.Method, row.Part)
		shown := 2
		if slices.ContainsFunc(row.Numbers, func(n ComparedNumber) bool { return !math.IsNaN(float64(n.Run)) }) {
			shown = 4
		}
		lines := [][]string{[]string{"metric", "paper", "run", "run−paper"}[:shown]}
		for _, n := range row.Numbers {
			lines = append(lines, []string{n.Key, n.Paper.Decimals(1, "–"), n.Run.Decimals(1, "–"),
				(n.Run - n.Paper).Decimals(1, "–")}[:shown])
		}
		w.WriteString(texttable.Format("%-16s %8s %8s %9s", lines...))
	}
	return w.String()
}
