package retrieval

import (
	"fmt"
	"math"
	"strings"

	"hgld/internal/texttable"
	"hgld/train/device"
	"hgld/train/metric"
	"hgld/train/sample"
)

// gapMeter measures the decomposability gap of a batch size (Ramzi et al., "Optimization of Rank
// Losses for Image Retrieval", Eq. 6, with the sign of appendix A): how much better a metric is
// on batches than on the whole gallery,
//
//	DG = 1/K Σ_b M_b − M
//
// The gallery is dealt into K batches by seed. M_b ranks only batch b for the query, and the mean
// is over the batches in which the metric is defined. The last batch is smaller if the size does
// not divide the gallery.
type gapMeter struct {
	e       *Evaluation
	batch   []int32 // batch of each gallery row
	ranked  [][]byte
	last    []float32 // score of the last item of each batch
	views   []view
	lists   []*metric.List // of each view
	whole   []byte
	columns [][]float64 // values of each figure, by query
	shared  []byte
}

func newGapMeter(e *Evaluation, figures int) *gapMeter {
	gallery := len(e.Gallery.Labels)
	batches := (gallery + e.Gap - 1) / e.Gap
	g := &gapMeter{e: e, batch: make([]int32, gallery), ranked: make([][]byte, batches), last: make([]float32, batches),
		views: e.views(), columns: make([][]float64, figures), shared: make([]byte, gallery)}
	for i, row := range sample.NewRandom(e.GapSeed).Choose(gallery, gallery) {
		g.batch[row] = int32(i / e.Gap)
	}
	for k := range g.columns {
		g.columns[k] = make([]float64, len(e.Query.Labels))
	}
	for _, v := range g.views {
		g.lists = append(g.lists, metric.NewList(v.levels, e.Ties))
	}
	return g
}

// observe adds whole rankings to what o already asks for.
func (g *gapMeter) observe(o *Observer) *Observer {
	wider := *o
	wider.Places = len(g.e.Gallery.Labels)
	wider.Ranking = func(query int, rows []int32, scores []float32) error {
		g.read(query, rows, scores)
		if n := min(o.Places, len(rows)); o.Ranking != nil && o.Places > 0 {
			return o.Ranking(query, rows[:n], scores[:n])
		}
		return nil
	}
	return &wider
}

// read measures the ranking of a query in every view.
func (g *gapMeter) read(query int, rows []int32, scores []float32) {
	for i := range g.views {
		g.readView(&g.views[i], g.lists[i], query, rows, scores)
	}
}

// readView deals the ranking of a query to the batches and measures each batch.
func (g *gapMeter) readView(v *view, list *metric.List, query int, rows []int32, scores []float32) {
	for b := range g.ranked {
		g.ranked[b] = g.ranked[b][:0]
	}
	g.whole = g.whole[:0]
	path := g.e.Query.Labels[query]
	if v.truth != nil {
		v.truth.Shared(g.shared, query)
	}
	before := -1 // the item before
	for i, row := range rows {
		shared := g.shared[row]
		if v.truth == nil {
			shared = byte(path.Shared(g.e.Gallery.Labels[row]))
		}
		if shared == device.AbsentLevel {
			continue
		}
		b := g.batch[row]
		inBatch, inWhole := shared, shared
		if len(g.ranked[b]) > 0 && g.last[b] == scores[i] {
			inBatch |= metric.Tied
		}
		if before >= 0 && scores[before] == scores[i] {
			inWhole |= metric.Tied
		}
		g.ranked[b], g.last[b] = append(g.ranked[b], inBatch), scores[i]
		g.whole, before = append(g.whole, inWhole), i
	}
	figures := len(v.columns)
	values, count, mean := make([]float64, figures), make([]float64, figures), make([]float64, figures)
	for _, ranked := range g.ranked {
		list.Reset(ranked)
		v.set.Measure(values, list)
		for k, v := range values {
			if !math.IsNaN(v) {
				count[k]++
				mean[k] += (v - mean[k]) / count[k]
			}
		}
	}
	list.Reset(g.whole)
	v.set.Measure(values, list)
	for i, k := range v.columns {
		g.columns[k][query] = mean[i] - values[i]
		if count[i] == 0 {
			g.columns[k][query] = math.NaN()
		}
	}
}

// Batches describes the batches of a decomposability gap.
type Batches struct {
	Size  int    `json:"size"`  // items of each batch; the last may have fewer
	Count int    `json:"count"` // number of batches
	Seed  uint64 `json:"seed"`  // seed of the deal
}

// addGap sets the gap of every figure: its mean over the queries for which it is defined.
func (r *Result) addGap(g *gapMeter) {
	r.Batches = &Batches{g.e.Gap, len(g.ranked), g.e.GapSeed}
	for k := range r.Values {
		mean, _ := metric.Mean(g.columns[k])
		gap := Number(mean)
		r.Values[k].Gap = &gap
	}
}

// gapTable writes the gaps in percent.
func (r *Result) gapTable(text *strings.Builder) {
	if r.Batches == nil {
		return
	}
	fmt.Fprintf(text, "\ndecomposability gap of %d batches of %d, seed %d\n", r.Batches.Count, r.Batches.Size,
		r.Batches.Seed)
	var rows [][]string
	for _, v := range r.Values {
		if v.Gap != nil {
			rows = append(rows, []string{v.Key, percent(*v.Gap)})
		}
	}
	text.WriteString(texttable.Format("%-16s  %7s", rows...))
}
