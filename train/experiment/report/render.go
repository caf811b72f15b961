package report

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"hgld/internal/atomicfile"
	"hgld/internal/report"
	"hgld/internal/terminal"
	"hgld/internal/texttable"
	"hgld/train/experiment/plan"
	"hgld/train/retrieval"
)

// The files of a report, in the study's folder. figure-1.svg, .png, .pdf and .csv are the
// first figure and its points.
const (
	PageFile        = "report.html"
	MarkdownFile    = "report.md"
	LatexFile       = "report.tex" // needs the package booktabs
	ResultsFile     = "results.csv"
	DifferencesFile = "differences.csv"
)

// Files lists the names of the files that Write writes.
func (r *Report) Files() []string {
	names := []string{PageFile, MarkdownFile, LatexFile, ResultsFile}
	if len(r.Comparisons) > 0 {
		names = append(names, DifferencesFile)
	}
	for i, f := range r.Figures {
		if f.drawing != nil {
			for _, extension := range append(slices.Clone(report.Formats), "csv") {
				names = append(names, fmt.Sprintf("figure-%d.%s", i+1, extension))
			}
		}
	}
	return names
}

// Write writes the files of a report to a folder.
func (r *Report) Write(dir string) error {
	if err := atomicfile.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, name := range r.Files() {
		err := atomicfile.Write(filepath.Join(dir, name), func(w io.Writer) error { return r.write(w, name) })
		if err != nil {
			return err
		}
	}
	return nil
}

// WriteOf writes the report of the runs that are finished by now. Another process may finish a run
// and write the report meanwhile; then it is written again, so that the last one has all runs.
func WriteOf(p *plan.Plan, style report.Style) error {
	for {
		before, err := phases(p)
		if err != nil {
			return err
		}
		r, err := Of(p, style)
		if err != nil {
			return err
		}
		if err := r.Write(p.Dir); err != nil {
			return err
		}
		after, err := phases(p)
		if err != nil || slices.Equal(before, after) {
			return err
		}
	}
}

// phases returns which runs are finished or diverged.
func phases(p *plan.Plan) ([]plan.Phase, error) {
	states, err := p.States()
	if err != nil {
		return nil, err
	}
	var list []plan.Phase
	for _, s := range states {
		phase := s.Phase
		if phase == plan.Begun {
			phase = plan.Pending // the report does not tell them apart
		}
		list = append(list, phase)
	}
	return list, nil
}

// write writes the file called name.
func (r *Report) write(w io.Writer, name string) error {
	switch name {
	case PageFile:
		return r.page(w)
	case MarkdownFile:
		return r.Text(w, "markdown")
	case LatexFile:
		return r.Text(w, "latex")
	case ResultsFile:
		return r.resultsCSV().Write(w, "csv")
	case DifferencesFile:
		return r.differencesCSV().Write(w, "csv")
	}
	number, extension, _ := strings.Cut(strings.TrimPrefix(name, "figure-"), ".")
	i, err := strconv.Atoi(number)
	if err != nil {
		return err
	}
	f := r.Figures[i-1]
	if extension == "csv" {
		return f.csv().Write(w, "csv")
	}
	return f.drawing.Write(w, extension)
}

// subtitle says how many runs are finished.
func (r *Report) subtitle() string {
	text := fmt.Sprintf("%d of %d runs are finished", r.Finished, r.Planned)
	if r.Diverged > 0 {
		text += fmt.Sprintf(", %d diverged", r.Diverged)
	}
	return text + "."
}

