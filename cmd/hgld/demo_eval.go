package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"hgld/train"
)

// demoColumns are the metrics of the demo's table, with the heads under which it
// prints them.
var demoColumns = []struct{ key, head string }{
	{"R@1_level0", "R@1"}, {"mAP@R_level0", "mAP@R"}, {"mAP@R_level1", "mAP@R super"}, {"H-AP", "H-AP"}, {"ASI", "ASI"}, {"NDCG", "NDCG"},
}

// demoTable holds the metrics of the models in percent, a row a model.
type demoTable struct {
	names  []string
	values [][]float64
}

// best reports whether a model has the highest value of a column.
func (t *demoTable) best(row, column int) bool {
	for _, v := range t.values {
		if v[column] > t.values[row][column] {
			return false
		}
	}
	return true
}

// String prints the table as the terminal shows it.
func (t *demoTable) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-12s", "")
	for _, c := range demoColumns {
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

// eval measures the network as it began, and both models, on landmarks that were
// held out of the training.
func (d *demo) eval() error {
	for _, m := range []struct {
		name, out string
		flags     []string
	}{
		{"untrained", "eval-untrained.json", []string{"--untrained", "--out", "eval-untrained.json"}},
		{demoModels[0], "eval-smooth-ap.json", []string{"--run", "runs/smooth-ap", "--out", "eval-smooth-ap.json"}},
		{demoModels[1], "eval.json", nil},
	} {
		args := append([]string{"eval", "run"}, m.flags...)
		if _, err := d.hgld(0, args...); err != nil {
			return err
		}
		data, err := os.ReadFile(m.out)
		if err != nil {
			return err
		}
		var result train.Result
		if err := json.Unmarshal(data, &result); err != nil {
			return fmt.Errorf("%s: %w", m.out, err)
		}
		row := make([]float64, len(demoColumns))
		for i, c := range demoColumns {
			row[i] = 100 * result.Mean(c.key)
		}
		d.table.names, d.table.values = append(d.table.names, m.name), append(d.table.values, row)
		d.queries = result.Queries
		d.note("eval", "hgld "+strings.Join(args, " "), "mAP@R %.1f, H-AP %.1f", row[slices.IndexFunc(demoColumns, keyed("mAP@R_level0"))], row[slices.IndexFunc(demoColumns, keyed("H-AP"))])
	}
	fmt.Fprintf(d.stdout, "\n%s", indent(d.table.String(), "  "))
	fmt.Fprintf(d.stdout, "  %d queries of landmarks that no model has seen, each against all others; percent\n", d.queries)
	return nil
}

func keyed(key string) func(struct{ key, head string }) bool {
	return func(c struct{ key, head string }) bool { return c.key == key }
}

func indent(text, by string) string {
	return by + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+by) + "\n"
}

// figure prints a measure of agreement, which may be undefined.
func figure(v *float64) string {
	if v == nil {
		return "undefined"
	}
	return fmt.Sprintf("%.3f", *v)
}
