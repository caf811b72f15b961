package figure

import (
	"cmp"
	"context"
	"fmt"
	"image"
	"image/color"
	"slices"
	"strconv"

	"hgld/internal/report"
	"hgld/internal/texttable"
	"hgld/train/device"
)

// Side is one side of a retrieval, queries or gallery.
type Side struct {
	*Items
	IDs []string // by which the images are found
}

// Truth decides what the gallery items are to a query, instead of labels.
type Truth interface {
	// Shared writes, for each gallery row, the number of levels that it shares with the query: 0 for a negative,
	// or device.AbsentLevel for junk, which has no place in the ranking.
	Shared(dst []byte, query int)
}

// Retrieval is what Retrieved draws.
type Retrieval struct {
	// Queries are ranked on the Gallery.
	Queries, Gallery Side

	// Self is the gallery row of each query, which is left out of its ranking; −1: none. nil: none of all.
	Self   []int32
	Truth  Truth                    // decides what is right; nil: the labels do
	Levels int                      // the number of levels of Truth
	Names  func(level int) []string // returns the names of the classes of a level; nil: the items have no classes

	// Box returns the box of a query, which is cut out of its image; nil: the whole images are drawn.
	Box  func(id string) image.Rectangle
	Junk bool // draws junk, too: greyed, and without a place of its own
}

// Retrieved draws queries with the first items of their rankings, or fewer if the gallery is smaller. A frame
// tells how many levels an item shares with the query, and grey is junk.
func Retrieved(ctx context.Context, r *Retrieval, a *Album, queries []int, items int) (*Pictures, error) {
	p := &Pictures{Sheet: report.Sheet{Side: a.Side},
		Table: texttable.Table{Head: []string{"query", "place", "id", "score", "shared levels"}}}
	for _, q := range queries {
		id, box := r.Queries.IDs[q], image.Rectangle{}
		if r.Box != nil {
			box = r.Box(id)
		}
		own, err := a.tile(ctx, id, box)
		if err != nil {
			return nil, err
		}
		own.Frame, own.Caption = color.Black, "query"
		if r.Names != nil {
			own.Caption = nameOf(r.Names(0), r.Queries.Labels[q][0])
		}
		row := report.SheetRow{Title: id, Tiles: []report.Tile{own}}
		place := 0
		for _, found := range r.first(q, items) {
			t, err := a.tile(ctx, r.Gallery.IDs[found.row], image.Rectangle{})
			if err != nil {
				return nil, err
			}
			at, shared := "", "junk"
			if found.shared != device.AbsentLevel {
				place++
				at, shared = strconv.Itoa(place), strconv.Itoa(int(found.shared))
			}
			r.mark(&t, q, found, place)
			row.Tiles = append(row.Tiles, t)
			p.Table.Rows = append(p.Table.Rows, []string{id, at, r.Gallery.IDs[found.row], number(found.score), shared})
		}
		p.Sheet.Rows = append(p.Sheet.Rows, row)
	}
	return p, nil
}

// found is an item of a ranking.
type found struct {
	row    int // of the gallery
	score  float64
	shared byte // levels that it shares with the query, or device.AbsentLevel for junk
}

// first returns the first items of the ranking of a query.
func (r *Retrieval) first(q, items int) []found {
	shared := r.shared(q)
	var list []found
	for row, v := range r.Gallery.Vectors {
		if r.Self != nil && r.Self[q] == int32(row) || shared[row] == device.AbsentLevel && !r.Junk {
			continue
		}
		score := 0.0
		for i, x := range r.Queries.Vectors[q] {
			score += x * v[i]
		}
		list = append(list, found{row, score, shared[row]})
	}
	slices.SortStableFunc(list, func(a, b found) int { return cmp.Compare(b.score, a.score) })
	return list[:min(items, len(list))]
}

// shared returns the number of levels that each gallery item shares with a query, or device.AbsentLevel.
func (r *Retrieval) shared(q int) []byte {
	shared := make([]byte, len(r.Gallery.Labels))
	if r.Truth != nil {
		r.Truth.Shared(shared, q)
		return shared
	}
	for row, path := range r.Gallery.Labels {
		shared[row] = byte(r.Queries.Labels[q].Shared(path))
	}
	return shared
}

// mark gives the picture of an item its frame and its caption: the class, or the place with the judgement.
func (r *Retrieval) mark(t *report.Tile, q int, f found, place int) {
	levels := r.Levels
	if r.Truth == nil {
		levels = len(r.Queries.Labels[q])
	}
	switch {
	case f.shared == device.AbsentLevel:
		t.Caption, t.Frame, t.Picture = "junk", color.Gray{150}, faded(t.Picture)
		return
	case r.Names != nil:
		t.Caption = nameOf(r.Names(0), r.Gallery.Labels[f.row][0])
	case f.shared == 0:
		t.Caption = fmt.Sprintf("%d negative", place)
	case levels > 1:
		t.Caption = fmt.Sprintf("%d relevance %d", place, f.shared)
	default:
		t.Caption = fmt.Sprintf("%d positive", place)
	}
	t.Frame = report.FrameColours[report.Frame(int(f.shared), levels)]
}

// faded returns a picture in light grey.
func faded(m image.Image) image.Image {
	out := image.NewGray(m.Bounds())
	for y := m.Bounds().Min.Y; y < m.Bounds().Max.Y; y++ {
		for x := m.Bounds().Min.X; x < m.Bounds().Max.X; x++ {
			grey := color.GrayModel.Convert(m.At(x, y)).(color.Gray)
			out.SetGray(x, y, color.Gray{Y: 150 + grey.Y/3})
		}
	}
	return out
}
