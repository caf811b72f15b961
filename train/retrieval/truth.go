package retrieval

import (
	"sync"

	"hgld/internal/crash"
	"hgld/train/device"
)

// Truth decides what the gallery items are to a query, instead of labels.
type Truth interface {
	// Shared writes, for each gallery row, the number of levels that it shares with the query: 0
	// for a negative, up to the number of levels; or device.AbsentLevel.
	Shared(dst []byte, query int)
}

// labelsBut decides by labels, except that items with the query's value of Side.Ignore are junk.
type labelsBut struct {
	e       *Evaluation
	gallery []int32 // labels, [G,L]
}

func newLabelsBut(e *Evaluation) *labelsBut {
	t := &labelsBut{e: e}
	for _, p := range e.Gallery.Labels {
		t.gallery = append(t.gallery, p...)
	}
	return t
}

// Shared implements Truth.
func (t *labelsBut) Shared(dst []byte, query int) {
	path, own := t.e.Query.Labels[query], int32(-1)
	if t.e.Query.Ignore != nil && t.e.Gallery.Ignore != nil {
		own = t.e.Query.Ignore[query]
	}
	levels := len(path)
	for row := range dst {
		if own >= 0 && t.e.Gallery.Ignore[row] == own {
			dst[row] = device.AbsentLevel
			continue
		}
		n, other := 0, t.gallery[row*levels:][:levels]
		for l := levels - 1; l >= 0 && path[l] == other[l] && path[l] >= 0; l-- {
			n++
		}
		dst[row] = byte(n)
	}
}

// truth returns what decides instead of the labels on the device, or nil if the labels do.
func (e *Evaluation) truth() Truth {
	switch {
	case e.Truth != nil:
		return e.Truth
	case e.Query.Ignore != nil && e.Gallery.Ignore != nil:
		return newLabelsBut(e)
	}
	return nil
}

// share fills the shared levels of queries [lo, hi) from the truth. Queries are dealt to the
// threads, and each thread writes its own rows.
func (s *sorter) share(shared device.Array, lo, hi int) {
	e, threads := s.m.e, len(s.m.readers)
	gallery := len(e.Gallery.Labels)
	data := s.bytes[:(hi-lo)*gallery]
	var group sync.WaitGroup
	for t := range threads {
		group.Go(func() {
			defer crash.Guard()
			for q := lo + t; q < hi; q += threads {
				row := data[(q-lo)*gallery:][:gallery]
				s.truth.Shared(row, q)
				if e.Self != nil && e.Self[q] >= 0 {
					row[e.Self[q]] = device.AbsentLevel
				}
			}
		})
	}
	group.Wait()
	s.m.b.Upload(shared, data)
}
