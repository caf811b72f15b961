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
	// Cases have a row for each model.
	Cases []Case

	// CurvesTitle is the heading of Curves, "Training" if it is "".
	CurvesTitle string
	CurvesNote  string        // the sentence above Curves
	Curves      template.HTML // inline SVG, such as Lines returns

	// MapNote introduces Map, a picture of the embeddings.
	MapNote string
	Map     template.HTML // inline SVG

	// GroupsNote introduces Groups, the classes of a hierarchy.
	GroupsNote string
	Groups     []Group // in the order of the page

	// Steps are the commands that led to the page.
	Steps []Step
}

// Table is a table of figures.
type Table struct {
	// Title stands above the table, and Note below it.
	Title, Note string

	// Head has the headings of the columns, and Rows the cells.
	Head []string
	Rows [][]Cell // as long as Head
}

// Cell is a cell of a table. Best sets it in bold.
type Cell struct {
	Text string // the content
	Best bool   // set in bold
}

// Legend explains the frame of pictures that share so many levels with the query: 3 all
// of them, 0 none.
type Legend struct {
	Level int    // the colour
	Text  string // the meaning
}

// Case shows one query and what each model retrieves for it.
type Case struct{ Rows []Row }

// Row is the ranking of one model.
type Row struct {
	Name     string    // the model or the query
	Pictures []Picture // the query, then its ranking
}

// Picture is an image in a frame. Class is its colour: query, l0, l1, l2 or l3.
type Picture struct {
	// Class is the colour of the frame, Alt the text for those who do not see the picture,
	// Caption the line below it.
	Class, Alt, Caption string
	Source              template.URL // such as JPEG returns
}

// Group is a class of a hierarchy with its members. Count is the number of landmarks.
type Group struct {
	// Name is the class, Parent the coarser class it belongs to.
	Name, Parent string
	Count        int      // landmarks
	Members      []Member // the finer classes
}

// Member is a class in a Group, with its number of landmarks.
type Member struct {
	Name  string // the finer class
	Count int    // landmarks
}

// Step is a command and its result.
type Step struct{ Name, Command, Result string }

// Write writes the page.
func (p *Page) Write(w io.Writer) error { return pageTemplate.Execute(w, p) }

// JPEG returns the address of an image file that is embedded in the page.
func JPEG(data []byte) template.URL {
	return template.URL("data:image/jpeg;base64," + base64.StdEncoding.EncodeToString(data))
}
