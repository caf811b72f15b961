package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"hgld/internal/report"
	"hgld/internal/texttable"
)

// page writes the report as one self-contained HTML page.
func (r *Report) page(w io.Writer) error {
	out := report.Page{Title: r.Title, Subtitle: r.subtitle()}
	if r.About != "" {
		out.Subtitle += " " + r.About
	}
	for i := range r.Tables {
		t := &r.Tables[i]
		shown := pageTable(r.table(*t, incomparable(r.Tables[:i])))
		t.markBest(shown)
		out.Tables = append(out.Tables, shown)
		if v := t.verdicts(); len(v.Rows) > 0 {
			shown := pageTable(v)
			shown.Text = len(v.Head) - 1
			out.Tables = append(out.Tables, shown)
		}
	}
	for i := range r.Comparisons {
		c := r.comparison(i).table()
		shown := pageTable(c)
		shown.Text = len(c.Head) - 1
		out.Tables = append(out.Tables, shown)
	}
	for i := range r.Figures {
		f := &r.Figures[i]
		note := fmt.Sprintf("Mean and 95 %% interval over the seeds; figure-%d.csv has the points.", i+1)
		switch {
		case f.Failure != "":
			note = "It could not be drawn: " + f.Failure + "."
		case f.drawing == nil:
			continue
		case slices.ContainsFunc(f.Curves, func(c ResultCurve) bool {
			return slices.ContainsFunc(c.Points, func(at ResultPoint) bool { return !f.onAxis(at) })
		}):
			note += " The logarithmic axis shows no value below 0."
		}
		out.Figures = append(out.Figures, report.Figure{Title: f.Title, Picture: f.inline, Note: note})
	}
	return out.Write(w)
}

// pageTable returns a table of text as one of a page.
func pageTable(t texttable.Table) *report.Table {
	out := &report.Table{Title: t.Title, Note: strings.ReplaceAll(t.Note, "\n", "; ") + ".", Head: t.Head}
	for _, row := range t.Rows {
		var cells []report.Cell
		for k, text := range row {
			if k > 0 { // an interval stays on one line
				text = strings.ReplaceAll(text, ", ", ",\u00a0")
			}
			cells = append(cells, report.Cell{Text: text})
		}
		out.Rows = append(out.Rows, cells)
	}
	return out
}

// markBest sets the greatest mean of each metric in bold.
func (t *ResultTable) markBest(shown *report.Table) {
	at := make([]int, len(t.Rows)) // row of the page
	next := 0
	for i, row := range t.Rows {
		for next < len(shown.Rows) && shown.Rows[next][0].Text != row.Label {
			next++
		}
		at[i] = next
		next++
	}
	for k := range t.Metrics {
		best, worst := math.Inf(-1), math.Inf(1)
		for _, row := range t.Rows {
			if v := float64(row.Cells[k].Mean); !math.IsNaN(v) {
				best, worst = max(best, v), min(worst, v)
			}
		}
		if best <= worst {
			continue // one row, or all are equal
		}
		for i, row := range t.Rows {
			if float64(row.Cells[k].Mean) == best {
				shown.Rows[at[i]][k+2].Best = true
			}
		}
	}
}
