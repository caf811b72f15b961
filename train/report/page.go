package report

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"maps"
	"math"
	"slices"
	"strings"

	"hgld/internal/report"
	"hgld/train/metric"
	"hgld/train/retrieval"
)

const (
	pageCases     = 8   // queries with a ranking on the page: this many of the worst, and of the random ones
	defaultPlaces = 10  // places per ranking
	pageThumbnail = 96  // short side of a thumbnail, in pixels
	pagePoints    = 800 // queries on the map; t-SNE's cost grows with their square
)

// Page configures the HTML page of an evaluation. The page shows a table of levels, the worst
// queries and some that are drawn, with what they retrieve, tables of classes, which coarsest
// classes are confused, precision-recall curves and a map of the embeddings. The one file
// embeds everything, and equal evaluations produce equal bytes. The result must hold the
// values of every query.
type Page struct {
	// Path is the file to write.
	Path string

	// Levels holds the names of the levels, finest first.
	Levels  []string
	Classes func(level int) []string // returns the names of the classes of a level

	// Truth decides how many levels an item shares with a query; nil: their labels do.
	Truth retrieval.Truth

	// Query and Gallery are the items. The page shows pictures if both are Pictured.
	Query, Gallery Items

	// Limit is the number of queries in a trial run, or 0 for all.
	Limit int

	// Places is the number of items shown of each ranking; 0 means 10.
	Places int

	// Seed draws the queries that are shown besides the worst.
	Seed uint64

	// Map projects rows of cols numbers to two dimensions. It returns two numbers per row.
	Map func(ctx context.Context, vectors []float32, rows, cols int) (xy []float32, err error)
}

// page is a page under construction.
type page struct {
	Page
	curves []metric.Curve // by level, then of all together
	found  [][]int32      // [queries][Places]: first places of every query; −1 where the gallery ends
	points []int          // queries on the map

	vectors    []float32
	rows, cols int
}

// Open starts the page.
func (o Page) Open() Output {
	o.Places = min(cmp.Or(o.Places, defaultPlaces), max(o.Gallery.Len(), 1))
	p := &page{Page: o, curves: make([]metric.Curve, len(o.Levels)+1)}
	n := o.Query.Len()
	if o.Limit > 0 {
		n = min(n, o.Limit)
	}
	p.found = make([][]int32, n)
	all := make([]int32, n*o.Places)
	for q := range p.found {
		p.found[q] = all[q*o.Places:][:o.Places]
	}
	p.points = spread(n, pagePoints)
	return p
}

// spread picks up to k of n indices, evenly spaced.
func spread(n, k int) []int {
	k = min(n, k)
	list := make([]int, k)
	for i := range list {
		list[i] = i * n / k
	}
	return list
}

// Look implements Output.
func (p *page) Look(l *retrieval.Observer) {
	l.Places, l.Curves, l.Queries, l.Vector = p.Places, p.curves, p.points, p.vector
}

func (p *page) vector(_ int, v []float32) error {
	p.cols = len(v)
	p.rows++
	p.vectors = append(p.vectors, v...)
	return nil
}

// Ranking implements Output.
func (p *page) Ranking(query int, rows []int32, _ []float32) error {
	found := p.found[query]
	for k := copy(found, rows); k < len(found); k++ {
		found[k] = -1
	}
	return nil
}

// Close implements Output.
func (p *page) Close() error { return nil }

// Finish implements Output.
func (p *page) Finish(ctx context.Context, r *retrieval.Result) error {
	out := report.Page{Title: "Evaluation", Subtitle: p.subtitle(r), CurvesTitle: "Precision and recall"}
	p.table(&out, r)
	out.CurvesNote = "Interpolated precision at each recall, the mean over the queries with a positive at the level. " +
		"All levels: hierarchical precision over hierarchical recall, below which lies H-AP."
	out.Curves = p.plot()
	if err := p.cases(ctx, &out, r); err != nil {
		return err
	}
	p.classTables(&out, r)
	p.confusion(&out)
	if err := p.drawMap(ctx, &out); err != nil {
		return err
	}
	return write(ctx, p.Path, &out)
}

func (p *page) subtitle(r *retrieval.Result) string {
	s := fmt.Sprintf("%d queries, %d gallery items", r.Queries, r.Gallery)
	if r.Self {
		s += ", each query left out of its own ranking"
	}
	s += "; equal scores: " + r.Ties + "."
	if r.Of != nil {
		s += " Of " + r.Of.String() + "."
	}
	return s
}

// table adds a row for each level, and a note with the metrics over all levels.
func (p *page) table(out *report.Page, r *retrieval.Result) {
	t := &report.Table{Title: "By level", Head: []string{"level"},
		Note: "Means in percent over the queries for which the metric is defined."}
	var names, graded []string
	for _, v := range r.Values {
		if name, finest := strings.CutSuffix(v.Key, "_level0"); finest {
			names = append(names, name)
		} else if !strings.Contains(v.Key, "_level") {
			graded = append(graded, fmt.Sprintf("%s %s", v.Key, percent(v.Mean)))
		}
	}
	t.Sort = true
	t.Head = append(t.Head, names...)
	for h, level := range p.Levels {
		row := []report.Cell{{Text: level}}
		for _, name := range names {
			row = append(row, report.Cell{Text: percent(retrieval.Number(r.Mean(fmt.Sprintf("%s_level%d", name, h))))})
		}
		t.Rows = append(t.Rows, row)
	}
	if len(graded) > 0 {
		t.Note += " Of all levels together: " + strings.Join(graded, ", ") + "."
	}
	out.Table = t
}

