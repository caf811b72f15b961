// Package report draws a draft of stage 2 as one HTML page: a map of the tags, the
// clusters with their members, and their sizes. The file is complete and loads nothing
// from the network. The same draft gives the same bytes.
//
// Tags are scraped text. The page holds them as JSON in a data block that html/template
// escapes, and its script shows them as text only. A content security policy forbids any
// other script.
package report

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"

	"hgld/cluster"
	"hgld/labels"
)

var (
	//go:embed page.html
	pageText string
	//go:embed page.css
	styleText string
	//go:embed page.js
	scriptText string
)

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// Page is the content of a page.
type Page struct {
	// Draft is the draft to draw.
	Draft *labels.Draft
	// Positions are those of the tags on the map, [tags,2].
	Positions cluster.Matrix
	// Method is the name in Methods of how they were found.
	Method string
	// Seed is that of the map.
	Seed uint64
	// Trust is the trustworthiness of the map; nil if it is undefined.
	Trust *float64
	// Sweep has measures by number of clusters; it may be empty.
	Sweep []Plot
}

// TrustNeighbours is the number of neighbours for Page.Trust.
const TrustNeighbours = 12

// view is what the template sees.
type view struct {
	Title, Summary, MapNote string
	Policy                  string
	Style                   template.CSS
	Script                  template.JS
	Data                    data
	Sizes                   template.HTML
	SizesNote               string
	Plots                   []drawnPlot
	Lines                   []string // names of the plots' lines, where there are several
	Origin                  []fact
}

type drawnPlot struct {
	Title, Note string
	SVG         template.HTML
}

type fact struct{ Name, Value string }

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
	v := view{
		Title:   "Clusters of tags",
		Summary: p.summary(d),
		MapNote: p.mapNote(),
		Policy: "default-src 'none'; style-src 'unsafe-inline'; script-src '" + hash(scriptText) +
			"'; base-uri 'none'; form-action 'none'",
		Style:  template.CSS(styleText),
		Script: template.JS(scriptText),
		Data:   d,
		Sizes:  histogram(sizes), SizesNote: sizesNote(sizes),
		Origin: p.origin(),
	}
	for _, plot := range p.Sweep {
		v.Plots = append(v.Plots, drawnPlot{plot.Title, plot.Note, plot.svg(len(p.Draft.Clusters))})
	}
	if len(p.Sweep) > 0 && len(p.Sweep[0].Lines) > 1 {
		for _, l := range p.Sweep[0].Lines[:min(len(p.Sweep[0].Lines), len(Light))] {
			v.Lines = append(v.Lines, l.Name)
		}
	}
	return pageTemplate.Execute(w, v)
}

// hash is a script as a content security policy names it.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
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

func (p *Page) origin() []fact {
	o := p.Draft.Origin
	list := []fact{{"tags", o.Input}, {"encoder", o.Encoder}, {"prompt", o.Prompt}, {"algorithm", o.Algorithm},
		{"start", o.Init},
		{"weighted by", o.WeightedBy}, {"groups kept from", o.Given}, {"made with", o.Tool}}
	list = slices.DeleteFunc(list, func(f fact) bool { return strings.TrimSpace(f.Value) == "" })
	if o.Algorithm != "" {
		list = append(list, fact{"seed", fmt.Sprint(o.Seed)}, fact{"inertia", fmt.Sprintf("%.6g", o.Inertia)})
	}
	return append(list, fact{"map", fmt.Sprintf("%s, seed %d", p.Method, p.Seed)})
}
