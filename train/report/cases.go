package report

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"hgld/internal/report"
	"hgld/train/retrieval"
)

// Pictured is Items with images. An input.Dataset implements it.
type Pictured interface {
	Items

	// Image returns the encoded image of an item.
	Image(ctx context.Context, i int) ([]byte, error)
}

// ImagedRows are vectors from files whose images are found by their ids.
type ImagedRows struct {
	Rows

	// Find returns the encoded image of an id.
	Find func(ctx context.Context, id string) ([]byte, error)
}

// Image implements Pictured.
func (r ImagedRows) Image(ctx context.Context, i int) ([]byte, error) { return r.Find(ctx, r.ID(i)) }

// decisive returns the metric that ranks queries: H-AP, or the finest AP, or the first of the
// result.
func decisive(r *retrieval.Result) string {
	for _, key := range []string{"H-AP", "AP_level0", "mAP@R_level0"} {
		if r.PerQuery.Values[key] != nil {
			return key
		}
	}
	return r.Values[0].Key
}

// worst returns the queries with the lowest values, ascending, equal values by query.
func worst(values []retrieval.Number, n int) []int {
	list := defined(values)
	slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	return list[:min(n, len(list))]
}

// defined returns the queries with a value.
func defined(values []retrieval.Number) (list []int) {
	for q, v := range values {
		if !math.IsNaN(float64(v)) {
			list = append(list, q)
		}
	}
	return list
}

// drawn returns n queries, drawn by seed among those that have a value and are not in but, in
// their order.
func drawn(values []retrieval.Number, n int, seed uint64, but []int) []int {
	list := slices.DeleteFunc(defined(values), func(q int) bool { return slices.Contains(but, q) })
	random := rand.New(rand.NewPCG(seed, 0))
	random.Shuffle(len(list), func(a, b int) { list[a], list[b] = list[b], list[a] })
	list = list[:min(n, len(list))]
	slices.Sort(list)
	return list
}

// cases shows the worst queries and some random others, as pictures, or as a table if there are
// no images.
func (p *page) cases(ctx context.Context, out *report.Page, r *retrieval.Result) error {
	key := decisive(r)
	values := r.PerQuery.Values[key][:len(p.found)]
	low := worst(values, pageCases)
	rest := drawn(values, pageCases, p.Seed, low)
	query, ok := p.Query.(Pictured)
	gallery, also := p.Gallery.(Pictured)
	if !ok || !also {
		out.Tables = append(out.Tables, p.queryTable(key, values, append(low, rest...)))
		return nil
	}
	out.CasesNote = fmt.Sprintf("The query with its %s in percent, then the first %d places of its ranking.", key,
		p.Places)
	out.Legend = legend(p.Levels)
	for _, group := range []struct {
		title   string
		queries []int
	}{{fmt.Sprintf("Lowest %s", key), low}, {fmt.Sprintf("Random others, seed %d", p.Seed), rest}} {
		for i, q := range group.queries {
			row := report.Row{Name: fmt.Sprintf("%s · %s", percent(values[q]), query.ID(q))}
			row.Pictures = p.ranking(ctx, query, gallery, q)
			c := report.Case{Rows: []report.Row{row}}
			if i == 0 {
				c.Title = group.title
			}
			out.Cases = append(out.Cases, c)
		}
	}
	return ctx.Err()
}

// ranking returns the pictures of a query and of its first places.
func (p *page) ranking(ctx context.Context, query, gallery Pictured, q int) []report.Picture {
	list := []report.Picture{p.picture(ctx, query, q, "query")}
	var truth []byte
	if p.Truth != nil {
		truth = make([]byte, gallery.Len())
		p.Truth.Shared(truth, q)
	}
	for _, g := range p.found[q] {
		if g < 0 {
			break
		}
		shared := query.Labels(q).Shared(gallery.Labels(int(g)))
		if truth != nil {
			shared = int(truth[g])
		}
		picture := p.picture(ctx, gallery, int(g), fmt.Sprintf("l%d", report.Frame(shared, len(p.Levels))))
		picture.Alt = fmt.Sprintf("%s, %d of %d levels shared with the query", picture.Caption, shared, len(p.Levels))
		list = append(list, picture)
	}
	return list
}

// picture makes a thumbnail of an item. An image that cannot be shown leaves an empty frame.
func (p *page) picture(ctx context.Context, d Pictured, i int, class string) report.Picture {
	small := pictureOf(class, d.ID(i), func() ([]byte, error) { return d.Image(ctx, i) })
	name := p.className(0, d.Labels(i)[0])
	small.Alt, small.Caption = name, name
	return small
}

// pictureOf makes a thumbnail of an image, or an empty frame with the reason.
func pictureOf(class, id string, image func() ([]byte, error)) report.Picture {
	data, err := image()
	if err == nil {
		var small report.Picture
		if small, err = thumbnail(data, class); err == nil {
			return small
		}
	}
	return report.Picture{Class: class, Missing: fmt.Sprintf("%s: %v", id, err)}
}

// queryTable lists queries with the first item that they find.
func (p *page) queryTable(key string, values []retrieval.Number, queries []int) *report.Table {
	t := &report.Table{Title: "Queries", Sort: true, Text: 2,
		Head: []string{"query", key, "class", "first found", "its class"},
		Note: fmt.Sprintf("Queries with the lowest %s, in percent, and random others, seed %d.", key, p.Seed)}
	for _, q := range queries {
		row := []report.Cell{{Text: p.Query.ID(q)}, {Text: percent(values[q])},
			{Text: p.className(0, p.Query.Labels(q)[0])}, {Text: "–"}, {Text: "–"}}
		if g := int(p.found[q][0]); g >= 0 {
			row[3].Text, row[4].Text = p.Gallery.ID(g), p.className(0, p.Gallery.Labels(g)[0])
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
