package index

import (
	"context"
	"errors"
	"fmt"
	"io"

	"hgld/internal/texttable"
	"hgld/train/device"
	"hgld/train/evaluation"
	"hgld/train/input"
)

// Embedder is the model that embeds queries.
type Embedder struct {
	Model   *evaluation.Model // the model itself
	Run     string            // its run or checkpoint
	weights string
}

// NewEmbedder reads what identifies the weights of a model.
func NewEmbedder(m *evaluation.Model, run string) (*Embedder, error) {
	sum, err := m.WeightsSum()
	return &Embedder{m, run, sum}, err
}

// Query is a query of a search: an image, or a row of the index by its id.
type Query struct {
	Name  string                 // file of the image, or id of the row
	Image func() ([]byte, error) // nil: a row of the index
}

// Found is what a query retrieves.
type Found struct {
	Query   string // its name
	Picture []byte // image of a single query; nil: a row of the index
	Own     int    // row of the query in the index, or −1
	Hits    []Hit  // nearest first
}

// Search are queries in progress.
type Search struct {
	Index    *Index         // that is searched
	Embedder *Embedder      // nil: no query is an image
	Backend  device.Backend // that computes the scores
	K        int            // neighbours of each query
	Progress func(done int) // called after each query
	Failed   func(error)    // called for an image among several that cannot be read
}

// All answers queries. It returns what it found, and an [UnreadError] if some images
// among several could not be read.
func (s *Search) All(ctx context.Context, queries []Query) (all []Found, err error) {
	for i, q := range queries {
		f, err := s.one(ctx, q)
		var broken *ImageError
		switch {
		case errors.As(err, &broken) && len(queries) > 1:
			s.Failed(err)
		case err != nil:
			return nil, err
		default:
			if len(queries) > 1 {
				f.Picture = nil // only a page of one query shows it
			}
			all = append(all, f)
		}
		s.Progress(i + 1)
	}
	if left := len(queries) - len(all); left > 0 {
		err = &UnreadError{left, len(queries)}
	}
	return all, err
}

// UnreadError says that some images among several queries could not be read.
type UnreadError struct{ Unread, Of int }

// Error counts the images that cannot be read.
func (e *UnreadError) Error() string {
	return fmt.Sprintf("search: %d of %d images cannot be read", e.Unread, e.Of)
}

// DamageError says that the vectors of an index cannot be searched.
type DamageError struct {
	Path string // of the index
	Err  error  // what is wrong with its vectors
}

// Error names the file.
func (e *DamageError) Error() string { return fmt.Sprintf("%s: %v", e.Path, e.Err) }

// Unwrap returns what is wrong with the vectors.
func (e *DamageError) Unwrap() error { return e.Err }

// ImageError says that the image of a query cannot be read.
type ImageError struct {
	Name string // of the file
	Err  error  // what is wrong with it
}

// Error names the file.
func (e *ImageError) Error() string {
	return fmt.Sprintf("%s cannot be read as an image: %v", e.Name, e.Err)
}

// Unwrap returns what is wrong with the file.
func (e *ImageError) Unwrap() error { return e.Err }

func (s *Search) one(ctx context.Context, q Query) (f Found, err error) {
	f = Found{Query: q.Name, Own: -1}
	var v []float32
	if q.Image == nil {
		if f.Own, err = s.Index.Row(q.Name); err != nil {
			return f, err
		}
		v, err = s.Index.Vector(f.Own)
	} else {
		v, err = s.embed(ctx, q, &f)
	}
	if err != nil {
		return f, err
	}
	if f.Hits, err = s.Index.Nearest(ctx, s.Backend, v, s.K, f.Own); err != nil {
		return f, &DamageError{s.Index.Path, err}
	}
	return f, nil
}

func (s *Search) embed(ctx context.Context, q Query, f *Found) (v []float32, err error) {
	if f.Picture, err = q.Image(); err != nil {
		return nil, &ImageError{q.Name, err}
	}
	side := 0
	if s.Index.Info != nil {
		side = s.Index.Info.Side
	}
	if v, err = embedImage(ctx, s.Embedder.Model, q.Name, f.Picture, side); err != nil {
		var broken *input.ImageError
		if errors.As(err, &broken) {
			err = &ImageError{q.Name, broken.Err}
		}
		return nil, err
	}
	if err := s.Index.Fits(s.Embedder.weights, s.Embedder.Run, len(v)); err != nil {
		return nil, err
	}
	return v, nil
}

// Locate sets the paths of the hits' images, if d knows them. A hit whose id is not in d keeps an
// empty path.
func Locate(ctx context.Context, all []Found, d input.Dataset) error {
	at := map[string][]*Hit{}
	for _, f := range all {
		for i := range f.Hits {
			h := &f.Hits[i]
			at[h.ID] = append(at[h.ID], h)
		}
	}
	for row := range d.Len() {
		hits := at[d.ID(row)]
		if hits == nil {
			continue
		}
		path, err := input.Path(ctx, d, row)
		if err != nil {
			return fmt.Errorf("index: %w", err)
		}
		for _, h := range hits {
			h.Path = path
		}
	}
	return nil
}

// WriteTable writes the neighbours of queries as a table; of several, each row begins with its query.
func (x *Index) WriteTable(w io.Writer, format string, all []Found, several bool) error {
	whole := texttable.Table{}
	for _, f := range all {
		t := x.Table(f.Hits)
		if !several {
			return t.Write(w, format)
		}
		whole.Head = append([]string{"query"}, t.Head...)
		for _, row := range t.Rows {
			whole.Rows = append(whole.Rows, append([]string{f.Query}, row...))
		}
	}
	return whole.Write(w, format)
}

// Document is the JSON of queries: an object, or of several a list.
func (x *Index) Document(name string, all []Found, several bool) any {
	var list []any
	for _, f := range all {
		list = append(list, map[string]any{"index": name, "query": f.Query, "levels": x.Levels, "neighbours": f.Hits})
	}
	if !several {
		return list[0]
	}
	return list
}
