package outputs

import (
	"cmp"
	"context"
	"fmt"
	"image"
	"slices"

	"hgld/internal/report"
	"hgld/train/input"
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
	Find func(ctx context.Context, id string) ([]byte, error) // returns the encoded image of an id

	// BoxOf returns the part of the image of an id that counts, in pixels; empty: all of it. nil: all of every image.
	BoxOf func(id string) image.Rectangle
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

// worst returns the n queries with the lowest values, ascending, equal values by query, and those without a value last.
func worst(values []retrieval.Number, n int) []int {
	list := spread(len(values), len(values))
	slices.SortStableFunc(list, func(a, b int) int {
		return cmp.Compare(orLast(float64(values[a])), orLast(float64(values[b])))
	})
	return list[:min(n, len(list))]
}

// explore adds the queries, worst first, with what they retrieve, and the map.
func (p *page) explore(ctx context.Context, r *retrieval.Result) (*explored, error) {
	key := decisive(r)
	values := r.PerQuery.Values[key][:len(p.found)]
	x := newExplored(key, p.Levels, "result")
	x.Note = fmt.Sprintf("Each query with its %s in percent, then the first %d places of its ranking.", key, p.Places)
	if p.Classes == nil {
		x.judge()
	}
	if rows, ok := p.Query.(ImagedRows); ok && rows.BoxOf != nil {
		x.Note += " The frame within the picture of a query is its box."
	}
	order := worst(values, pageQueries)
	x.Left = len(values) - len(order)
	var truth []byte
	if p.Truth != nil {
		truth = make([]byte, p.Gallery.Len())
	}
	queries := make([]report.Query, len(values))
	for _, q := range order {
		own := p.item(ctx, x, "query", p.Query, q)
		if truth != nil {
			p.Truth.Shared(truth, q)
		}
		found, shared := []int{}, []int{}
		for _, g := range p.found[q] {
			if g < 0 {
				break
			}
			side, n := "gallery", p.Query.Labels(q).Shared(p.Gallery.Labels(int(g)))
			if r.Self {
				side = "query"
			}
			if truth != nil {
				n = int(truth[g])
			}
			found, shared = append(found, p.item(ctx, x, side, p.Gallery, int(g))), append(shared, n)
		}
		queries[q] = report.Query{Item: own, Value: []report.Score{report.Score(values[q])}, Found: [][]int{found},
			Shared: [][]int{shared}}
	}
	at := make([]int, len(values)) // on the page
	for q := range queries {
		at[q] = -1
		if queries[q].Value != nil {
			at[q] = len(x.Queries)
			x.Queries = append(x.Queries, queries[q])
		}
	}
	return x, p.drawMap(ctx, x, at)
}

// item adds an item of a side of the evaluation.
func (p *page) item(ctx context.Context, x *explored, side string, of Items, i int) int {
	item := report.Item{ID: of.ID(i)}
	d, files := of.(input.Dataset)
	if files {
		item.Split = input.SplitOf(d, i)
	}
	if rows, ok := of.(ImagedRows); ok && rows.BoxOf != nil {
		if box := rows.BoxOf(item.ID); !box.Empty() {
			item.Box = &[4]int{box.Min.X, box.Min.Y, box.Max.X, box.Max.Y}
			side += " box " // another picture than that of the same image in the gallery
		}
	}
	var picture imageOf
	if pictured, ok := of.(Pictured); ok {
		picture = func(item *report.Item) (data []byte, err error) {
			if files {
				item.Path, err = input.Path(ctx, d, i)
			}
			if err == nil {
				data, err = pictured.Image(ctx, i)
			}
			return data, err
		}
	}
	names := make([]string, len(p.Levels))
	for l, class := range of.Labels(i) {
		if class >= 0 {
			names[l] = p.className(l, class)
		}
	}
	return x.add(fmt.Sprint(side, i), item, names, picture)
}
