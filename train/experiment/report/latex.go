package report

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"

	"hgld/internal/terminal"
	"hgld/internal/texttable"
	"hgld/train/experiment/plan"
	"hgld/train/retrieval"
)

// latexTables writes the tables of results for a paper: the names of the published rows, mean ± deviation with the best
// mean of a column in bold and the second underlined, and one table for parts with the same rows and metrics, such as
// data sets, each with its group of columns. It needs the package booktabs.
func (r *Report) latexTables(w io.Writer) error {
	for i := 0; i < len(r.Tables); {
		n := 1
		for i+n < len(r.Tables) && r.Tables[i].joins(&r.Tables[i+n]) {
			n++
		}
		if _, err := io.WriteString(w, "\n"+latexTable(r.Tables[i:i+n])); err != nil {
			return err
		}
		i += n
	}
	return nil
}

// joins reports whether two tables are parts of one, with the same rows and metrics.
func (t *ResultTable) joins(o *ResultTable) bool {
	return t.part != "" && t.of == o.of && slices.Equal(t.heads, o.heads) &&
		slices.EqualFunc(t.Rows, o.Rows, func(a, b ResultRow) bool { return a.Label == b.Label })
}

// latexTable returns the tables of parts as one.
func latexTable(parts []ResultTable) string {
	b, first := &strings.Builder{}, parts[0]
	title := first.Title
	if len(parts) > 1 {
		title = strings.TrimSuffix(title, ": "+first.part)
	}
	fmt.Fprintf(b, "%% %s\n\\begin{tabular}{l%s}\n\\toprule\n", terminal.VisibleName(title),
		strings.Repeat("r", len(parts)*len(first.Metrics)))
	if len(parts) > 1 {
		var rules strings.Builder
		for i, t := range parts {
			n := len(t.Metrics)
			fmt.Fprintf(b, " & \\multicolumn{%d}{c}{%s}", n, texttable.LaTeX(t.part))
			fmt.Fprintf(&rules, "\\cmidrule(lr){%d-%d}", 2+i*n, 1+(i+1)*n)
		}
		fmt.Fprintf(b, " \\\\\n%s\n", rules.String())
	}
	head := []string{"\\%"}
	for _, t := range parts {
		for _, name := range t.heads {
			head = append(head, texttable.LaTeX(name))
		}
	}
	fmt.Fprintf(b, "%s \\\\\n\\midrule\n", strings.Join(head, " & "))
	for i := range first.Rows {
		latexRow(b, parts, i)
	}
	b.WriteString("\\bottomrule\n\\end{tabular}\n")
	b.WriteString("% mean and deviation over the seeds; bold: the best mean, underlined: the second\n")
	for _, why := range incomparable(parts) {
		fmt.Fprintf(b, "%% not comparable with the quoted numbers: %s\n", terminal.VisibleName(why))
	}
	return b.String()
}

// latexComparisons writes the differences with the names of the published rows and of their metrics.
func (r *Report) latexComparisons(w io.Writer) error {
	methods, heads := map[string]string{}, map[string]string{}
	for _, t := range r.Tables {
		for k, key := range t.Metrics {
			heads[key] = t.heads[k]
		}
		for _, row := range t.Rows {
			if row.Quoted != nil {
				methods[row.Label] = row.Quoted.Method
			}
		}
	}
	for i := range r.Comparisons {
		c := r.comparison(i)
		c.Rows = slices.Clone(c.Rows)
		for i := range c.Rows {
			d := &c.Rows[i]
			for _, option := range []*string{&d.Of, &d.From} {
				if method := plan.MethodOf(*option); method != *option && methods[*option] == "" {
					methods[*option] = method
				}
				*option = cmp.Or(methods[*option], *option)
			}
			d.Metric = cmp.Or(heads[d.Metric], d.Metric)
		}
		var b bytes.Buffer
		if err := c.table().Write(&b, "latex"); err != nil {
			return err
		}
		text := b.String()
		for _, name := range methods {
			plain := texttable.LaTeX(name)
			text = strings.ReplaceAll(text, plain, subscripted(plain))
		}
		if _, err := io.WriteString(w, "\n"+text); err != nil {
			return err
		}
	}
	return nil
}

// subscript finds a subscript of a published name.
var subscript = regexp.MustCompile(`\\_([A-Za-z]+)`)

// subscripted sets a published name in LaTeX as the papers set TL_SH.
func subscripted(name string) string { return subscript.ReplaceAllString(name, `$$_{\mathrm{$1}}$$`) }

// latexRow writes a row of results, and below it the published one.
func latexRow(b *strings.Builder, parts []ResultTable, i int) {
	name, results, quoted := parts[0].Rows[i].Label, []string{}, []string{}
	table, published := "", false
	for _, t := range parts {
		row := &t.Rows[i]
		for k := range t.Metrics {
			results = append(results, t.latexCell(row, k))
			text := ""
			if q := row.Quoted; q != nil {
				name, published = q.Method, true
				if text = q.Values[k].Decimals(1, ""); text != "" {
					table = q.Table
				}
			}
			quoted = append(quoted, text)
		}
	}
	line := func(name string, cells []string) {
		fmt.Fprintf(b, "%s & %s \\\\\n", name, strings.Join(cells, " & "))
	}
	if method := plan.MethodOf(name); !published && method != name {
		name, published = method, true
	}
	if name = texttable.LaTeX(name); published {
		name = subscripted(name)
	}
	line(name, results)
	if table != "" {
		line(texttable.LaTeX("quoted, table "+table), quoted)
	}
}

// latexCell returns mean ± deviation, with the mark of the best or the second mean of the column.
func (t *ResultTable) latexCell(row *ResultRow, k int) string {
	s := row.Cells[k]
	if s.Count == 0 {
		return texttable.LaTeX(row.cell(s))
	}
	var means []string // as printed, from the greatest
	values := []float64{}
	for _, r := range t.Rows {
		if v := float64(r.Cells[k].Mean); !math.IsNaN(v) {
			values = append(values, v)
		}
	}
	slices.Sort(values)
	for _, v := range slices.Backward(values) {
		means = append(means, retrieval.Number(v).Decimals(1, ""))
	}
	text := s.Mean.Decimals(1, "")
	marked := texttable.LaTeX(text)
	switch distinct := slices.Compact(means); {
	case len(distinct) < 2:
	case text == distinct[0]:
		marked = `\textbf{` + marked + "}"
	case text == distinct[1]:
		marked = `\underline{` + marked + "}"
	}
	if s.Count > 1 {
		marked += ` $\pm$ ` + s.Deviation.Decimals(1, "")
	}
	return marked
}
