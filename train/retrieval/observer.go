package retrieval

import (
	"encoding/binary"
	"math"
	"sync"

	"hgld/internal/crash"
	"hgld/train/device"
	"hgld/train/metric"
)

// Observer collects what an evaluation shows beside its figures, for reports and other tools. Its
// functions are called one at a time, and their slices are reused. It changes no figure.
type Observer struct {
	// Places is the number of first places that Ranking receives for each query: gallery rows and
	// their scores, descending. There are fewer if the gallery is smaller.
	Places  int
	Ranking func(query int, rows []int32, scores []float32) error // nil: not called

	// Vector receives the embeddings of Queries, which must ascend.
	Queries []int
	Vector  func(query int, v []float32) error // nil: not called

	// Curves are filled, one for each level and a last one for all levels together
	// (metric.Curve.AddHierarchical). It may be nil.
	Curves []metric.Curve
}

// presenter shows a block of queries. Like ranker, it runs on the device's thread.
type presenter struct {
	m            *ranker
	observer     *Observer
	places       int
	order, first device.Array // I32, U8 [block,places], on a device that sorts
	next         int          // index into observer.Queries
	shown        []shown      // on a host that counts
}

// shown holds the first places of one query.
type shown struct {
	rows   []int32
	scores []float32
}

func newPresenter(m *ranker, observer *Observer) *presenter {
	l := &presenter{m: m, observer: observer, places: min(observer.Places, len(m.e.Gallery.Labels))}
	if l.places > 0 && m.sorted != nil {
		l.order = device.New(m.b, device.I32, m.block, l.places)
		l.first = device.New(m.b, device.U8, m.block, l.places)
	}
	return l
}

func (l *presenter) free() {
	if !l.order.Absent() {
		l.m.b.Free(l.order.Buf)
		l.m.b.Free(l.first.Buf)
	}
}

// show passes on what the observer asks for of queries [lo, hi), which ranker has just ranked.
func (l *presenter) show(lo, hi int) error {
	if err := l.rankings(lo, hi); err != nil {
		return err
	}
	_, cols := l.m.e.Query.shape()
	row := make([]byte, perElement*cols)
	for ; l.next < len(l.observer.Queries) && l.observer.Queries[l.next] < hi; l.next++ {
		q := l.observer.Queries[l.next]
		if err := l.m.queries.row(row, q); err != nil {
			return err
		}
		if err := l.observer.Vector(q, floats(row)); err != nil {
			return err
		}
	}
	return nil
}

func (l *presenter) rankings(lo, hi int) error {
	switch {
	case l.places == 0 || l.observer.Ranking == nil:
		return nil
	case l.m.sorted == nil:
		return l.counted(lo, hi)
	}
	return l.sorted(lo, hi)
}

// counted finds the first places of a few queries at a time on all threads, and then passes them
// on one by one.
func (l *presenter) counted(lo, hi int) error {
	const few = 8 // queries per thread
	threads := len(l.m.readers)
	for len(l.shown) < few*threads {
		l.shown = append(l.shown, shown{})
	}
	for from := lo; from < hi; from += len(l.shown) {
		list := l.shown[:min(len(l.shown), hi-from)]
		var group sync.WaitGroup
		for t, r := range l.m.readers {
			group.Go(func() {
				defer crash.Guard()
				for i := t; i < len(list); i += threads {
					s := &list[i]
					s.rows, s.scores = r.nearest(s.rows[:0], s.scores[:0], from+i, from+i-lo, l.places)
				}
			})
		}
		group.Wait()
		for i, s := range list {
			if err := l.observer.Ranking(from+i, s.rows, s.scores); err != nil {
				return err
			}
		}
	}
	return nil
}

// sorted passes on rankings that the device sorts.
func (l *presenter) sorted(lo, hi int) error {
	n, b := hi-lo, l.m.b
	scores, shared := l.m.scores.RowRange(0, n), l.m.sorted.shared.RowRange(0, n)
	b.Ranked(l.first.RowRange(0, n), l.order.RowRange(0, n), scores, shared)
	order := make([]byte, 4*n*l.places)
	if err := b.Wait(b.Download(order, l.order.RowRange(0, n))); err != nil {
		return err
	}
	row := make([]byte, 4*scores.Cols())
	rows, values := make([]int32, 0, l.places), make([]float32, 0, l.places)
	for q := range n {
		if err := b.Wait(b.Download(row, scores.RowRange(q, q+1))); err != nil {
			return err
		}
		rows, values = rows[:0], values[:0]
		for k := range l.places {
			at := int32(binary.LittleEndian.Uint32(order[4*(q*l.places+k):]))
			if at < 0 {
				break
			}
			rows = append(rows, at)
			values = append(values, math.Float32frombits(binary.LittleEndian.Uint32(row[4*at:])))
		}
		if err := l.observer.Ranking(lo+q, rows, values); err != nil {
			return err
		}
	}
	return nil
}

// floats decodes float32 values.
func floats(data []byte) []float32 {
	v := make([]float32, len(data)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return v
}
