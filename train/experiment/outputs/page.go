package outputs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hgld/internal/report"
	"hgld/train/metric"
	"hgld/train/retrieval"
)

const pagePoints = 800 // queries on the map; t-SNE's cost grows with their square

// Page configures the HTML page of an evaluation. The page shows a table of levels, all queries to
// filter and sort, worst first, with what they retrieve, a map of the embeddings, tables of classes,
// which coarsest classes are confused, and precision-recall curves. The one file embeds everything, but
// pictures of more than 20 MB, which lie beside it; equal evaluations produce equal bytes. The result
// must hold the values of every query.
type Page struct {
	Path    string                   // the file to write
	Levels  []string                 // the names of the levels, finest first
	Classes func(level int) []string // returns the names of the classes of a level; nil: Truth has judgements, no classes
	Truth   retrieval.Truth          // decides how many levels an item shares with a query; nil: their labels do

	// Query and Gallery are the items. The page shows pictures if both are Pictured.
	Query, Gallery Items
	Limit          int // the number of queries in a trial run, or 0 for all
	Places         int // the number of items shown of each ranking; 0 means 10

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
	out := report.Page{Title: "Evaluation", Subtitle: p.subtitle(r)}
	p.table(&out, r)
	if err := p.plot(&out); err != nil {
		return err
	}
	x, err := p.explore(ctx, r)
	if err != nil {
		return err
	}
	if p.Classes != nil {
		p.classTables(&out, r)
		p.confusion(&out)
	}
	return x.write(ctx, p.Path, &out)
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
func percent(v retrieval.Number) string { return (100 * v).Decimals(2, "–") }

// plot draws one precision-recall curve per level, and one of all levels together.
func (p *page) plot(out *report.Page) error {
	plot := report.Plot{XLabel: "recall", YLabel: "precision", Beside: true, Unit: true}
	names := p.Levels
	if len(names) > 1 { // with one, both curves are the same
		names = append(slices.Clone(names), "all levels")
	}
	for l, level := range names {
		if p.curves[l].Queries == 0 {
			continue
		}
		curve := report.Curve{Name: level}
		for i, v := range p.curves[l].Precision() {
			curve.Points = append(curve.Points, report.Point{X: float64(i) / (metric.CurvePoints - 1), Y: v})
		}
		plot.Curves = append(plot.Curves, curve)
	}
	drawing, err := plot.Draw()
	if errors.Is(err, report.ErrEmpty) {
		return nil
	}
	if err != nil {
		return err
	}
	picture, err := drawing.Inline("precision by recall")
	out.Figures = []report.Figure{{Title: "Precision and recall", Picture: picture,
		Note: "Interpolated precision at each recall, the mean over the queries with a positive at the level. " +
			"All levels: hierarchical precision over hierarchical recall, below which lies H-AP."}}
	return err
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

// drawMap projects the embeddings of some queries. at is where a query is on the page, or −1.
func (p *page) drawMap(ctx context.Context, x *explored, at []int) error {
	const least = 8 // fewest points for a map
	if p.rows < least {
		return nil
	}
	xy, err := p.Page.Map(ctx, p.vectors, p.rows, p.cols)
	if err != nil {
		return err
	}
	var queries []int
	var kept []float32
	for i, q := range p.points {
		if at[q] >= 0 {
			queries, kept = append(queries, at[q]), append(kept, xy[2*i:2*i+2]...)
		}
	}
	coloured := ""
	if p.Classes != nil {
		coloured = ", coloured by " + p.Levels[len(p.Levels)-1]
	}
	x.MapNote = fmt.Sprintf("t-SNE of the embeddings of %d of %d queries%s. Neighbours are kept; "+
		"distances between groups mean little.", len(queries), p.Query.Len(), coloured)
	x.Map = report.NewMap(queries, kept)
	return nil
}
