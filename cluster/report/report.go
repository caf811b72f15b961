// Package report draws a draft of stage 2 as one HTML page: a map of the tags, the
// clusters with their members, and their sizes. The file is complete and loads nothing
// from the network. The same draft gives the same bytes.
//
// Tags are scraped text. The page holds them as JSON in a data block that html/template
// escapes, and its script shows them as text only.
package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"

	"hgld/cluster"
	"hgld/internal/report"
	"hgld/labels"
)

var (
	//go:embed map.html
	mapText string
	//go:embed page.css
	styleText string
	//go:embed page.js
	scriptText string
)

var mapTemplate = template.Must(template.New("map").Parse(mapText))

// Page is the content of a page.
type Page struct {
	Draft     *labels.Draft  // the draft to draw
	Positions cluster.Matrix // those of the tags on the map, [tags,2]
	Method    string         // the name in Methods of how they were found
	Seed      uint64         // that of the map
	Trust     *float64       // the trustworthiness of the map; nil if it is undefined
	Sweep     []Plot         // has measures by number of clusters; it may be empty
}

// TrustNeighbours is the number of neighbours for Page.Trust.
const TrustNeighbours = 12

// data is the block that the page's script reads. Lists of tags are columns, which take
// half the space of a list of objects.
type data struct {
	Tags     tagColumns    `json:"tags"`
	Clusters []clusterData `json:"clusters"`
	Light    []string      `json:"light"`
	Dark     []string      `json:"dark"`
	Images   bool          `json:"images"` // whether images are counted
}

type tagColumns struct {
	Name      []string  `json:"name"`
	QID       []string  `json:"qid"`
	Cluster   []int     `json:"cluster"` // position in Clusters
	X         []float64 `json:"x"`       // 0 to 1000
	Y         []float64 `json:"y"`
	Distance  []float64 `json:"distance"`
	Outlier   []int     `json:"outlier"` // positions of outliers
	Landmarks []int     `json:"landmarks"`
	Images    []int     `json:"imageCount"`
}

type clusterData struct {
	ID        int    `json:"id"`
	Name      string `json:"name"`
	Color     int    `json:"color"`
	Members   []int  `json:"members"` // nearest first
	Nearest   []int  `json:"nearest"` // positions in Clusters
	Landmarks int    `json:"landmarks"`
	Images    int    `json:"images"`
	Outliers  int    `json:"outliers"`
	Known     bool   `json:"known"`
}

// Write writes the page.
func (p *Page) Write(w io.Writer) error {
	if p.Positions.Rows != len(p.Draft.Tags) || p.Positions.Cols != 2 {
		panic("report: positions of other tags")
	}
	if err := p.Draft.Check(); err != nil {
		return fmt.Errorf("report: draft: %w", err)
	}
	d := p.data()
	sizes := make([]int, len(d.Clusters))
	for i, c := range d.Clusters {
		sizes[i] = len(c.Members)
	}
	var markup strings.Builder
	if err := mapTemplate.Execute(&markup, p.mapNote()); err != nil {
		return err
	}
	page := report.Page{
		Title: "Clusters of tags", Subtitle: p.summary(d),
		App: &report.App{Markup: template.HTML(markup.String()), Style: template.CSS(styleText),
			Script: template.JS(scriptText), Data: d},
		Tables: []*report.Table{{Title: "How it was made", Head: []string{"setting", "value"}, Text: 1, Rows: p.origin()}},
	}
	if len(sizes) > 0 {
		picture, err := inline(histogram(sizes), "number of clusters by their number of tags")
		if err != nil {
			return fmt.Errorf("report: sizes: %w", err)
		}
		page.Figures = []report.Figure{{Title: "Sizes", Note: sizesNote(sizes), Picture: picture}}
	}
	for _, plot := range p.Sweep {
		picture, err := plot.svg(len(p.Draft.Clusters))
		if err != nil {
			return fmt.Errorf("report: %s: %w", plot.Title, err)
		}
		page.Figures = append(page.Figures, report.Figure{Title: plot.Title, Note: plot.note(), Picture: picture})
	}
	return page.Write(w)
}

