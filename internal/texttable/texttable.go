// Package texttable writes a small table as text, Markdown, LaTeX or CSV.
package texttable

import (
	"encoding/csv"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"hgld/internal/registry"
	"hgld/internal/terminal"
)

// Table is a table of text. The first column names the rows. The others are figures and
// are aligned to the right.
type Table struct {
	// Title stands above the table; it may be "".
	Title string

	// Head are the headings of the columns.
	Head []string

	// Rows have a cell for each heading.
	Rows [][]string

	// Note stands below the table, in one line or several; it may be "".
	Note string
}

var formats = []string{"text", "markdown", "latex", "csv"}

// CheckFormat returns a *registry.UnknownError for a format that Write does not know.
func CheckFormat(format string) error {
	if !slices.Contains(formats, format) {
		return registry.Unknown("format", format, formats)
	}
	return nil
}

// Write writes the table as "text", "markdown", "latex" or "csv". LaTeX needs the package
// booktabs. CSV has neither title nor note.
func (c Table) Write(w io.Writer, format string) error {
	switch format {
	case "csv":
		all := csv.NewWriter(w)
		return all.WriteAll(append([][]string{c.Head}, c.Rows...))
	case "markdown":
		c.Note = strings.ReplaceAll(strings.ReplaceAll(c.Note, "\n", "; "), "*", `\*`)
		return c.lines(w, "%s\n\n", c.markdown(), "\n%s\n")
	case "latex":
		c.Note = strings.ReplaceAll(c.Note, "\n", "\n% ")
		return c.lines(w, "%% %s\n", c.latex(), "%% %s\n")
	}
	return c.lines(w, "%s\n", c.text(), "%s\n")
}

// lines writes the title and the note around the body, where there are any.
func (c Table) lines(w io.Writer, title, body, note string) error {
	c.Title, c.Note = terminal.Visible(c.Title), terminal.Visible(c.Note)
	all := body
	if c.Title != "" {
		all = fmt.Sprintf(title, c.Title) + all
	}
	if c.Note != "" {
		all += fmt.Sprintf(note, c.Note)
	}
	_, err := io.WriteString(w, all)
	return err
}

func (c Table) text() string {
	columns := []Column{{Left: true, Least: 16}}
	for range c.Head[1:] {
		columns = append(columns, Column{Least: 8, Gap: 1})
	}
	return Lines(append([][]string{c.Head}, c.Rows...), columns...)
}

// Column is how [Lines] sets a column.
type Column struct {
	Left  bool // aligned to the left, otherwise to the right
	Least int  // least width in characters; the widest cell may need more
	Gap   int  // spaces before it; the first column needs none
}

// Lines returns a line of text for each row, with its cells in columns and their control characters
// escaped. A row may have fewer
// cells than there are columns. Spaces at the end of a line are left out.
func Lines(rows [][]string, columns ...Column) string {
	rows = visible(rows)
	width := make([]int, len(columns))
	for i, c := range columns {
		width[i] = c.Least
	}
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if columns[i].Left {
				cell += pad
			} else {
				cell = pad + cell
			}
			if i > 0 {
				line += strings.Repeat(" ", columns[i].Gap)
			}
			line += cell
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// visible returns rows without control characters: cells hold names that other people chose, and a
// table is made for a terminal.
func visible(rows [][]string) [][]string {
	list := make([][]string, len(rows))
	for i, row := range rows {
		list[i] = make([]string, len(row))
		for k, cell := range row {
			list[i][k] = terminal.VisibleName(cell)
		}
	}
	return list
}

func (c Table) markdown() string {
	var b strings.Builder
	for i, row := range visible(append([][]string{c.Head}, c.Rows...)) {
		for _, cell := range row {
			b.WriteString("| " + strings.ReplaceAll(cell, "|", `\|`) + " ")
		}
		b.WriteString("|\n")
		if i == 0 {
			b.WriteString("|---|" + strings.Repeat("---:|", len(c.Head)-1) + "\n")
		}
	}
	return b.String()
}

// latexText escapes the characters that have a meaning in LaTeX.
var latexText = strings.NewReplacer(`\`, `\textbackslash{}`, "&", `\&`, "%", `\%`, "$", `\$`, "#", `\#`, "_", `\_`,
	"{", `\{`, "}", `\}`, "~", `\textasciitilde{}`, "^", `\textasciicircum{}`, "±", `$\pm$`, "–", "--", "−", "$-$",
	"<", "$<$", ">", "$>$", "|", `\textbar{}`, "*", `$^*$`, "≤", `$\le$`, "≥", `$\ge$`, "→", `$\to$`, "∞", `$\infty$`,
	"×", `$\times$`, "α", `$\alpha$`, "β", `$\beta$`, "γ", `$\gamma$`, "δ", `$\delta$`, "Δ", `$\Delta$`,
	"ε", `$\varepsilon$`, "η", `$\eta$`, "θ", `$\theta$`, "κ", `$\kappa$`, "λ", `$\lambda$`, "μ", `$\mu$`,
	"ρ", `$\rho$`, "σ", `$\sigma$`, "Σ", `$\Sigma$`, "τ", `$\tau$`)

// negative finds the hyphen before a number, which LaTeX would not set as a minus.
var negative = regexp.MustCompile(`(^|[ \[(])-(\.?[0-9])`)

// latex returns a tabular with the rules of the package booktabs.
func (c Table) latex() string {
	var b strings.Builder
	b.WriteString(`\begin{tabular}{l` + strings.Repeat("r", len(c.Head)-1) + "}\n\\toprule\n")
	for i, row := range visible(append([][]string{c.Head}, c.Rows...)) {
		for k, cell := range row {
			switch {
			case k > 0:
				b.WriteString(" & ")
			case strings.HasPrefix(cell, "["): // after \\ it would begin an argument
				b.WriteString("{}")
			}
			b.WriteString(latexText.Replace(negative.ReplaceAllString(cell, "$1−$2")))
		}
		b.WriteString(" \\\\\n")
		if i == 0 {
			b.WriteString("\\midrule\n")
		}
	}
	b.WriteString("\\bottomrule\n\\end{tabular}\n")
	return b.String()
}
