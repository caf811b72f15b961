package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"

	"hgld/cluster"
	"hgld/internal/atomicfile"
	"hgld/internal/blas"
	"hgld/internal/img"
	"hgld/internal/report"
	"hgld/train"
	"hgld/train/metric"
)

const (
	pageCases     = 8   // queries whose rankings are shown
	pagePlaces    = 10  // places of each
	pageThumbnail = 96  // short side of a picture
	pagePoints    = 800 // queries on the map: t-SNE's work grows as their square
)

// evalPage is the HTML report of an evaluation: a table of levels, curves of
// precision by recall, a map of the embeddings, and, where there are images, what
// some queries retrieve. Everything is in the one file, and the same evaluation
// gives the same bytes.
type evalPage struct {
	j              *job
	out            string
	levels         []string
	query, gallery rankedItems
	classes        func(level int) []string
	curves         []metric.Curve
	shown          map[int][]int32 // rankings of the queries that are shown
	points         []int
	vectors        cluster.Matrix
}

func newEvalPage(j *job, s *evalSettings, levels []string, query, gallery rankedItems, classes func(level int) []string) *evalPage {
	p := &evalPage{j: j, out: s.Report, levels: levels, query: query, gallery: gallery, classes: classes, curves: make([]metric.Curve, len(levels)), shown: map[int][]int32{}}
	n := query.Len()
	if j.limit > 0 {
		n = min(n, j.limit)
	}
	for _, q := range spread(n, pageCases) {
		p.shown[q] = nil
	}
	p.points = spread(n, pagePoints)
	return p
}

// spread picks up to k of n numbers, evenly.
func spread(n, k int) []int {
	k = min(n, k)
	list := make([]int, k)
	for i := range list {
		list[i] = i * n / k
	}
	return list
}

func (p *evalPage) look(l *train.Look) {
	l.Places, l.Curves, l.Queries, l.Vector = pagePlaces, p.curves, p.points, p.vector
}

func (p *evalPage) vector(_ int, v []float32) error {
	p.vectors.Cols = len(v)
	p.vectors.Rows++
	p.vectors.Data = append(p.vectors.Data, v...)
	return nil
}

func (p *evalPage) ranking(query int, rows []int32, _ []float32) error {
	if _, wanted := p.shown[query]; wanted {
		p.shown[query] = slices.Clone(rows)
	}
	return nil
}

func (p *evalPage) abandon() error { return nil }

func (p *evalPage) finish(ctx context.Context, r *train.Result) error {
	page := report.Page{Title: "Evaluation", Subtitle: p.subtitle(r), CurvesTitle: "Precision and recall"}
	p.table(&page, r)
	page.CurvesNote = "Interpolated precision at each recall, the mean over the queries with a positive at the level."
	page.Curves = p.plot()
	if err := p.cases(ctx, &page); err != nil {
		return err
	}
	if err := p.drawMap(ctx, &page); err != nil {
		return err
	}
	return atomicfile.Write(p.out, page.Write)
}

