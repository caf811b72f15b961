package demo

import (
	"fmt"
	"slices"
	"strings"

	"hgld/train/history"
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
	var b strings.Builder
	fmt.Fprintf(&b, "%-12s", "")
	for _, c := range columns {
		fmt.Fprintf(&b, "%13s", c.head)
	}
	for i, name := range t.names {
		fmt.Fprintf(&b, "\n%-12s", name)
		for _, v := range t.values[i] {
			fmt.Fprintf(&b, "%13.1f", v)
		}
	}
	return b.String() + "\n"
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
		result, err := history.ReadResult(d.path(m.out))
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
	d.say("\n%s", indent(d.table.String(), "  "))
	d.say("  %d queries of landmarks that neither model has seen, each against all others; percent\n", d.queries)
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
