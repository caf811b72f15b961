package index

import (
	"context"

	"hgld/train/device"
	"hgld/train/evaluation"
	"hgld/train/retrieval"
)

// Hit is a neighbour of a query.
type Hit struct {
	Place   int      `json:"place"`             // from 1
	ID      string   `json:"id"`                // id of the row
	Path    string   `json:"path,omitempty"`    // path of the image, if the data set knows it and it is not the id
	Score   float32  `json:"score"`             // cosine of the angle between the two vectors
	Row     int      `json:"row"`               // row of the index
	Classes []string `json:"classes,omitempty"` // finest first
}

// Nearest returns the k rows with the greatest cosine. It is exact; equal scores are ordered by
// row. own is a row to leave out, or −1. On the host the vectors are read from their file. A
// value that is not finite is an error that names its row.
func (x *Index) Nearest(ctx context.Context, b device.Backend, query []float32, k, own int) (hits []Hit, err error) {
	gallery, err := retrieval.SideOf(b, x.vectors, true)
	if err != nil {
		return nil, err
	}
	defer gallery.Free(b)
	q, err := retrieval.SideOf(b, &retrieval.Matrix{Cols: len(query), Values: query}, true)
	if err != nil {
		return nil, err
	}
	defer q.Free(b)
	s := retrieval.Search{Query: q, Gallery: gallery, K: k}
	if own >= 0 {
		s.Self = []int32{int32(own)}
	}
	err = s.Run(ctx, b, func(_ int, rows []int32, scores []float32) error {
		for i, row := range rows {
			hits = append(hits, x.hit(i+1, int(row), scores[i]))
		}
		return nil
	})
	return hits, err
}

// hit describes a row.
func (x *Index) hit(place, row int, score float32) Hit {
	return Hit{Place: place, ID: x.IDs[row], Score: score, Row: row, Classes: x.ClassesOf(row)}
}

// embedImage returns the embedding of one image file. side is that of Info.
func embedImage(ctx context.Context, m *evaluation.Model, name string, data []byte, side int) ([]float32, error) {
	e, err := m.EmbedAll(ctx, single{name, data}, evaluation.EmbedOptions{Side: side})
	if err != nil {
		return nil, err
	}
	return e.Vectors.Float32()
}
