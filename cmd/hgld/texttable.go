package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"hgld/internal/registry"
)

// textTable is a table of text that can be written for a terminal, a page or a paper. The
// first column names the rows; the others are figures and stand to the right.
type textTable struct {
	title string
	head  []string
	rows  [][]string
	note  string // below the table
}

var tableFormats = []string{"text", "markdown", "latex", "csv"}

// checkFormat reports a format that there is not.
func checkFormat(format string) error {
	if !slices.Contains(tableFormats, format) {
		return withCode(exitUsage, fmt.Errorf("--format: %w", registry.Unknown("format", format, tableFormats)))
	}
	return nil
}

// write writes the table in one of tableFormats.
func (c textTable) write(w io.Writer, format string) error {
	switch format {
	case "csv":
		all := csv.NewWriter(w)
		return all.WriteAll(append([][]string{c.head}, c.rows...))
	case "markdown":
		c.note = strings.ReplaceAll(strings.ReplaceAll(c.note, "\n", "; "), "*", `\*`)
		return c.lines(w, "%s\n\n", c.markdown(), "\n%s\n")
	case "latex":
		c.note = strings.ReplaceAll(c.note, "\n", "\n% ")
		return c.lines(w, "%% %s\n", c.latex(), "%% %s\n")
	}
	return c.lines(w, "%s\n", c.text(), "%s\n")
}

// lines writes the title and the note around the body, where there are any.
func (c textTable) lines(w io.Writer, title, body, note string) error {
	all := body
	if c.title != "" {
		all = fmt.Sprintf(title, c.title) + all
	}
	if c.note != "" {
		all += fmt.Sprintf(note, c.note)
	}
	_, err := io.WriteString(w, all)
	return err
}

func (c textTable) text() string {
	width := make([]int, len(c.head))
	for i := range width {
		width[i] = 8
	}
	width[0] = 16
	all := append([][]string{c.head}, c.rows...)
	for _, row := range all {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, row := range all {
		line := fmt.Sprintf("%-*s", width[0], row[0])
		for i, cell := range row[1:] {
			line += fmt.Sprintf(" %*s", width[i+1], cell)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

func (c textTable) markdown() string {
	var b strings.Builder
	for i, row := range append([][]string{c.head}, c.rows...) {
		for _, cell := range row {
			b.WriteString("| " + strings.ReplaceAll(cell, "|", `\|`) + " ")
		}
		b.WriteString("|\n")
		if i == 0 {
			b.WriteString("|---|" + strings.Repeat("---:|", len(c.head)-1) + "\n")
		}
	}
	return b.String()
}

// latexText writes what has a meaning in LaTeX as itself.
var latexText = strings.NewReplacer(`\`, `\textbackslash{}`, "&", `\&`, "%", `\%`, "$", `\$`, "#", `\#`, "_", `\_`,
	"{", `\{`, "}", `\}`, "~", `\textasciitilde{}`, "^", `\textasciicircum{}`, "±", `$\pm$`, "–", "--", "−", "$-$",
	"<", "$<$", "*", `$^*$`)

// latex is a tabular with the rules of the package booktabs.
func (c textTable) latex() string {
	var b strings.Builder
	b.WriteString(`\begin{tabular}{l` + strings.Repeat("r", len(c.head)-1) + "}\n\\toprule\n")
	for i, row := range append([][]string{c.head}, c.rows...) {
		for k, cell := range row {
			if k > 0 {
				b.WriteString(" & ")
			}
			b.WriteString(latexText.Replace(cell))
		}
		b.WriteString(" \\\\\n")
		if i == 0 {
			b.WriteString("\\midrule\n")
		}
	}
	b.WriteString("\\bottomrule\n\\end{tabular}\n")
	return b.String()
}
