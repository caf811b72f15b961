package qrels

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"hgld/train/device"
)

// Truth implements train.Truth from judgements, for the rows of a query and a gallery file.
type Truth struct {
	judged [][]judgement // by query

	// Unjudged counts the queries without a judgement. They have no positives.
	Unjudged int

	// Missing counts the positives that are not in the gallery. They cannot be found and do not
	// count as positives.
	Missing int
}

type judgement struct {
	row    int32
	shared byte
}

// Bind looks up the judged items in the gallery by id. It fails if rows have no ids, if the
// gallery has an id twice, or if the gallery has no positive of any query.
func (q *Qrels) Bind(query, gallery []string) (*Truth, error) {
	if query == nil || gallery == nil {
		return nil, errors.New("judgements name items by id, but the rows have no column id")
	}
	row, err := Names(gallery)
	if err != nil {
		return nil, fmt.Errorf("gallery: %w", err)
	}
	name := Name
	if !q.trec {
		name = func(id string) string { return id }
		for i, id := range gallery {
			row[id] = i
		}
	}
	if q.stems {
		stems(row, gallery)
	}
	t := &Truth{judged: make([][]judgement, len(query))}
	found := 0
	for i, id := range query {
		items := q.queries[name(id)]
		if items == nil {
			items = q.queries[id]
		}
		if items == nil && q.stems {
			items = q.queries[Stem(id)]
		}
		if items == nil {
			t.Unjudged++
		}
		for item, relevance := range items {
			at, known := row[item]
			switch {
			case known && at == ambiguous:
				return nil, fmt.Errorf("gallery: several images are called %.80q; want one", item)
			case !known && relevance > 0:
				t.Missing++
			case known && relevance == junk:
				t.judged[i] = append(t.judged[i], judgement{int32(at), device.AbsentLevel})
			case known && relevance > 0:
				found++
				t.judged[i] = append(t.judged[i], judgement{int32(at), byte(relevance)})
			}
		}
	}
	if found == 0 {
		return nil, fmt.Errorf("no positive of the %d queries is in the gallery: the judgements use other ids",
			len(query))
	}
	return t, nil
}

// Len returns the number of queries.
func (t *Truth) Len() int { return len(t.judged) }

// Notes say what the judgements of a file leave out of so many queries.
func (t *Truth) Notes(file string, queries int) (notes []string) {
	if t.Unjudged > 0 {
		notes = append(notes, fmt.Sprintf("%d of %d queries have no judgement in %s; no metric counts them", t.Unjudged,
			queries, file))
	}
	if t.Missing > 0 {
		notes = append(notes, fmt.Sprintf("warning: %d positive items of %s are not in the gallery; no metric counts them "+
			"as missed", t.Missing, file))
	}
	return notes
}

// Shared implements train.Truth. An item of relevance r shares r levels.
func (t *Truth) Shared(dst []byte, query int) {
	clear(dst)
	for _, j := range t.judged[query] {
		dst[j.row] = j.shared
	}
}

// Hash writes the judgements in the order of their rows.
func (t *Truth) Hash(w io.Writer) {
	for _, list := range t.judged {
		list = slices.Clone(list)
		slices.SortFunc(list, func(a, b judgement) int { return cmp.Compare(a.row, b.row) })
		fmt.Fprintln(w, list)
	}
}
