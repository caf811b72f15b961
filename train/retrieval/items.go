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
	list   *metric.List
	items  []metric.Item // on a device that sorts
	ranker rank.Ranker
	marks  *relevance
	timing Timing // times of the thread
}

// read returns the items of query q, which is number inBlock of the block. They are valid until
// the next call.
func (r *itemReader) read(q, inBlock int) (items []metric.Item, n int) {
	if r.m.sorted != nil {
		gallery := len(r.m.e.Gallery.Labels)
		r.items, n = metric.Items(r.items[:0], r.m.sorted.bytes[inBlock*gallery:][:gallery])
		return r.items, n
	}
	r.marks.set(q)
	return r.ranker.Items(r.m.row(inBlock), r.marks.levels, r.marks.positives, r.marks.absent)
}

// nearest appends the first places of query q.
func (r *itemReader) nearest(rows []int32, scores []float32, q, inBlock, places int) ([]int32, []float32) {
	r.marks.set(q)
	return r.ranker.Nearest(rows, scores, r.m.row(inBlock), r.marks.levels, places)
}

// measure writes the values of queries [lo, hi) into their columns. Queries are dealt to the
// threads, and each thread writes only its own values, so the number of threads does not change
// the result.
func (m *ranker) measure(lo, hi int, columns [][]float64, ties *tieColumns, curves []metric.Curve) {
	parts := make([][]metric.Curve, len(m.readers)) // curves of each thread
	var threads sync.WaitGroup
	for t, r := range m.readers {
		parts[t] = make([]metric.Curve, len(curves))
		threads.Go(func() {
			defer crash.Guard()
			values := make([]float64, len(columns))
			bounds := ties.reader(len(m.e.Levels))
			for q := lo + t; q < hi; q += len(m.readers) {
				start := time.Now()
				items, n := r.read(q, q-lo)
				ranked := time.Now()
				r.list.ResetItems(items, n)
				m.e.Metrics.Measure(values, r.list)
				for i, v := range values {
					columns[i][q] = v
				}
				bounds.read(q, r.list)
				r.timing.Ranking += ranked.Sub(start).Seconds()
				r.timing.Metrics += time.Since(ranked).Seconds()
				for level := range parts[t] {
					if level == len(m.e.Levels) {
						parts[t][level].AddHierarchical(r.list)
					} else {
						parts[t][level].Add(r.list.Level(level))
					}
				}
			}
		})
	}
	threads.Wait()
	m.addTimes()
	for _, part := range parts {
		for level := range part {
			curves[level].Join(&part[level])
		}
	}
}
