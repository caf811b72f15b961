package outputs

import (
	"context"
	"fmt"
	"math"
	"slices"

	"hgld/internal/report"
	"hgld/train/index"
)

// Found is the page of a search. It shows the query and its neighbours as pictures and as a
// table.
type Found struct {
	Path string // the file to write

	// Query names the query; Index names what was searched.
	Query, Index string

	// Classes are the classes of the query, finest first; nil if they are not known.
	Classes []string
	Picture func() ([]byte, error) // returns the image of the query; nil if there is none
	Levels  []string               // names the levels of the neighbours, finest first
	Hits    []index.Hit            // the neighbours, nearest first

	// Image returns the image of an id; nil if there are no images.
	Image func(ctx context.Context, id string) ([]byte, error)
}

// FoundIn returns the result of a query in an index. The caller adds the path of the page and the images.
func FoundIn(x *index.Index, r *index.Found) Found {
	f := Found{Query: r.Query, Levels: x.Levels, Hits: r.Hits}
	if r.Picture != nil {
		f.Picture = func() ([]byte, error) { return r.Picture, nil }
	}
	if r.Own >= 0 {
		f.Classes = x.ClassesOf(r.Own)
	}
	return f
}

// Write writes the page. An image that cannot be shown becomes an empty frame with the reason,
// and the error is an [UnshownError].
func (f Found) Write(ctx context.Context) error {
	out := report.Page{Title: "Search", Subtitle: fmt.Sprintf("Items of %s nearest to %s, by cosine.", f.Index, f.Query)}
	t := &report.Table{Title: "Places", Head: append([]string{"place", "score", "id"}, f.Levels...), Text: 2}
	located := slices.ContainsFunc(f.Hits, func(h index.Hit) bool { return h.Path != "" })
	if located {
		t.Head = append(t.Head, "path")
	}
	x := newExplored("score", f.Levels, f.Index)
	x.Note = fmt.Sprintf("The query, then the first %d places.", len(f.Hits))
	var picture imageOf
	if f.Picture != nil {
		picture = withoutFile(f.Picture)
	}
	query := report.Query{Value: []report.Score{report.Score(math.NaN())}, Found: [][]int{{}}, Shared: [][]int{{}},
		Item: x.add("", report.Item{ID: f.Query}, f.Classes, picture)}
	for _, h := range f.Hits {
		row := []report.Cell{{Text: fmt.Sprint(h.Place)}, {Text: fmt.Sprintf("%.4f", h.Score)}, {Text: h.ID}}
		for _, name := range h.Classes {
			row = append(row, report.Cell{Text: name})
		}
		if located {
			row = append(row, report.Cell{Text: h.Path})
		}
		t.Rows = append(t.Rows, row)
		var image imageOf
		if f.Image != nil {
			image = withoutFile(func() ([]byte, error) { return f.Image(ctx, h.ID) })
		}
		item := x.add(fmt.Sprint(h.Place), report.Item{ID: h.ID, Path: h.Path}, h.Classes, image)
		query.Found[0] = append(query.Found[0], item)
		query.Shared[0] = append(query.Shared[0], sharedBy(f.Classes, h.Classes))
	}
	x.Queries = []report.Query{query}
	out.Tables = []*report.Table{t}
	return x.write(ctx, f.Path, &out)
}
