package recipe

import (
	"hgld/train"
	"hgld/train/history"
)

// ComparedRow is a row of a paper's table beside what a run measured.
type ComparedRow struct {
	Paper   string           `json:"paper"`   // title
	Table   string           `json:"table"`   // name of the table in it
	Method  string           `json:"method"`  // name of the row
	Part    string           `json:"part"`    // data set
	Numbers []ComparedNumber `json:"numbers"` // the columns, in the order of the table
}

// ComparedNumber is one column of a ComparedRow, in percent; NaN, null in JSON, where
// there is no value.
type ComparedNumber struct {
	Key   string       `json:"key"`   // metric in eval.json, or mean(metric) over the levels
	Paper train.Number `json:"paper"` // published number
	Run   train.Number `json:"run"`   // result of the run
}

// Compare returns the rows of the papers that a recipe reproduces, beside the result of
// a run. The result may be nil.
func Compare(r Recipe, result *train.Result) ([]ComparedRow, error) {
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
			row.Numbers = append(row.Numbers, ComparedNumber{n.Key, train.Number(n.Value), history.Percent(result, n.Key)})
		}
		list = append(list, row)
	}
	return list, nil
}

// Title names the row as a heading of its own.
func (r *ComparedRow) Title() string {
	return r.Paper + ", table " + r.Table + ", " + r.Method + " on " + r.Part + " (quoted)"
}

// ComparePaper returns a table for each row of the papers that a recipe reproduces, with
// the column "paper" and one for each result.
func ComparePaper(r Recipe, names []string, results []*train.Result) ([]history.Comparison, error) {
	rows, err := Compare(r, nil)
	if err != nil {
		return nil, err
	}
	var list []history.Comparison
	for _, row := range rows {
		t := history.Comparison{Title: row.Title(), Sources: append([]string{"paper"}, names...)}
		for _, n := range row.Numbers {
			line := history.ComparedLine{Key: n.Key, Values: []train.Number{n.Paper}}
			for _, result := range results {
				line.Values = append(line.Values, history.Percent(result, n.Key))
			}
			t.Rows = append(t.Rows, line)
		}
		list = append(list, t)
	}
	return list, nil
}

// Fits reports whether a result may be of the recipe's data, as far as the numbers of
// its levels and queries tell.
func (r *Recipe) Fits(result *train.Result) bool {
	return len(result.Levels) == len(r.Classes) && (r.Queries == 0 || r.Queries == result.Queries)
}
