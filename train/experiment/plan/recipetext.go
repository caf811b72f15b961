package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"hgld/internal/texttable"
	"hgld/train/experiment/runs"
)

// Notes describes a recipe: the run, its data, where code and paper differ, and what had to be
// guessed. run holds further notes about a run of it.
func (r Recipe) Notes(run ...string) string {
	w := &strings.Builder{}
	fmt.Fprintf(w, "%s: %s\n", r.Name, r.About)
	note(w, 9, "data", r.Data)
	for _, kind := range []struct {
		name  string
		texts []string
	}{{"differs", r.Differs}, {"guessed", r.Guessed}, {"run", run}} {
		for _, text := range kind.texts {
			note(w, 9, kind.name, text)
		}
	}
	return w.String()
}

// ListText lists recipes, one per line, with the tables of their rows.
func ListText(list []Recipe) string {
	rows := [][]string{{"recipe", "tables", "run"}}
	for _, r := range list {
		var tables []string
		for _, row := range r.Rows {
			tables = append(tables, row.Table)
		}
		rows = append(rows, []string{r.Name, strings.Join(tables, ", "), r.About})
	}
	return texttable.Format("%-32s %-16s %s", rows...)
}

// TablesText lists the published tables, one per line, with the number of their rows.
func TablesText(t *Tables) string {
	rows := [][]string{{"table", "rows", "what it shows"}}
	for _, table := range t.Tables {
		rows = append(rows, []string{table.Name, strconv.Itoa(len(table.Rows)), strings.TrimSpace(table.About)})
	}
	return texttable.Format("%-16s %4s  %s", rows...)
}

// Text returns a table for each data set of a published table, in the order of the names.
func (t PublishedTable) Text() (list []texttable.Table) {
	unit := cmp.Or(t.Unit, "%")
	for _, part := range slices.Sorted(maps.Keys(t.Parts)) {
		out := texttable.Table{Title: fmt.Sprintf("table %s, %s (quoted)", t.Name, part),
			Head: append([]string{unit}, t.Parts[part]...)}
		for _, row := range t.Rows {
			values, ok := row.Values[part]
			if !ok {
				continue
			}
			cells := []string{row.Method}
			for _, v := range values {
				cells = append(cells, asPublished(v, t.Unit))
			}
			out.Rows = append(out.Rows, cells)
		}
		list = append(list, out)
	}
	return list
}

// asPublished formats a number as the papers print it: percentages have a decimal.
func asPublished(v *float64, unit string) string {
	if v == nil {
		return "–"
	}
	text := strconv.FormatFloat(*v, 'f', -1, 64)
	if unit == "" && !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// ChangeText describes how a setting of a run differs from the recipe's.
func ChangeText(c runs.Change) string {
	return fmt.Sprintf("differs from the recipe: %s is %s, %s in the recipe", c.Key, c.To, c.From)
}
