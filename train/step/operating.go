package step

import (
	"encoding/binary"
	"math"
	"slices"

	"hgld/train/config"
	"hgld/train/device"
	"hgld/train/loss"
	"hgld/train/metric"
)

// smoothTau is the temperature of Smooth-AP's sigmoid, for losses without one.
const smoothTau = 0.01

// operatingReach returns the half width of the operating region of the loss's sigmoid, or 0 if run.log does not
// ask for it.
func operatingReach(c *config.Config, p *config.Resolved) float64 {
	if !slices.Contains(c.Run.Log, config.LogRegion) {
		return 0
	}
	tau := smoothTau
	if step, ok := loss.LowerStep(p.Loss); ok && step.Tau > 0 {
		tau = float64(step.Tau)
	}
	return metric.OperatingRegion(tau, metric.LeastSlope)
}

// fetchEmbeddings queues the download of the embeddings of a batch.
func (t *Ticket) fetchEmbeddings(e device.Array, reach float64) {
	if n := 4 * e.Len(); len(t.embeddings) != n {
		t.embeddings = make([]byte, n)
	}
	t.cols, t.reach = e.Cols(), reach
	t.fetched = t.b.Download(t.embeddings, e)
}

// maxRegionQueries bounds the queries of a batch whose differences are counted, because their cost grows with
// the square of the batch.
const maxRegionQueries = 256

// operatingShare returns the share of the pairs of scores of a query that are less than reach apart, over the
// first queries of a batch: F32 [B,cols]. The query itself is no item. It is nil for fewer than three rows, and
// for embeddings that are not finite.
func operatingShare(embeddings []byte, cols int, reach float64) *float64 {
	rows := len(embeddings) / 4 / cols
	if rows < 3 {
		return nil
	}
	unit := make([]float32, rows*cols)
	for i := range rows {
		row, square := unit[i*cols:][:cols], 0.0
		for k := range row {
			row[k] = math.Float32frombits(binary.LittleEndian.Uint32(embeddings[4*(i*cols+k):]))
			square += float64(row[k]) * float64(row[k])
		}
		if math.IsNaN(square) || math.IsInf(square, 0) {
			return nil
		}
		scale := float32(1 / max(math.Sqrt(square), 1e-12))
		for k := range row {
			row[k] *= scale
		}
	}
	queries, within := min(rows, maxRegionQueries), 0
	scores := make([]float64, 0, rows)
	for q := range queries {
		scores = scores[:0]
		for g := range rows {
			if g != q {
				scores = append(scores, dot(unit[q*cols:][:cols], unit[g*cols:][:cols]))
			}
		}
		within += metric.ClosePairs(scores, reach)
	}
	return new(float64(within) / float64(queries*(rows-1)*(rows-2)/2))
}

// dot returns the product of two rows.
func dot(a, b []float32) (sum float64) {
	for i, v := range a {
		sum += float64(v) * float64(b[i])
	}
	return sum
}
