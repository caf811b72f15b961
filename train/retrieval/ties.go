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
	figures int

	mu   sync.Mutex
	ends map[int]*tieEnds // of the queries that ties touch
}

// tieEnds are the least and greatest values of a query's figures.
type tieEnds struct {
	values [2][]float64
	tied   []bool // of each figure
}

func newTieColumns(figures int) *tieColumns {
	return &tieColumns{figures: figures, ends: map[int]*tieEnds{}}
}

// tieReader collects ties. Each thread has its own.
type tieReader struct {
	c               *tieColumns
	bounds          *metric.Bounds
	columns         []int // of the values
	least, greatest []float64
}

// reader returns a reader of lists with the given number of levels, whose values are those of some
// figures.
func (c *tieColumns) reader(levels int, columns []int) *tieReader {
	return &tieReader{c, metric.NewBounds(levels), columns, make([]float64, len(columns)), make([]float64, len(columns))}
}

// read adds the list of a query that has been measured.
func (r *tieReader) read(query int, list *metric.List) {
	if !r.bounds.Measure(r.least, r.greatest, list) {
		return
	}
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	r.c.add(query, r.columns, r.least, r.greatest)
}

// add adds the ranges of some figures of a query.
func (c *tieColumns) add(query int, figures []int, least, greatest []float64) {
	e := c.ends[query]
	if e == nil {
		e = &tieEnds{tied: make([]bool, c.figures)}
		e.values[0], e.values[1] = make([]float64, c.figures), make([]float64, c.figures)
		c.ends[query] = e
	}
	for i, k := range figures {
		e.tied[k], e.values[0][k], e.values[1][k] = true, least[i], greatest[i]
	}
}

// with returns the columns, with the values of the touched queries replaced: by the least for end 0, or
// the greatest for end 1.
func (c *tieColumns) with(columns [][]float64, end int) [][]float64 {
	list := make([][]float64, len(columns))
	for k, column := range columns {
		list[k] = slices.Clone(column)
		for q, e := range c.ends {
			if e.tied[k] {
				list[k][q] = e.values[end][k]
			}
		}
	}
	return list
}

// addTies sets the range of each figure over all orders of equal scores.
func (r *Result) addTies(e *Evaluation, c *tieColumns, columns [][]float64, class []int) {
	r.Tied = len(c.ends)
	if r.Tied == 0 {
		return
	}
	ends := make([][]float64, 2)
	for i := range ends {
		list := c.with(columns, i)
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
