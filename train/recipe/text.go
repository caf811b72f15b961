package recipe

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"hgld/internal/texttable"
	"hgld/train/history"
)

// noteWidth is the longest line of a note, in characters.
const noteWidth = 96

// note writes a note after its kind, in lines of readable length. Later lines are indented like
// the first.
func note(w *strings.Builder, kind, text string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > noteWidth {
			fmt.Fprintf(w, "%-9s%s\n", kind, line)
			kind, line = "", ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	fmt.Fprintf(w, "%-9s%s\n", kind, line)
}

// Notes describes a recipe: the run, its data, where code and paper differ, and what had to be
// guessed. run holds further notes about a run of it.
func (r Recipe) Notes(run ...string) string {
	w := &strings.Builder{}
	fmt.Fprintf(w, "%s: %s\n", r.Name, r.About)
	note(w, "data", r.Data)
	for _, text := range r.Differs {
		note(w, "differs", text)
	}
	for _, text := range r.Guessed {
		note(w, "guessed", text)
	}
	for _, text := range run {
		note(w, "run", text)
	}
	return w.String()
}

// RowsText prints rows of a paper, each as a table of its numbers in percent. If the run has one
// of the numbers, the table adds the run and its difference from the paper.
func RowsText(rows []ComparedRow) string {
	w := &strings.Builder{}
	for _, row := range rows {
		fmt.Fprintf(w, "\n%s, table %s, %s on %s (quoted, %%)\n", row.Paper, row.Table, row.Method, row.Part)
		run := slices.ContainsFunc(row.Numbers, func(n ComparedNumber) bool { return !math.IsNaN(float64(n.Run)) })
		fmt.Fprintf(w, "%-16s %8s", "metric", "paper")
		if run {
			fmt.Fprintf(w, " %8s %8s", "run", "run−paper")
		}
		fmt.Fprintf(w, "\n")
		for _, n := range row.Numbers {
			fmt.Fprintf(w, "%-16s %8s", n.Key, n.Paper.Decimals(1, "–"))
			if run {
				fmt.Fprintf(w, " %8s %9s", n.Run.Decimals(1, "–"), (n.Run-n.Paper).Decimals(1, "–"))
			}
			fmt.Fprintf(w, "\n")
		}
	}
	return w.String()
}

// ListText lists recipes, one per line, with the tables of their rows.
func ListText(list []Recipe) string {
	w := &strings.Builder{}
	fmt.Fprintf(w, "%-32s %-16s %s\n", "recipe", "tables", "run")
	for _, r := range list {
		var tables []string
		for _, row := range r.Rows {
			tables = append(tables, row.Table)
		}
		fmt.Fprintf(w, "%-32s %-16s %s\n", r.Name, strings.Join(tables, ", "), r.About)
	}
	return w.String()
}

// TablesText lists the published tables, one per line, with the number of their rows.
func TablesText(t *Tables) string {
	w := &strings.Builder{}
	fmt.Fprintf(w, "%-16s %4s  %s\n", "table", "rows", "what it shows")
	for _, table := range t.Tables {
		fmt.Fprintf(w, "%-16s %4d  %s\n", table.Name, len(table.Rows), strings.TrimSpace(table.About))
	}
	return w.String()
}

// Text returns a table for each data set of a published table, in the order of the names.
func (t Table) Text() (list []texttable.Table) {
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
func ChangeText(c history.Change) string {
	return fmt.Sprintf("differs from the recipe: %s is %s, %s in the recipe", c.Key, c.To, c.From)
}
