package recipe

import (
	"hgld/train/history"
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

// Compare returns the rows of the papers that a recipe reproduces, together with the result of
// a run. The result may be nil.
func Compare(r Recipe, result *retrieval.Result) ([]ComparedRow, error) {
	tables, err := Published()
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
			row.Numbers = append(row.Numbers, ComparedNumber{n.Key, retrieval.Number(n.Value), history.Percent(result, n.Key)})
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
func ComparePaper(r Recipe, names []string, results []*retrieval.Result) ([]history.Comparison, error) {
	rows, err := Compare(r, nil)
	if err != nil {
		return nil, err
	}
	var list []history.Comparison
	for _, row := range rows {
		t := history.Comparison{Title: row.Title(), Sources: append([]string{"paper"}, names...)}
		for _, n := range row.Numbers {
			line := history.ComparedLine{Key: n.Key, Values: []retrieval.Number{n.Paper}}
			for _, result := range results {
				line.Values = append(line.Values, history.Percent(result, n.Key))
			}
			t.Rows = append(t.Rows, line)
		}
		list = append(list, t)
	}
	return list, nil
}

// Fits reports whether a result can come from the recipe's data, judged by its numbers of
// levels and queries.
func (r *Recipe) Fits(result *retrieval.Result) bool {
	return len(result.Levels) == len(r.Classes) && (r.Queries == 0 || r.Queries == result.Queries)
}
