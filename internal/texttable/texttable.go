// Package texttable writes a small table as text, Markdown, LaTeX or CSV.
package texttable

import (
	"encoding/csv"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"hgld/internal/registry"
	"hgld/internal/terminal"
)

// Table is a table of text. The first column names the rows. The others are figures and
// are aligned to the right.
type Table struct {
	Title string     // stands above the table; it may be ""
	Head  []string   // the headings of the columns
	Rows  [][]string // each has a cell for each heading
	Note  string     // stands below the table, in one line or several; it may be ""
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
		rows := append([][]string{c.Head}, c.Rows...)
		for i, row := range rows {
			rows[i] = make([]string, len(row))
			for k, cell := range row {
				rows[i][k] = asText(cell)
			}
		}
		return csv.NewWriter(w).WriteAll(rows)
	case "markdown":
		c.Title, c.Note = Markdown(c.Title), Markdown(strings.ReplaceAll(c.Note, "\n", "; "))
		return c.around(w, "%s\n\n", c.markdown(), "\n%s\n")
	case "latex":
		c.Note = strings.ReplaceAll(c.Note, "\n", "\n% ")
		return c.around(w, "%% %s\n", c.latex(), "%% %s\n")
	}
	return c.around(w, "%s\n", c.text(), "%s\n")
}

// around writes the title and the note around the body, where there are any.
func (c Table) around(w io.Writer, title, body, note string) error {
	c.Title, c.Note = terminal.VisibleName(c.Title), terminal.Visible(c.Note)
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
	return Format("%-16s"+strings.Repeat(" %8s", len(c.Head)-1), append([][]string{c.Head}, c.Rows...)...)
}

// column is a %-verb of [Format].
type column struct {
	left  bool // aligned to the left, otherwise to the right
	least int  // least width in characters; the widest cell may need more
	gap   int  // spaces before it
}

func lines(rows [][]string, columns []column) string {
	rows = visible(rows)
	width := make([]int, len(columns))
	for i, c := range columns {
		width[i] = c.least
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
			if columns[i].left {
				cell += pad
			} else {
				cell = pad + cell
			}
			if i > 0 {
				line += strings.Repeat(" ", columns[i].gap)
			}
			line += cell
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// Row returns the cells of values, as fmt.Sprint prints them.
func Row(values ...any) []string {
	row := make([]string, len(values))
	for i, v := range values {
		row[i] = fmt.Sprint(v)
	}
	return row
}

// verb is a column in a format, after the spaces before it.
var verb = regexp.MustCompile(`( *)%(-?)([0-9]*)s`)

// Format returns a line of text for each row, with its cells in columns as fmt.Printf would have them, and their
// control characters escaped: "%-16s %8s  %s" begins with a column of 16 characters at least, to the left. Columns
// without a width are aligned to the left. A row may have fewer cells than there are columns. Spaces at the end of a
// line are left out.
func Format(format string, rows ...[]string) string {
	var columns []column
	for _, m := range verb.FindAllStringSubmatch(format, -1) {
		least, _ := strconv.Atoi(m[3])
		columns = append(columns, column{m[2] != "" || least == 0, least, len(m[1])})
	}
	return lines(rows, columns)
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

// asText marks a cell of CSV as text, with an apostrophe, if a spreadsheet would take it for a formula.
func asText(cell string) string {
	if cell == "" || !strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
		return cell
	}
	if _, err := strconv.ParseFloat(cell, 64); err == nil {
		return cell
	}
	return "'" + cell
}

var (
	markdownText = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "|", `\|`, "~~", `\~~`, "](", `]\(`, "][", `]\[`, "]:", `]\:`)

	// markup begins a tag, a comment or a character reference, which Markdown passes on to HTML.
	markup = regexp.MustCompile(`[<&]([A-Za-z/!?#])`)
)

// Markdown returns a text on one line with the characters escaped that have a meaning in Markdown.
func Markdown(text string) string {
	text = markup.ReplaceAllStringFunc(terminal.VisibleName(text), func(m string) string {
		return map[byte]string{'<': "&lt;", '&': "&amp;"}[m[0]] + m[1:]
	})
	return markdownText.Replace(text)
}

func (c Table) markdown() string {
	var b strings.Builder
	for i, row := range visible(append([][]string{c.Head}, c.Rows...)) {
		for _, cell := range row {
			b.WriteString("| " + Markdown(cell) + " ")
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

// LaTeX returns a text with the characters escaped that have a meaning in LaTeX.
func LaTeX(text string) string {
	return latexText.Replace(negative.ReplaceAllString(terminal.VisibleName(text), "$1−$2"))
}

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
			b.WriteString(LaTeX(cell))
		}
		b.WriteString(" \\\\\n")
		if i == 0 {
			b.WriteString("\\midrule\n")
		}
	}
	b.WriteString("\\bottomrule\n\\end{tabular}\n")
	return b.String()
}