// Text writes the report as "text", "markdown" or "latex", or its results as "csv".
func (r *Report) Text(w io.Writer, format string) error {
	var b bytes.Buffer
	switch format {
	case "csv":
		return r.resultsCSV().Write(w, format)
	case "markdown":
		fmt.Fprintf(&b, "# %s\n\n%s\n", texttable.Markdown(r.Title), r.subtitle())
		if r.About != "" {
			fmt.Fprintf(&b, "\n%s\n", texttable.Markdown(strings.Join(strings.Fields(r.About), " ")))
		}
	case "latex":
		fmt.Fprintf(&b, "%% %s\n%% %s\n", terminal.VisibleName(r.Title), r.subtitle())
	default:
		fmt.Fprintf(&b, "%s\n%s\n", terminal.VisibleName(r.Title), r.subtitle())
	}
	for _, f := range r.Figures {
		if f.Failure != "" {
			line := terminal.VisibleName(f.Title + " could not be drawn: " + f.Failure)
			if format == "markdown" {
				line = "\n" + texttable.Markdown(line)
			}
			fmt.Fprintf(&b, "%s%s\n", map[string]string{"latex": "% "}[format], line)
		}
	}
	tables := r.textTables()
	if format == "latex" {
		if err := errors.Join(r.latexTables(&b), r.latexComparisons(&b)); err != nil {
			return err
		}
		tables = nil
	}
	for _, t := range tables {
		if b.WriteString("\n"); format == "markdown" && t.Title != "" {
			b.WriteString("## ")
		}
		if err := t.Write(&b, format); err != nil {
			return err
		}
	}
	_, err := b.WriteTo(w)
	return err
}

// textTables returns all tables of the report.
func (r *Report) textTables() (list []texttable.Table) {
	for i, t := range r.Tables {
		list = append(list, r.table(t, incomparable(r.Tables[:i])))
		if v := t.verdicts(); len(v.Rows) > 0 {
			list = append(list, v)
		}
	}
	for i := range r.Comparisons {
		list = append(list, r.comparison(i).table())
	}
	return list
}

// comparison returns a comparison to print, which does not repeat why its claim and the one before have no verdict.
func (r *Report) comparison(i int) *ResultComparison {
	c := r.Comparisons[i]
	if i > 0 && c.Verdict == r.Comparisons[i-1].Verdict && strings.HasPrefix(c.Verdict, "not comparable: ") {
		c.Verdict = "not comparable: as above"
	}
	return &c
}

// table formats a table of results: a row for each variant, and below it the published row. said are the reasons
// against a comparison with the latter that stand below a table before it.
func (r *Report) table(t ResultTable, said []string) texttable.Table {
	out := texttable.Table{Title: t.Title, Head: append([]string{"%", "n"}, t.Metrics...), Note: r.intervalNote()}
	for _, row := range t.Rows {
		cells := []string{row.Label, strconv.Itoa(row.Count)}
		for _, s := range row.Cells {
			cells = append(cells, row.cell(s))
		}
		out.Rows = append(out.Rows, cells)
		q := row.Quoted
		if q == nil || !slices.ContainsFunc(q.Values, func(v retrieval.Number) bool { return !math.IsNaN(float64(v)) }) {
			continue
		}
		cells = []string{fmt.Sprintf("quoted: %s, table %s, %s", q.Method, q.Table, q.Part), ""}
		for _, v := range q.Values {
			cells = append(cells, v.Decimals(1, "–"))
		}
		out.Rows = append(out.Rows, cells)
	}
	for _, text := range incomparable([]ResultTable{t}) {
		if slices.Contains(said, text) {
			text = "as above"
		}
		out.Note += "\nnot comparable with the quoted numbers: " + text
	}
	return out
}

// incomparable lists why results cannot be compared with the published rows, each reason once.
func incomparable(tables []ResultTable) (why []string) {
	for _, t := range tables {
		for _, row := range t.Rows {
			if row.Quoted == nil {
				continue
			}
			for _, verdict := range row.Quoted.Verdicts {
				if text, ok := strings.CutPrefix(verdict, "not comparable: "); ok && !slices.Contains(why, text) {
					why = append(why, text)
				}
			}
		}
	}
	return why
}

// intervalNote says what stands in the brackets.
func (r *Report) intervalNote() string {
	if r.plan.Study.Interval == plan.Bootstrap {
		return "n runs: their mean and its 95 % interval by a bootstrap over the seeds"
	}
	return "n runs: their mean and its 95 % interval by Student's t"
}