func (p *Page) data() data {
	tags := p.Draft.Tags
	x, y := square(p.Positions)
	d := data{Light: Light, Dark: Dark, Tags: tagColumns{
		Name: make([]string, len(tags)), QID: make([]string, len(tags)), Cluster: make([]int, len(tags)), X: x, Y: y,
		Distance: make([]float64, len(tags)), Outlier: []int{}, Landmarks: make([]int, len(tags)),
		Images: make([]int, len(tags)),
	}}
	for i, t := range tags {
		d.Tags.Name[i], d.Tags.QID[i], d.Tags.Landmarks[i], d.Tags.Images[i] = t.Name, t.QID, t.Landmarks, t.Images
		d.Images = d.Images || t.Images > 0
	}
	at := map[int]int{}
	for i, c := range p.Draft.Clusters {
		at[c.ID] = i
	}
	d.Clusters = []clusterData{}
	for i, c := range p.Draft.Clusters {
		one := clusterData{ID: c.ID, Name: c.Name, Members: []int{}, Nearest: []int{}, Known: c.Known}
		for _, m := range c.Members {
			d.Tags.Cluster[m.Tag], d.Tags.Distance[m.Tag] = i, math.Round(m.Distance*1e4)/1e4
			one.Members = append(one.Members, m.Tag)
			one.Landmarks += tags[m.Tag].Landmarks
			one.Images += tags[m.Tag].Images
			if m.Outlier {
				d.Tags.Outlier = append(d.Tags.Outlier, m.Tag)
				one.Outliers++
			}
		}
		for _, id := range c.Nearest {
			one.Nearest = append(one.Nearest, at[id])
		}
		d.Clusters = append(d.Clusters, one)
	}
	for i, color := range colors(d) {
		d.Clusters[i].Color = color
	}
	slices.Sort(d.Tags.Outlier)
	return d
}

// square scales positions into [0, 1000], keeping their shape; y grows downwards.
func square(m cluster.Matrix) (x, y []float64) {
	x, y = make([]float64, m.Rows), make([]float64, m.Rows)
	low, high := [2]float64{math.Inf(1), math.Inf(1)}, [2]float64{math.Inf(-1), math.Inf(-1)}
	for i := range m.Rows {
		for c, v := range m.Row(i) {
			low[c], high[c] = min(low[c], float64(v)), max(high[c], float64(v))
		}
	}
	scale := 0.0
	if wide := max(high[0]-low[0], high[1]-low[1]); wide > 0 {
		scale = 1000 / wide
	}
	for i := range m.Rows {
		r := m.Row(i)
		x[i] = math.Round(10*(500+scale*(float64(r[0])-(low[0]+high[0])/2))) / 10
		y[i] = math.Round(10*(500-scale*(float64(r[1])-(low[1]+high[1])/2))) / 10
	}
	return x, y
}

func (p *Page) summary(d data) string {
	landmarks := 0
	for _, n := range d.Tags.Landmarks {
		landmarks += n
	}
	s := fmt.Sprintf("%s tags in %s clusters, %s of them outliers; %s landmarks carry them",
		thousands(len(d.Tags.Name)), thousands(len(d.Clusters)), thousands(len(d.Tags.Outlier)), thousands(landmarks))
	if d.Images {
		images := 0
		for _, n := range d.Tags.Images {
			images += n
		}
		s += fmt.Sprintf(", in %s images", thousands(images))
	}
	return s + "."
}

// thousands writes 12871 as 12,871.
func thousands(n int) string {
	s := fmt.Sprint(n)
	for at := len(s) - 3; at > 0; at -= 3 {
		s = s[:at] + "," + s[at:]
	}
	return s
}

func (p *Page) mapNote() string {
	about := ""
	for _, m := range Methods {
		if m.Name == p.Method {
			about = m.About
		}
	}
	note := fmt.Sprintf("Each mark is a tag, near similar ones: %s. Its size is the number of landmarks, its colour "+
		"the cluster; clusters side by side have different colours, those far apart may share one. Triangles are outliers.",
		about)
	if p.Trust != nil {
		note += fmt.Sprintf(" Trustworthiness of %d neighbours: %.3f, and 1 if all neighbours on the map are neighbours.",
			TrustNeighbours, *p.Trust)
	}
	return note
}

func (p *Page) origin() (rows [][]report.Cell) {
	add := func(name, value string) {
		if strings.TrimSpace(value) != "" {
			rows = append(rows, []report.Cell{{Text: name}, {Text: value}})
		}
	}
	o := p.Draft.Origin
	add("tags", o.Input)
	add("encoder", o.Encoder)
	add("prompt", o.Prompt)
	add("algorithm", o.Algorithm)
	add("start", o.Init)
	add("weighted by", o.WeightedBy)
	add("groups kept from", o.Given)
	add("made with", o.Tool)
	if o.Algorithm != "" {
		add("seed", fmt.Sprint(o.Seed))
		add("inertia", fmt.Sprintf("%.6g", o.Inertia))
	}
	add("map", fmt.Sprintf("%s, seed %d", p.Method, p.Seed))
	return rows
}
