package report

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hgld/internal/img"
	"hgld/internal/report"
	"hgld/train/index"
)

// Found is the page of a search. It shows the query and its neighbours as pictures and as a
// table.
type Found struct {
	// Path is the file to write.
	Path string

	// Query names the query; Index names what was searched.
	Query, Index string

	// Classes are the classes of the query, finest first; nil if they are not known.
	Classes []string

	// Picture returns the image of the query; nil if there is none.
	Picture func() ([]byte, error)

	// Levels names the levels of the neighbours, finest first.
	Levels []string
	Hits   []index.Hit // the neighbours, nearest first

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
	out := report.Page{Title: "Search", Subtitle: fmt.Sprintf("Items of %s nearest to %s, by cosine.", f.Index, f.Query),
		CasesTitle: "Neighbours"}
	if f.Image != nil {
		f.pictures(ctx, &out)
	}
	t := &report.Table{Title: "Places", Head: append([]string{"place", "score", "id"}, f.Levels...), Text: 2}
	located := slices.ContainsFunc(f.Hits, func(h index.Hit) bool { return h.Path != "" })
	if located {
		t.Head = append(t.Head, "path")
	}
	for _, h := range f.Hits {
		row := []report.Cell{{Text: fmt.Sprint(h.Place)}, {Text: fmt.Sprintf("%.4f", h.Score)}, {Text: h.ID}}
		for _, name := range h.Classes {
			row = append(row, report.Cell{Text: name})
		}
		if located {
			row = append(row, report.Cell{Text: h.Path})
		}
		t.Rows = append(t.Rows, row)
	}
	out.Tables = []*report.Table{t}
	return write(ctx, f.Path, &out)
}

// pictures adds the query and its neighbours.
func (f Found) pictures(ctx context.Context, out *report.Page) {
	row := report.Row{Name: fmt.Sprintf("first %d", len(f.Hits))}
	if f.Picture != nil {
		p := pictureOf("query", f.Query, f.Picture)
		p.Caption, p.Alt = "query", "query: "+f.Query
		row.Pictures = append(row.Pictures, p)
	}
	for _, h := range f.Hits {
		p := pictureOf(frameOf(f.Classes, h.Classes), h.ID, func() ([]byte, error) { return f.Image(ctx, h.ID) })
		p.Caption = fmt.Sprintf("%.3f %s", h.Score, strings.Join(h.Classes[:min(1, len(h.Classes))], ""))
		p.Alt = fmt.Sprintf("place %d: %s", h.Place, h.ID)
		row.Pictures = append(row.Pictures, p)
	}
	out.Cases = []report.Case{{Rows: []report.Row{row}}}
	if f.Classes != nil {
		out.Legend = legend(f.Levels)
	}
}

// thumbnail scales an image file down to a small picture.
func thumbnail(data []byte, class string) (report.Picture, error) {
	m, err := new(img.Decoder).Decode(data)
	if errors.Is(err, img.ErrNoHEIF) {
		m, err = decodeHEIF(data)
	}
	if err != nil {
		return report.Picture{}, err
	}
	if min(m.W, m.H) > pageThumbnail {
		w, h := img.ShortSide(m.W, m.H, pageThumbnail)
		m = img.Resize(m, w, h, img.Bicubic)
	}
	small, err := img.EncodeJPEG(m, 85, nil) // a profile may be larger than the picture
	if err != nil {
		return report.Picture{}, err
	}
	return report.Picture{Class: class, Source: report.JPEG(small)}, nil
}

// decodeHEIF decodes HEIC or AVIF where there is a decoder.
func decodeHEIF(data []byte) (*img.RGB, error) {
	d, err := img.DefaultHEIF()
	if err != nil {
		return nil, err
	}
	return (&img.Decoder{HEIF: d}).Decode(data)
}
