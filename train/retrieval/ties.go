package retrieval

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"hgld/train/metric"
	"hgld/train/stats"
)

// tieColumns collects the range of each query's values over all orders of tied items. It holds
// only queries with equal scores of items of different levels.
type tieColumns struct {
	figures, queries int

	mu              sync.Mutex
	touched         []int // queries, unordered
	least, greatest map[int][]float64
}

func newTieColumns(figures, queries int) *tieColumns {
	return &tieColumns{figures: figures, queries: queries, least: map[int][]float64{}, greatest: map[int][]float64{}}
}

// tieReader collects ties. Each thread has its own.
type tieReader struct {
	c               *tieColumns
	bounds          *metric.Bounds
	least, greatest []float64
}

func (c *tieColumns) reader(levels int) *tieReader {
	return &tieReader{c, metric.NewBounds(levels), make([]float64, c.figures), make([]float64, c.figures)}
}

// read adds the list of a query that has been measured.
func (r *tieReader) read(query int, list *metric.List) {
	if !r.bounds.Measure(r.least, r.greatest, list) {
		return
	}
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	r.c.touched = append(r.c.touched, query)
	r.c.least[query], r.c.greatest[query] = slices.Clone(r.least), slices.Clone(r.greatest)
}

// with returns the columns, with the values of the touched queries replaced.
func (c *tieColumns) with(columns [][]float64, replaced map[int][]float64) [][]float64 {
	list := make([][]float64, len(columns))
	for k, column := range columns {
		list[k] = slices.Clone(column)
		for q, values := range replaced {
			list[k][q] = values[k]
		}
	}
	return list
}

// addTies sets the range of each figure over all orders of equal scores.
func (r *Result) addTies(e *Evaluation, c *tieColumns, columns [][]float64, class []int) {
	r.Tied = len(c.touched)
	if r.Tied == 0 {
		return
	}
	ends := make([][]float64, 2)
	for i, replaced := range []map[int][]float64{c.least, c.greatest} {
		list := c.with(columns, replaced)
		var t *stats.Table
		if e.Mean == ByClass {
			t = stats.MeansOfClasses(list, class)
		}
		ends[i], _ = meansOf(list, t, e.Mean)
	}
	for k := range r.Values {
		if ends[0][k] < ends[1][k] {
			r.Values[k].Ties = &Ends{Number(ends[0][k]), Number(ends[1][k])}
		}
	}
}

// tieNote describes in one line how far ties matter, or returns "" if the effect is invisible.
func (r *Result) tieNote() string {
	widest := Value{Ties: &Ends{}}
	for _, v := range r.Values {
		if v.Ties != nil && v.Ties.Half() > widest.Ties.Half() {
			widest = v
		}
	}
	const shown = 0.00005 // half of the last decimal of the table
	if math.IsNaN(float64(widest.Ties.Half())) || widest.Ties.Half() < shown {
		return ""
	}
	return fmt.Sprintf("ties matter in %d queries: %s is from %s to %s, depending on their order; no figure varies more",
		r.Tied, widest.Key, percent(widest.Ties[0]), percent(widest.Ties[1]))
}