// percent formats a fraction in percent, or "–" if it is undefined.
func percent(v retrieval.Number) string {
	if math.IsNaN(float64(v)) {
		return "–"
	}
	return fmt.Sprintf("%.2f", 100*float64(v))
}

// plot draws one precision-recall curve per level, and one of all levels together.
func (p *page) plot() template.HTML {
	const w, h, left, right, top, bottom = 720.0, 320.0, 44.0, 120.0, 12.0, 40.0
	x := func(v float64) float64 { return left + (w-left-right)*v }
	y := func(v float64) float64 { return top + (h-top-bottom)*(1-v) }
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %g %g" role="img" aria-label="precision by recall">`, w, h)
	for i := range 6 {
		v := float64(i) / 5
		fmt.Fprintf(&b, `<line class="grid" x1="%g" x2="%g" y1="%.1f" y2="%.1f"/>`, left, w-right, y(v), y(v))
		fmt.Fprintf(&b, `<text x="%g" y="%.1f" text-anchor="end">%g</text>`, left-8, y(v)+4, v)
		fmt.Fprintf(&b, `<text x="%.1f" y="%g" text-anchor="middle">%g</text>`, x(v), h-bottom+18, v)
	}
	fmt.Fprintf(&b, `<text x="%.1f" y="%g" text-anchor="middle">recall</text>`, x(0.5), h-4)
	names := p.Levels
	if len(names) > 1 { // with one, both curves are the same
		names = append(slices.Clone(names), "all levels")
	}
	for l, level := range names {
		if p.curves[l].Queries == 0 {
			continue
		}
		var d strings.Builder
		for i, v := range p.curves[l].Precision() {
			fmt.Fprintf(&d, "%c%.1f %.1f", "ML"[min(i, 1)], x(float64(i)/(metric.CurvePoints-1)), y(v))
		}
		at := top + 16 + 18*float64(l)
		color := report.Hue(l, len(names))
		fmt.Fprintf(&b, `<path fill="none" stroke-width="2" stroke="%s" d="%s"/>`, color, d.String())
		fmt.Fprintf(&b, `<rect x="%g" y="%.1f" width="10" height="10" fill="%s"/><text x="%g" y="%.1f">%s</text>`,
			w-right+12, at-9, color, w-right+28, at, template.HTMLEscapeString(level))
	}
	b.WriteString("</svg>")
	return template.HTML(b.String())
}

// legend explains the frames. Levels are named finest first.
func legend(levels []string) []report.Legend {
	var list []report.Legend
	for shared := len(levels); shared >= 0; shared-- {
		text := "nothing in common"
		if shared > 0 {
			text = "same " + levels[len(levels)-shared]
		}
		colour := report.Frame(shared, len(levels))
		if n := len(list); n > 0 && list[n-1].Level == colour {
			list[n-1].Text += ", " + strings.TrimPrefix(text, "same ")
		} else {
			list = append(list, report.Legend{Level: colour, Text: text})
		}
	}
	return list
}

func (p *page) className(level int, class int32) string {
	if names := p.Classes(level); class >= 0 && int(class) < len(names) {
		return names[class]
	}
	return "–"
}

// drawMap projects the embeddings of some queries and colours them by the coarsest level.
func (p *page) drawMap(ctx context.Context, out *report.Page) error {
	const least = 8 // fewest points for a map
	if p.rows < least {
		return nil
	}
	xy, err := p.Page.Map(ctx, p.vectors, p.rows, p.cols)
	if err != nil {
		return err
	}
	coarsest := len(p.Levels) - 1
	members := map[int32]int{}
	for _, q := range p.points {
		members[p.Query.Labels(q)[coarsest]]++
	}
	byCount := slices.SortedFunc(maps.Keys(members), func(a, b int32) int {
		return cmp.Or(members[b]-members[a], cmp.Compare(a, b))
	})
	out.MapNote = fmt.Sprintf("t-SNE of the embeddings of %d of %d queries, coloured by %s. Neighbours are kept; "+
		"distances between groups mean little.", p.rows, p.Query.Len(), p.Levels[coarsest])
	out.Map = p.scatter(xy, byCount)
	return nil
}

// scatter draws the points and a legend of the largest classes.
func (p *page) scatter(xy []float32, classes []int32) template.HTML {
	const size, legend, margin, lines = 480.0, 220.0, 10.0, 24
	low, high := [2]float32{xy[0], xy[1]}, [2]float32{xy[0], xy[1]}
	for i, v := range xy {
		low[i%2], high[i%2] = min(low[i%2], v), max(high[i%2], v)
	}
	at := func(i, axis int) float64 {
		return margin + (size-2*margin)*float64(xy[2*i+axis]-low[axis])/float64(max(high[axis]-low[axis], 1e-9))
	}
	coarsest := len(p.Levels) - 1
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %g %g" role="img" aria-label="map of the embeddings">`, size+legend, size)
	for i, q := range p.points {
		path := p.Query.Labels(q)
		color := report.Hue(slices.Index(classes, path[coarsest]), len(classes))
		fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s" fill-opacity=".9"><title>%s: %s</title></circle>`,
			at(i, 0), at(i, 1), color, template.HTMLEscapeString(p.Query.ID(q)),
			template.HTMLEscapeString(p.className(0, path[0])))
	}
	for i, c := range classes[:min(lines, len(classes))] {
		fmt.Fprintf(&b, `<rect x="%g" y="%d" width="10" height="10" fill="%s"/><text x="%g" y="%d">%s</text>`,
			size+10, 10+18*i, report.Hue(i, len(classes)), size+26, 19+18*i,
			template.HTMLEscapeString(p.className(coarsest, c)))
	}
	b.WriteString("</svg>")
	return template.HTML(b.String())
}
