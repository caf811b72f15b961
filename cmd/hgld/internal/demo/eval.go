package demo

import (
	"fmt"
	"slices"
	"strings"

	"hgld/internal/texttable"
	"hgld/train/experiment/runs"
)

// columns lists the metrics of the demo's table with their headings.
var columns = []struct{ key, head string }{
	{"R@1_level0", "R@1"}, {"mAP@R_level0", "mAP@R"}, {"mAP@R_level1", "mAP@R super"}, {"H-AP", "H-AP"},
	{"ASI", "ASI"}, {"NDCG", "NDCG"},
}

// table holds the metrics in percent, one row per model.
type table struct {
	names  []string
	values [][]float64
}

// best reports whether a model has the highest value of a column.
func (t *table) best(row, column int) bool {
	for _, v := range t.values {
		if v[column] > t.values[row][column] {
			return false
		}
	}
	return true
}

// String formats the table for the terminal.
func (t *table) String() string {
	rows := [][]string{{""}}
	for _, c := range columns {
		rows[0] = append(rows[0], c.head)
	}
	for i, name := range t.names {
		row := []string{name}
		for _, v := range t.values[i] {
			row = append(row, fmt.Sprintf("%.1f", v))
		}
		rows = append(rows, row)
	}
	return texttable.Format("%-12s"+strings.Repeat(" %12s", len(columns)), rows...)
}

// eval evaluates the untrained network and both models on landmarks that were held out of
// training.
func (d *demo) eval() error {
	for _, m := range []struct {
		name, out string
		flags     []string
	}{
		{"untrained", "eval-untrained.json", []string{"--untrained", "--out", inProject + "eval-untrained.json"}},
		{models[0], "eval-smooth-ap.json", []string{"--run", inProject + "runs/smooth-ap",
			"--out", inProject + "eval-smooth-ap.json"}},
		{models[1], "eval.json", nil},
	} {
		command, _, err := d.hgld(0, "eval run", m.flags...)
		if err != nil {
			return err
		}
		result, err := runs.ReadResult(d.path(m.out))
		if err != nil {
			return err
		}
		row := make([]float64, len(columns))
		for i, c := range columns {
			row[i] = 100 * result.Mean(c.key)
		}
		d.table.names, d.table.values = append(d.table.names, m.name), append(d.table.values, row)
		d.queries = result.Queries
		d.note("eval", command, "mAP@R %.1f, H-AP %.1f", row[slices.IndexFunc(columns, keyed("mAP@R_level0"))],
			row[slices.IndexFunc(columns, keyed("H-AP"))])
	}
	d.log("\n%s", indent(d.table.String(), "  "))
	d.log("  %d queries of landmarks that neither model has seen, each against all others; percent\n", d.queries)
	return nil
}

func keyed(key string) func(struct{ key, head string }) bool {
	return func(c struct{ key, head string }) bool { return c.key == key }
}

func indent(text, by string) string {
	return by + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+by) + "\n"
}

// figure formats a measure of agreement, which may be undefined.
func figure(v *float64) string {
	if v == nil {
		return "undefined"
	}
	return fmt.Sprintf("%.3f", *v)
}