// cell formats a mean with its interval, in percent.
func (row *ResultRow) cell(s Sample) string {
	switch {
	case s.Count == 0 && row.Diverged > 0:
		return "diverged"
	case s.Count < 2 || math.IsNaN(float64(s.Low)):
		return s.Mean.Decimals(2, "–")
	}
	return fmt.Sprintf("%s [%s, %s]", s.Mean.Decimals(2, "–"), s.Low.Decimals(2, "–"), s.High.Decimals(2, "–"))
}

// verdicts lists the numbers that can be compared with published ones.
func (t *ResultTable) verdicts() texttable.Table {
	out := texttable.Table{Title: strings.TrimPrefix(t.Title+": beside the paper", ": "),
		Head: []string{"%", "metric", "here", "quoted", "verdict"}}
	for _, row := range t.Rows {
		if row.Quoted == nil {
			continue
		}
		for i, key := range t.Metrics {
			verdict := row.Quoted.Verdicts[i]
			if verdict == "" || strings.HasPrefix(verdict, "not comparable") {
				continue
			}
			out.Rows = append(out.Rows, []string{row.Label, key, row.cell(row.Cells[i]), row.Quoted.Values[i].Decimals(1, "–"),
				verdict})
		}
	}
	return out
}

// table formats a comparison.
func (c *ResultComparison) table() texttable.Table {
	out := texttable.Table{Title: c.Title,
		Head: []string{"%", "metric", "difference", "95 % interval", "P", "Holm", "pairs", "verdict"}}
	for _, d := range c.Rows {
		if d.Pairs == 0 {
			continue
		}
		name := d.Of + " − " + d.From
		if d.With != "" {
			name += ", " + d.With
		}
		out.Rows = append(out.Rows, slices.Concat([]string{name, d.Metric}, d.Cells(),
			[]string{strconv.Itoa(d.Pairs), d.Verdict}))
	}
	var notes []string
	if c.Verdict != "" {
		notes = append(notes, "the claim is "+c.Verdict)
	}
	if c.Paper != "" {
		notes = append(notes, "in the paper (quoted): "+c.Paper)
	}
	notes = append(notes, "Student's interval of differences seed by seed; Holm: P corrected for all differences of "+
		"this table; a verdict needs one of at most 0.05")
	out.Note = strings.Join(notes, "\n")
	return out
}

// resultsCSV has a line for each table, variant and metric.
func (r *Report) resultsCSV() texttable.Table {
	out := texttable.Table{Head: []string{"table", "variant", "metric", "mean", "deviation", "low", "high", "runs",
		"diverged", "quoted", "paper", "paper_table", "paper_row", "verdict"}}
	for _, t := range r.Tables {
		for _, row := range t.Rows {
			for i, s := range row.Cells {
				line := []string{t.Title, row.Label, t.Metrics[i], s.Mean.Decimals(4, ""), s.Deviation.Decimals(4, ""),
					s.Low.Decimals(4, ""), s.High.Decimals(4, ""), strconv.Itoa(s.Count), strconv.Itoa(row.Diverged)}
				if q := row.Quoted; q != nil {
					line = append(line, q.Values[i].Decimals(2, ""), q.Title, q.Table, q.Method+", "+q.Part, q.Verdicts[i])
				} else {
					line = append(line, "", "", "", "", "")
				}
				out.Rows = append(out.Rows, line)
			}
		}
	}
	return out
}

// differencesCSV has a line for each difference.
func (r *Report) differencesCSV() texttable.Table {
	out := texttable.Table{Head: []string{"comparison", "of", "from", "with", "metric", "difference", "low", "high", "p",
		"pairs", "verdict", "p_holm", "expected", "claim"}}
	for _, c := range r.Comparisons {
		for _, d := range c.Rows {
			out.Rows = append(out.Rows, slices.Concat([]string{c.Title, d.Of, d.From, d.With, d.Metric}, d.Fields(),
				[]string{c.Expect, c.Verdict}))
		}
	}
	return out
}

// drawn reports whether a figure has a point to draw.
func (f *ResultFigure) drawn() bool {
	return slices.ContainsFunc(f.Curves, func(c ResultCurve) bool {
		return slices.ContainsFunc(c.Points, func(at ResultPoint) bool { return !f.Log || at.X > 0 })
	})
}

