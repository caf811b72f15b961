// Package report renders the measurements of hgld: self-contained HTML pages, and plots of
// curves as SVG or PNG.
package report

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"io"
	"slices"
	"strings"

	"hgld/internal/terminal"
)

var (
	//go:embed page.html
	pageText string
	//go:embed sort.js
	sortScript string
)

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// Page is a self-contained HTML page: one file embeds everything, including its images. Equal
// pages produce equal bytes. Write leaves out empty parts. A content security policy forbids
// scripts other than the page's own, and everything from the network.
type Page struct {
	// Title is the heading. Subtitle is the sentence below it.
	Title, Subtitle string
	App             *App     // an interactive part; nil: none
	Table           *Table   // the metrics
	Tables          []*Table // below the cases
	Legend          []Legend // explains the colours of the picture frames
	CasesNote       string   // introduces Cases, the results that some queries retrieve
	// CasesTitle is the heading of Cases. The default is "What is retrieved".
	CasesTitle string
	Cases      []Case        // one row per model for each query
	Figures    []Figure      // plots below the tables
	MapNote    string        // introduces Map, a picture of the embeddings
	Map        template.HTML // inline SVG

	// GroupsTitle and GroupsNote introduce Groups.
	GroupsTitle, GroupsNote string
	Groups                  []Group // in the order shown on the page
	Steps                   []Step  // the commands that produced the page
}

// App is a part of a page that a script fills.
type App struct {
	Markup template.HTML // has the elements that Script expects
	Style  template.CSS  // adds to that of the page
	Script template.JS   // reads Data; shows it as text only
	Data   any           // as JSON in the element "data"
	Beside bool          // shows pictures that lie beside the page
}

// Table is a table of metrics.
type Table struct {
	// Title is shown above the table, and Note below it.
	Title, Note string
	Head        []string // the column headings
	Rows        [][]Cell // the cells; each row is as long as Head

	// Text is the first column from which on the cells are text: they are not aligned to
	// the right. 0: only the first column is text.
	Text   int
	Sort   bool // lets the reader sort the rows by each column
	Matrix bool // sets the cells close together
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

// Scripts returns the scripts of the page.
func (p *Page) Scripts() (list []template.JS) {
	sorts := func(t *Table) bool { return t != nil && t.Sort }
	if sorts(p.Table) || slices.ContainsFunc(p.Tables, sorts) {
		list = append(list, template.JS(sortScript))
	}
	if p.App != nil {
		list = append(list, p.App.Script)
	}
	return list
}

// Policy returns the content security policy, which names the scripts by their hashes.
func (p *Page) Policy() string {
	images := "img-src data:"
	if p.App != nil && p.App.Beside {
		images += " 'self' file:"
	}
	policy := "default-src 'none'; style-src 'unsafe-inline'; " + images + "; base-uri 'none'; form-action 'none'"
	for i, script := range p.Scripts() {
		if i == 0 {
			policy += "; script-src"
		}
		sum := sha256.Sum256([]byte(script))
		policy += " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return policy
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
	Title string // stands above the case, which begins a group of cases with it; "": it belongs to the group before
	Rows  []Row  // one ranking for each model
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
	Missing             string       // says why there is no picture, whose place stays empty; "" if there is one
}

// Group is a list of members under a name.
type Group struct {
	Name    string   // stands above the members
	Note    string   // line below the name
	Members []Member // in the order shown on the page
}

// Member is a line of a Group.
type Member struct {
	Name  string // stands on the left
	Count int    // stands on the right
}

// Step is a command and its result.
type Step struct{ Name, Command, Result string }

// Write writes the page as HTML. Control characters, and those that change the direction of text, are shown as escapes:
// names come from other people.
func (p *Page) Write(w io.Writer) error {
	var b strings.Builder
	if err := pageTemplate.Execute(&b, p); err != nil {
		return err
	}
	_, err := io.WriteString(w, terminal.Visible(b.String()))
	return err
}

// JPEG returns image data as a data URL, which embeds it in the page.
func JPEG(data []byte) template.URL {
	return template.URL("data:image/jpeg;base64," + base64.StdEncoding.EncodeToString(data))
}
