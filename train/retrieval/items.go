package retrieval

import (
	"sync"
	"time"

	"hgld/internal/crash"
	"hgld/train/metric"
	"hgld/train/rank"
)

// reader makes the rankings of single queries. Each thread has its own.
type itemReader struct {
	m      *ranker
	items  []metric.Item // on a device that sorts
	ranker rank.Ranker
	marks  *relevance // of what is shown
	views  []reading  // of what is measured
	timing Timing     // times of the thread
}

// reading is what a thread needs for a view.
type reading struct {
	list  *metric.List
	marks *relevance
}

// read returns the items of query q in a view, which is number inBlock of the block. They are valid
// until the next call.
func (r *itemReader) read(of *reading, q, inBlock int) (items []metric.Item, n int) {
	if r.m.sorted != nil {
		gallery := len(r.m.e.Gallery.Labels)
		r.items, n = metric.Items(r.items[:0], r.m.sorted.bytes[inBlock*gallery:][:gallery])
		return r.items, n
	}
	of.marks.set(q)
	return r.ranker.Items(r.m.row(inBlock), of.marks.levels, of.marks.positives, of.marks.absent)
}

// nearest appends the first places of query q.
func (r *itemReader) nearest(rows []int32, scores []float32, q, inBlock, places int) ([]int32, []float32) {
	r.marks.set(q)
	return r.ranker.Nearest(rows, scores, r.m.row(inBlock), r.marks.levels, places)
}

// measure writes the values of queries [lo, hi) into their columns, one view after the other.
func (m *ranker) measure(lo, hi int, columns [][]float64, ties *tieColumns, curves []metric.Curve) error {
	for v := range m.views {
		if len(m.views) > 1 && m.sorted != nil {
			if err := m.sorted.turn(m.views[v].truth, m.scores, lo, hi); err != nil {
				return err
			}
		}
		m.measureView(v, lo, hi, columns, ties, curves)
	}
	m.addTimes()
	return nil
}

// measureView measures one view. Queries are dealt to the threads, and each thread writes only its own
// values, so the number of threads does not change the result.
func (m *ranker) measureView(at, lo, hi int, columns [][]float64, ties *tieColumns, curves []metric.Curve) {
	v := &m.views[at]
	parts := make([][]metric.Curve, len(m.readers)) // curves of each thread
	var threads sync.WaitGroup
	for t, r := range m.readers {
		parts[t] = make([]metric.Curve, len(curves))
		threads.Go(func() {
			defer crash.Guard()
			values, of := make([]float64, len(v.columns)), &r.views[at]
			bounds := ties.reader(v.levels, v.columns)
			for q := lo + t; q < hi; q += len(m.readers) {
				start := time.Now()
				items, n := r.read(of, q, q-lo)
				ranked := time.Now()
				of.list.ResetItems(items, n)
				v.set.Measure(values, of.list)
				for i, value := range values {
					columns[v.columns[i]][q] = value
				}
				bounds.read(q, of.list)
				r.timing.Ranking += ranked.Sub(start).Seconds()
				r.timing.Metrics += time.Since(ranked).Seconds()
				v.addCurves(parts[t], of.list)
			}
		})
	}
	threads.Wait()
	for _, part := range parts {
		for level := range part {
			curves[level].Join(&part[level])
		}
	}
}

// addCurves adds a query to the curves of a view, if the observer has any.
func (v *view) addCurves(curves []metric.Curve, list *metric.List) {
	for level, to := range v.curves {
		switch {
		case to < 0 || to >= len(curves):
		case to == len(curves)-1:
			curves[to].AddHierarchical(list)
		default:
			curves[to].Add(list.Level(level))
		}
	}
}
