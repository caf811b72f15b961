// Package report renders the measurements of hgld: self-contained HTML pages, and plots of
// curves as SVG or PNG.
package report

import (
	_ "embed"
	"encoding/base64"
	"html/template"
	"io"
	"slices"
	"strings"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// Page is a self-contained HTML page: one file embeds everything, including its images. Equal
// pages produce equal bytes. Write leaves out empty parts.
type Page struct {
	// Title is the heading. Subtitle is the sentence below it.
	Title, Subtitle string

	// Table holds the metrics.
	Table  *Table
	Tables []*Table // below the cases

	// Legend explains the colours of the picture frames.
	Legend []Legend

	// CasesNote introduces Cases, the results that some queries retrieve.
	CasesNote string
	// CasesTitle is the heading of Cases. The default is "What is retrieved".
	CasesTitle string
	// Cases holds one row per model for each query.
	Cases []Case

	// CurvesTitle is the heading of Curves. The default is "Training".
	CurvesTitle string
	CurvesNote  string        // sentence above Curves
	Curves      template.HTML // inline SVG, for example from Lines

	// Figures are plots below the tables.
	Figures []Figure

	// MapNote introduces Map, a picture of the embeddings.
	MapNote string
	Map     template.HTML // inline SVG

	// GroupsNote introduces Groups, the classes of a hierarchy.
	GroupsNote string
	Groups     []Group // in the order shown on the page

	// Steps lists the commands that produced the page.
	Steps []Step
}

// Table is a table of metrics.
type Table struct {
	// Title is shown above the table, and Note below it.
	Title, Note string

	// Head holds the column headings, and Rows the cells.
	Head []string
	Rows [][]Cell // each row is as long as Head

	// Text is the first column from which on the cells are text: they are not aligned to
	// the right. 0: only the first column is text.
	Text int

	// Sort lets the reader sort the rows by each column.
	Sort bool

	// Matrix sets the cells close together.
	Matrix bool
}

// Left reports whether a column is aligned to the left.
func (t *Table) Left(column int) bool { return column == 0 || t.Text > 0 && column >= t.Text }

// Class returns the CSS classes of a cell.
func (t *Table) Class(column int, c Cell) string {
	var list []string
	if t.Left(column) {
		list = append(list, "text")
	}
	if c.Best {
		list = append(list, "best")
	}
	if c.Share > 0 {
		list = append(list, "shade")
	}
	return strings.Join(list, " ")
}

// Sorted reports whether the page has a table that can be sorted.
func (p *Page) Sorted() bool {
	sorts := func(t *Table) bool { return t != nil && t.Sort }
	return sorts(p.Table) || slices.ContainsFunc(p.Tables, sorts)
}

// Cell is one cell of a table.
type Cell struct {
	Text string // the content
	Best bool   // printed in bold

	// Share, from 0 to 1, is the strength of the cell's shade.
	Share float64
}

// Legend explains one frame colour: the pictures that share Level levels with the query, from
// 3 for all levels to 0 for none.
type Legend struct {
	Level int    // selects the colour
	Text  string // meaning of the colour
}

// Case shows one query and what each model retrieves for it.
type Case struct {
	// Title stands above the case, which begins a group of cases with it; "": it belongs to
	// the group before.
	Title string

	// Rows holds one ranking for each model.
	Rows []Row
}

// Figure is a plot with a heading.
type Figure struct {
	Title   string        // stands above the plot
	Note    string        // sentence between title and plot
	Picture template.HTML // inline SVG, for example from [Drawing.Inline]
}

// Row is the ranking that one model returns.
type Row struct {
	Name     string    // name of the model, or of the query
	Pictures []Picture // the query, followed by its ranking
}

// Picture is an image in a coloured frame.
type Picture struct {
	// Class is the CSS class of the frame: query, plain, l0, l1, l2 or l3. Alt is the text for readers
	// who cannot see the picture. Caption is the line below it.
	Class, Alt, Caption string
	Source              template.URL // for example from JPEG

	// Missing says why there is no picture, whose place stays empty; "" if there is one.
	Missing string
}

// Group is a class of a hierarchy with its members.
type Group struct {
	// Name is the class. Parent is the coarser class that contains it.
	Name, Parent string
	Count        int      // number of landmarks
	Members      []Member // the finer classes
}

// Member is a finer class within a Group.
type Member struct {
	Name  string // the finer class
	Count int    // number of landmarks
}

// Step is a command and its result.
type Step struct{ Name, Command, Result string }

// Write writes the page as HTML.
func (p *Page) Write(w io.Writer) error { return pageTemplate.Execute(w, p) }

// JPEG returns image data as a data URL, which embeds it in the page.
func JPEG(data []byte) template.URL {
	return template.URL("data:image/jpeg;base64," + base64.StdEncoding.EncodeToString(data))
}
