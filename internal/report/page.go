// Package report draws what hgld measures: self-contained HTML pages, and pictures of
// curves as SVG or PNG.
package report

import (
	_ "embed"
	"encoding/base64"
	"html/template"
	"io"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// Page is a self-contained HTML page: everything, images included, is in the one file.
// Equal pages give equal bytes. A part that is empty is left out.
type Page struct {
	// Title is the heading, and Subtitle the sentence below it.
	Title, Subtitle string

	// Table has the figures.
	Table *Table

	// Legend explains the frames of the pictures.
	Legend []Legend

	// CasesNote introduces Cases, what some queries retrieve.
	CasesNote string
	Cases     []Case

	// CurvesTitle is the heading of Curves, "Training" if it is "".
	CurvesTitle string
	CurvesNote  string
	Curves      template.HTML

	// MapNote introduces Map, a picture of the embeddings.
	MapNote string
	Map     template.HTML

	// GroupsNote introduces Groups, the classes of a hierarchy.
	GroupsNote string
	Groups     []Group

	// Steps are the commands that led to the page.
	Steps []Step
}

// Table is a table of figures.
type Table struct {
	// Title stands above the table, and Note below it.
	Title, Note string

	// Head has the headings of the columns, and Rows the cells.
	Head []string
	Rows [][]Cell
}

// Cell is a cell of a table. Best sets it in bold.
type Cell struct {
	Text string
	Best bool
}

// Legend explains the frame of pictures that share so many levels with the query: 3 all
// of them, 0 none.
type Legend struct {
	Level int
	Text  string
}

// Case shows one query and what each model retrieves for it.
type Case struct{ Rows []Row }

// Row is the ranking of one model.
type Row struct {
	Name     string
	Pictures []Picture
}

// Picture is an image in a frame. Class is its colour: query, l0, l1, l2 or l3.
type Picture struct {
	Class, Alt, Caption string
	Source              template.URL
}

// Group is a class of a hierarchy with its members. Count is the number of landmarks.
type Group struct {
	Name, Parent string
	Count        int
	Members      []Member
}

// Member is a class in a Group, with its number of landmarks.
type Member struct {
	Name  string
	Count int
}

// Step is a command and its result.
type Step struct{ Name, Command, Result string }

// Write writes the page.
func (p *Page) Write(w io.Writer) error { return pageTemplate.Execute(w, p) }

// JPEG returns the address of an image file that is embedded in the page.
func JPEG(data []byte) template.URL {
	return template.URL("data:image/jpeg;base64," + base64.StdEncoding.EncodeToString(data))
}