// onAxis reports whether the horizontal axis can show a point.
func (f *ResultFigure) onAxis(at ResultPoint) bool { return !f.Log || at.X >= 0 }

// prepare draws a figure that has points. Whatever goes wrong then is a line of the report, which the trainings were
// made for.
func (f *ResultFigure) prepare(style report.Style) {
	defer func() {
		if why := recover(); why != nil {
			f.drawing, f.Failure = nil, fmt.Sprint(why)
		}
	}()
	if !f.drawn() {
		return
	}
	drawing, err := f.draw(style)
	if err == nil {
		f.inline, err = drawing.Inline(f.Title)
	}
	if err != nil {
		f.Failure = err.Error()
		return
	}
	f.drawing = drawing
}

// axisNames are what the papers call settings that figures have as their axis.
var axisNames = map[string]string{"batch": "batch size", "dim": "dimension", "lr": "learning rate", "alpha": "α",
	"delta": "δ", "lambda": "λ", "nq": "number of bins", "rho": "ρ", "sigma": "σ", "tau": "τ"}

// mostTicks is the number of values up to which each has a tick.
const mostTicks = 16

// draw draws a figure.
func (f *ResultFigure) draw(style report.Style) (*report.Drawing, error) {
	x := plan.LastKey(f.X)
	p := &report.Plot{XLabel: cmp.Or(axisNames[x], x), YLabel: "%", LogX: f.Log, YMost: 100, Style: style}
	if len(f.Metrics) == 1 {
		p.YLabel = f.heads[0] + " (%)"
	}
	if f.From != "" {
		p.YMost = 0
		p.YLabel = "increase over " + plan.MethodOf(f.From) + " (%)"
		if len(f.Metrics) == 1 {
			p.YLabel = "increase of " + f.heads[0] + " over " + plan.MethodOf(f.From) + " (%)"
		}
	}
	for i, c := range f.Curves {
		curve := report.Curve{Dots: true}
		if len(f.Curves) > 1 || len(f.Metrics) > 1 { // otherwise the vertical axis names it
			curve.Name = c.label
		}
		for _, at := range c.Points {
			point := report.Point{X: f.beside(at.X, i), Y: float64(at.Y.Mean)}
			if at.Y.Count > 1 {
				point.Low, point.High = float64(at.Y.Low), float64(at.Y.High)
			}
			curve.Points = append(curve.Points, point)
			p.XTicks = append(p.XTicks, at.X)
		}
		p.Curves = append(p.Curves, curve)
	}
	if slices.Sort(p.XTicks); len(slices.Compact(p.XTicks)) > mostTicks {
		p.XTicks = nil
	}
	return p.Draw()
}

// beside shifts the points of the i-th curve by a hundredth of the axis, so that intervals at the same
// value do not hide one another.
func (f *ResultFigure) beside(x float64, i int) float64 {
	low, high := math.Inf(1), math.Inf(-1)
	for _, c := range f.Curves {
		for _, at := range c.Points {
			if f.onAxis(at) && !(f.Log && at.X == 0) {
				low, high = min(low, at.X), max(high, at.X)
			}
		}
	}
	steps := float64(i) - float64(len(f.Curves)-1)/2
	if f.Log {
		return x * math.Pow(high/low, steps/100)
	}
	return x + (high-low)*steps/100
}

// csv has a line for each point.
func (f *ResultFigure) csv() texttable.Table {
	out := texttable.Table{Head: []string{"curve", "variant", f.X, "mean", "deviation", "low", "high", "runs"}}
	for _, c := range f.Curves {
		for _, at := range c.Points {
			out.Rows = append(out.Rows, []string{c.Name, at.Label, strconv.FormatFloat(at.X, 'g', -1, 64),
				at.Y.Mean.Decimals(4, ""), at.Y.Deviation.Decimals(4, ""), at.Y.Low.Decimals(4, ""), at.Y.High.Decimals(4, ""),
				strconv.Itoa(at.Y.Count)})
		}
	}
	return out
}