func (p *evalPage) subtitle(r *train.Result) string {
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

// table has a row for each level, and the metrics of all levels below.
func (p *evalPage) table(page *report.Page, r *train.Result) {
	t := &report.Table{Title: "By level", Head: []string{"level"}, Note: "Means in percent over the queries for which the metric is defined."}
	var names, graded []string
	for _, v := range r.Values {
		if name, finest := strings.CutSuffix(v.Key, "_level0"); finest {
			names = append(names, name)
		} else if !strings.Contains(v.Key, "_level") {
			graded = append(graded, fmt.Sprintf("%s %s", v.Key, decimals(100*v.Mean, 2, "–")))
		}
	}
	t.Head = append(t.Head, names...)
	for h, level := range p.levels {
		row := []report.Cell{{Text: level}}
		for _, name := range names {
			row = append(row, report.Cell{Text: decimals(train.Number(100*r.Mean(fmt.Sprintf("%s_level%d", name, h))), 2, "–")})
		}
		t.Rows = append(t.Rows, row)
	}
	if len(graded) > 0 {
		t.Note += " Of all levels together: " + strings.Join(graded, ", ") + "."
	}
	page.Table = t
}

// levelColor is the colour of line or class i of n.
func levelColor(i, n int) string { return fmt.Sprintf("hsl(%d 60%% 45%%)", 360*i/max(n, 1)) }

// plot draws a curve for each level.
func (p *evalPage) plot() template.HTML {
	const w, h, left, right, top, bottom = 720.0, 320.0, 44.0, 120.0, 12.0, 40.0
	x := func(v float64) float64 { return left + (w-left-right)*v }
	y := func(v float64) float64 { return top + (h-top-bottom)*(1-v) }
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %g %g" role="img" aria-label="precision by recall">`, w, h)
	for i := range 6 {
		v := float64(i) / 5
		fmt.Fprintf(&b, `<line class="grid" x1="%g" x2="%g" y1="%.1f" y2="%.1f"/><text x="%g" y="%.1f" text-anchor="end">%g</text><text x="%.1f" y="%g" text-anchor="middle">%g</text>`,
			left, w-right, y(v), y(v), left-8, y(v)+4, v, x(v), h-bottom+18, v)
	}
	fmt.Fprintf(&b, `<text x="%.1f" y="%g" text-anchor="middle">recall</text>`, x(0.5), h-4)
	for l, level := range p.levels {
		if p.curves[l].Queries == 0 {
			continue
		}
		var d strings.Builder
		for i, v := range p.curves[l].Precision() {
			fmt.Fprintf(&d, "%c%.1f %.1f", "ML"[min(i, 1)], x(float64(i)/(metric.CurvePoints-1)), y(v))
		}
		at := top + 16 + 18*float64(l)
		color := levelColor(l, len(p.levels))
		fmt.Fprintf(&b, `<path fill="none" stroke-width="2" stroke="%s" d="%s"/><rect x="%g" y="%.1f" width="10" height="10" fill="%s"/><text x="%g" y="%.1f">%s</text>`,
			color, d.String(), w-right+12, at-9, color, w-right+28, at, template.HTMLEscapeString(level))
	}
	b.WriteString("</svg>")
	return template.HTML(b.String())
}

// frame is the colour class of a picture that shares so many levels: 3 for all,
// 0 for none, 2 and 1 for the finer and the coarser half between.
func (p *evalPage) frame(shared int) int {
	switch n := len(p.levels); {
	case shared == n:
		return 3
	case shared == 0:
		return 0
	case 2*shared > n:
		return 2
	}
	return 1
}

func (p *evalPage) legend() []report.Legend {
	var list []report.Legend
	for shared := len(p.levels); shared >= 0; shared-- {
		text := "nothing in common"
		if shared > 0 {
			text = "same " + p.levels[len(p.levels)-shared]
		}
		if n := len(list); n > 0 && list[n-1].Level == p.frame(shared) {
			list[n-1].Text += ", " + strings.TrimPrefix(text, "same ")
		} else {
			list = append(list, report.Legend{Level: p.frame(shared), Text: text})
		}
	}
	return list
}

// cases shows rankings, where the data have images.
func (p *evalPage) cases(ctx context.Context, page *report.Page) error {
	query, ok := p.query.(train.Dataset)
	gallery, also := p.gallery.(train.Dataset)
	if !ok || !also {
		return nil
	}
	page.CasesNote = fmt.Sprintf("The query, then the first %d places of its ranking.", pagePlaces)
	page.Legend = p.legend()
	for _, q := range slices.Sorted(maps.Keys(p.shown)) {
		first, err := p.picture(ctx, query, q, "query")
		if err != nil {
			return err
		}
		row := report.Row{Name: query.ID(q), Pictures: []report.Picture{first}}
		for _, g := range p.shown[q] {
			shared := query.Labels(q).Shared(gallery.Labels(int(g)))
			picture, err := p.picture(ctx, gallery, int(g), fmt.Sprintf("l%d", p.frame(shared)))
			if err != nil {
				return err
			}
			picture.Alt = fmt.Sprintf("%s, %d of %d levels shared with the query", picture.Caption, shared, len(p.levels))
			row.Pictures = append(row.Pictures, picture)
		}
		page.Cases = append(page.Cases, report.Case{Rows: []report.Row{row}})
	}
	return nil
}

// picture is a thumbnail of an image.
func (p *evalPage) picture(ctx context.Context, d train.Dataset, i int, class string) (report.Picture, error) {
	data, err := d.Image(ctx, i)
	if err != nil {
		return report.Picture{}, err
	}
	m, err := new(img.Decoder).Decode(data)
	if err != nil {
		return report.Picture{}, fmt.Errorf("%s: %w", d.ID(i), err)
	}
	if min(m.W, m.H) > pageThumbnail {
		w, h := img.ShortSide(m.W, m.H, pageThumbnail)
		m = img.Resize(m, w, h, img.Bicubic)
	}
	var small bytes.Buffer
	if err := img.EncodeJPEG(&small, m, 85); err != nil {
		return report.Picture{}, err
	}
	name := p.className(0, d.Labels(i)[0])
	return report.Picture{Class: class, Alt: name, Caption: name, Source: report.JPEG(small.Bytes())}, nil
}

func (p *evalPage) className(level int, class int32) string {
	if names := p.classes(level); class >= 0 && int(class) < len(names) {
		return names[class]
	}
	return "–"
}

// drawMap lays out the embeddings of some queries, coloured by the coarsest level.
func (p *evalPage) drawMap(ctx context.Context, page *report.Page) error {
	const least = 8 // points that make a map
	if p.vectors.Rows < least {
		return nil
	}
	lib, err := blas.Default()
	if err != nil {
		return withCode(exitUsage, err)
	}
	p.j.say("drawing a map of %s", count(p.vectors.Rows, "embedding"))
	picture, err := cluster.TSNE{Seed: 1, MaxIter: 500, BLAS: lib}.Run(ctx, p.vectors)
	if err != nil {
		return err
	}
	coarsest := len(p.levels) - 1
	members := map[int32]int{}
	for _, q := range p.points {
		members[p.query.Labels(q)[coarsest]]++
	}
	byCount := slices.SortedFunc(maps.Keys(members), func(a, b int32) int { return cmp.Or(members[b]-members[a], cmp.Compare(a, b)) })
	page.MapNote = fmt.Sprintf("t-SNE of the embeddings of %d of %d queries, coloured by %s. Neighbours are kept; distances between groups mean little.", p.vectors.Rows, p.query.Len(), p.levels[coarsest])
	page.Map = p.scatter(picture.Y, byCount)
	return nil
}

// scatter draws the points and a legend of the largest classes.
func (p *evalPage) scatter(y cluster.Matrix, classes []int32) template.HTML {
	const size, legend, margin, lines = 480.0, 220.0, 10.0, 24
	low, high := [2]float32{y.Data[0], y.Data[1]}, [2]float32{y.Data[0], y.Data[1]}
	for i, v := range y.Data {
		low[i%2], high[i%2] = min(low[i%2], v), max(high[i%2], v)
	}
	at := func(i, axis int) float64 {
		return margin + (size-2*margin)*float64(y.Data[2*i+axis]-low[axis])/float64(max(high[axis]-low[axis], 1e-9))
	}
	coarsest := len(p.levels) - 1
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %g %g" role="img" aria-label="map of the embeddings">`, size+legend, size)
	for i, q := range p.points {
		path := p.query.Labels(q)
		color := levelColor(slices.Index(classes, path[coarsest]), len(classes))
		fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s" fill-opacity=".7"><title>%s: %s</title></circle>`,
			at(i, 0), at(i, 1), color, template.HTMLEscapeString(p.query.ID(q)), template.HTMLEscapeString(p.className(0, path[0])))
	}
	for i, c := range classes[:min(lines, len(classes))] {
		fmt.Fprintf(&b, `<rect x="%g" y="%d" width="10" height="10" fill="%s"/><text x="%g" y="%d">%s</text>`,
			size+10, 10+18*i, levelColor(i, len(classes)), size+26, 19+18*i, template.HTMLEscapeString(p.className(coarsest, c)))
	}
	b.WriteString("</svg>")
	return template.HTML(b.String())
}
