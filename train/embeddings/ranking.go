package embeddings

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"hgld/internal/csvfile"
	"hgld/internal/regular"
	"hgld/internal/tensorfile"
	"hgld/train/qrels"
	"hgld/train/retrieval"
)

// LoadRankings reads the labels of the input, whose vectors are not needed, and another program's
// rankings of its queries:
//
//	.npy    integers [queries, places]: rows of the gallery, as faiss' search returns them;
//	        −1 ends a ranking
//	other   a TREC run: query, an ignored word, item, rank, score and a name on each line.
//	        Items are ordered by score, then by line. Ids are those of [qrels.Name], or as they are.
func (in *Input) LoadRankings(path string) (*Evaluation, []retrieval.Ranking, error) {
	e := &Evaluation{Classes: in.classes()}
	files := []string{in.Labels}
	if in.GalleryLabels != "" {
		files = append(files, in.GalleryLabels)
	}
	if err := in.verify(append([]string{path}, files...)); err != nil {
		return nil, nil, err
	}
	all, err := e.Classes.ReadAll(files...)
	if err != nil {
		return nil, nil, err
	}
	query := &side{path: in.Labels, labelFile: in.Labels, rows: all[0].ofPart()}
	gallery := query
	switch {
	case len(all) > 1:
		gallery = &side{path: in.GalleryLabels, labelFile: in.GalleryLabels, rows: all[1].ofPart()}
	case query.rows.IsQuery != nil || query.rows.IsGallery != nil:
		if query, gallery, err = in.split(query); err != nil {
			return nil, nil, err
		}
	default:
		e.Same = true
	}
	e.Levels = e.Classes.Levels()
	if err := cmp.Or(e.Classes.noLevel, in.sharing(e, query, gallery)); err != nil {
		return nil, nil, err
	}
	e.Query, e.Gallery = query.labelled(), gallery.labelled()
	if err := in.findSelf(e, query, gallery); err != nil {
		return nil, nil, err
	}
	if in.Qrels != "" {
		if err := in.judge(e); err != nil {
			return nil, nil, err
		}
	}
	list, err := readRankings(path, e)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return e, list, nil
}

// ofPart returns the rows of the part that is used.
func (r *Rows) ofPart() *Rows {
	if r.Part == nil {
		return r
	}
	return r.Select(r.Part)
}

// labelled returns a side without its vectors.
func (s *side) labelled() retrieval.Side {
	return retrieval.Side{Labels: s.rows.Labels, IDs: s.rows.IDs, Ignore: s.rows.Ignore}
}

func readRankings(path string, e *Evaluation) ([]retrieval.Ranking, error) {
	if filepath.Ext(path) == ".npy" {
		return readIndices(path, len(e.Query.Labels))
	}
	f, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readRun(csvfile.Text(f), e.Query.IDs, e.Gallery.IDs)
}

func readIndices(path string, queries int) ([]retrieval.Ranking, error) {
	a, err := tensorfile.OpenNPY(path)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	t, err := a.Tensor()
	if err != nil {
		return nil, err
	}
	values, err := t.Int64()
	if err != nil || len(a.Shape) != 2 {
		return nil, fmt.Errorf("%s%v, want integers [queries, places]", a.DType, a.Shape)
	}
	rows, places := a.Rows()
	if rows != queries {
		return nil, fmt.Errorf("%d rankings for %d queries, want one for each", rows, queries)
	}
	list := make([]retrieval.Ranking, rows)
	for q := range list {
		for _, row := range values[q*places:][:places] {
			if row == -1 {
				break
			}
			if row < 0 || row > 1<<31-1 {
				return nil, fmt.Errorf("query %d: row %d is not in the gallery", q, row)
			}
			list[q].Rows = append(list[q].Rows, int32(row))
		}
	}
	return list, nil
}

// place is a line of a run.
type place struct {
	row   int32
	score float64
}

func readRun(in io.Reader, query, gallery []string) ([]retrieval.Ranking, error) {
	if query == nil || gallery == nil {
		return nil, fmt.Errorf("a run names items by id, but the labels have no column id")
	}
	queryAt, err := qrels.Names(query)
	if err != nil {
		return nil, fmt.Errorf("queries: %w", err)
	}
	galleryAt, err := qrels.Names(gallery)
	if err != nil {
		return nil, fmt.Errorf("gallery: %w", err)
	}
	places := make([][]place, len(query))
	s := bufio.NewScanner(in)
	for line := 1; s.Scan(); line++ {
		fields := strings.Fields(s.Text())
		if len(fields) == 0 {
			continue
		}
		if len(fields) != 6 {
			return nil, fmt.Errorf("line %d has %d columns, want query, Q0, item, rank, score and a name", line, len(fields))
		}
		q, known := queryAt[fields[0]]
		if !known {
			return nil, fmt.Errorf("line %d: no query has the id %.80q", line, fields[0])
		}
		row, known := galleryAt[fields[2]]
		if !known {
			return nil, fmt.Errorf("line %d: no item of the gallery has the id %.80q", line, fields[2])
		}
		score, err := strconv.ParseFloat(fields[4], 64)
		if err != nil || score != score {
			return nil, fmt.Errorf("line %d: the score is %.80q, want a number", line, fields[4])
		}
		places[q] = append(places[q], place{int32(row), score})
	}
	list := make([]retrieval.Ranking, len(query))
	ranked := make([]int, len(gallery)) // number of the query, from 1, that ranked an item last
	for q, of := range places {
		slices.SortStableFunc(of, func(a, b place) int { return cmp.Compare(b.score, a.score) })
		for _, p := range of {
			if ranked[p.row] == q+1 {
				return nil, fmt.Errorf("the query %.80q ranks the item %.80q twice", query[q], gallery[p.row])
			}
			ranked[p.row] = q + 1
			list[q].Rows, list[q].Scores = append(list[q].Rows, p.row), append(list[q].Scores, p.score)
		}
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("a line is too long for a run: %w", err)
	}
	return list, nil
}
