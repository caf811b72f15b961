package figure

import (
	"context"
	"fmt"
	"image"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"hgld/internal/img"
	"hgld/internal/report"
	"hgld/internal/texttable"
	"hgld/labels"
	"hgld/train/sample"
)

// Pictures is a sheet of images with the table of what it shows.
type Pictures struct {
	Sheet report.Sheet    // the picture
	Table texttable.Table // a row for each image
}

// Draw writes the sheet in the format of path.
func (p *Pictures) Draw(w io.Writer, path string) error {
	return p.Sheet.Write(w, strings.TrimPrefix(filepath.Ext(path), "."))
}

// Points returns the table of what the sheet shows.
func (p *Pictures) Points() *texttable.Table { return &p.Table }

// Album finds the images of items.
type Album struct {
	Image func(ctx context.Context, id string) ([]byte, error) // returns the encoded image of an id
	Side  float64                                              // longer side of a picture on the sheet, in millimetres

	decoder *img.Decoder // nil until the first image
}

// pixelsPerMillimetre is the resolution of pictures: 300 dots an inch.
const pixelsPerMillimetre = 300 / 25.4

// tile returns the part of an image within a box; an empty box stands for all of it.
func (a *Album) tile(ctx context.Context, id string, box image.Rectangle) (report.Tile, error) {
	data, err := a.Image(ctx, id)
	if err != nil {
		return report.Tile{}, err
	}
	return a.decode(id, data, box)
}

// decode decodes an image, cuts it to a box, and scales it down.
func (a *Album) decode(id string, data []byte, box image.Rectangle) (report.Tile, error) {
	if a.decoder == nil {
		d, err := img.RepeatableDecoder()
		if err != nil {
			return report.Tile{}, err
		}
		a.decoder = d
	}
	m, err := a.decoder.Decode(data)
	if err != nil {
		return report.Tile{}, fmt.Errorf("%s: %w", id, err)
	}
	if !box.Empty() {
		within := box.Intersect(m.Bounds())
		if within.Empty() {
			return report.Tile{}, fmt.Errorf("%s: its box %v lies outside its %d×%d pixels", id, box, m.W, m.H)
		}
		m = img.Crop(m, within)
	}
	if longest, most := max(m.W, m.H), int(a.Side*pixelsPerMillimetre); longest > most {
		m = img.Resize(m, max(m.W*most/longest, 1), max(m.H*most/longest, 1), img.Bicubic)
	}
	out := image.NewNRGBA(m.Bounds())
	for i := range m.W * m.H {
		copy(out.Pix[4*i:], m.Pix[3*i:3*i+3])
		out.Pix[4*i+3] = 255
	}
	return report.Tile{Picture: out}, nil
}

// Source is a set of labelled images.
type Source interface {
	// Len returns the number of items.
	Len() int
	// Labels returns the classes of item i, finest first.
	Labels(i int) labels.Path
	// Image returns the encoded image of item i.
	Image(ctx context.Context, i int) ([]byte, error)
	// ID names item i.
	ID(i int) string
}

// Examples draws some images of each class of a level, a row a class: figure 5 of "Optimization of Rank
// Losses". names are the classes to draw and all are the names of the level. seed draws the images.
func Examples(ctx context.Context, d Source, level int, all, names []string, each int, side float64,
	seed uint64) (*Pictures, error) {
	rows := map[int32][]int{}
	for i := range d.Len() {
		class := d.Labels(i)[level]
		rows[class] = append(rows[class], i)
	}
	p := &Pictures{Sheet: report.Sheet{Side: side}, Table: texttable.Table{Head: []string{"class", "id"}}}
	random := sample.NewRandom(seed)
	a := &Album{Side: side}
	for _, name := range names {
		of := rows[int32(slices.Index(all, name))]
		row := report.SheetRow{Title: fmt.Sprintf("%s (%d)", name, len(of))}
		for _, at := range random.Choose(len(of), min(each, len(of))) {
			data, err := d.Image(ctx, of[at])
			if err != nil {
				return nil, err
			}
			t, err := a.decode(d.ID(of[at]), data, image.Rectangle{})
			if err != nil {
				return nil, err
			}
			row.Tiles = append(row.Tiles, t)
			p.Table.Rows = append(p.Table.Rows, []string{name, d.ID(of[at])})
		}
		p.Sheet.Rows = append(p.Sheet.Rows, row)
	}
	return p, nil
}
